"""Every fault that can be injected is diagnosed by the doctor, and a machine without one is not."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from command_line import cumulticast

QUICK = ("driver", "devices", "fabric", "trial")


def examined(*run: str, checks: tuple[str, ...] = QUICK, limit: int = 30) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "cumulticast.cli", "doctor", "--json", "--limit", str(limit), *checks]
    done = cumulticast("run", *run, "--", *command)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def causes(report: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(cause for result in report["results"] for cause in result["causes"]))


def result(report: dict[str, Any], check: str) -> dict[str, Any]:
    return next(one for one in report["results"] if one["check"] == check)


@pytest.mark.parametrize(
    ("fault", "cause", "multicast"),
    [
        ("fm=stopped", "fm-not-running", "cannot"),
        ("fm=never", "fm-not-running", "cannot"),
        ("fm=starting:60", "fabric-registration-pending", "cannot"),
        ("fm=stalled:0.7", "fm-transient-stall", "works"),
        ("fm=stalled:60", "fm-transient-stall", "cannot"),
        ("fm=restarted", "fm-stale-registration", "cannot"),
        ("fm=restarted:1", "fm-stale-registration", "cannot"),
        ("state=illegal", "fabric-bad-state", "cannot"),
        ("imex=none", "imex-channel-missing", "works"),
        ("slots=128", "multicast-slots-exhausted", "cannot"),
        ("cliques=2,2", "clique-mismatch", "cannot"),
        ("memory=1048576", "device-memory-exhausted", "cannot"),
        ("fail:cuMulticastBindMem:nth=1:status=802", "fm-transient-stall", "works"),
        ("fail:cuMulticastBindMem:status=CUDA_ERROR_ILLEGAL_STATE", "fabric-bad-state", "works"),
    ],
)
def test_a_fault_is_diagnosed(fault: str, cause: str, multicast: str) -> None:
    code, report = examined("--devices", "4", "--fault", fault)
    assert causes(report)[0] == cause, report
    assert (code, report["multicast"]) == (1, multicast), report["why"]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("kill-before:cuMulticastBindMem", "was ended by signal 9 (SIGKILL)"),
        ("kill-after:cuMulticastCreate", "was ended by signal 9 (SIGKILL)"),
        ("delay:cuMulticastBindMem:seconds=60", "no answer within 4 s"),
    ],
)
def test_a_check_that_dies_or_hangs_is_a_result(fault: str, outcome: str) -> None:
    code, report = examined("--devices", "2", "--fault", fault, limit=4)
    assert (code, report["multicast"], causes(report)) == (3, "unknown", [])
    assert result(report, "trial")["outcome"] == "crashed"
    assert outcome in result(report, "trial")["summary"]


def test_a_machine_that_refuses_unaligned_binds_says_by_which_rule() -> None:
    code, report = examined("--machine", "rubin-nvl72", "--fault", "unaligned=0")
    assert (code, result(report, "trial")["outcome"], result(report, "trial")["rule"]) == (1, "partial", "MC364")


@pytest.mark.parametrize("machine", ["hgx-h100-8", "hgx-h200-8", "hgx-b200-8", "gb200-nvl72", "rubin-nvl72"])
def test_a_healthy_machine_works(machine: str) -> None:
    code, report = examined("--machine", machine, checks=())
    assert (code, report["multicast"], causes(report)) == (0, "works", []), report
    assert {one["outcome"] for one in report["results"]} <= {"ok", "partial", "not-available"}
    assert result(report, "driver")["details"]["simulated_by"]


@pytest.mark.parametrize("machine", ["hgx-a100-8", "pcie-h100-2", "h200-vm-1"])
def test_a_machine_without_multicast_cannot(machine: str) -> None:
    code, report = examined("--machine", machine)
    assert (code, report["multicast"]) == (1, "cannot")
    assert causes(report) == ["multicast-unsupported-topology"]


def test_the_trial_leaves_nothing_behind() -> None:
    looks = (
        "import json, os, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'cumulticast.cli', 'doctor', 'trial'], stdout=subprocess.DEVNULL)\n"
        "done = subprocess.run([sys.executable, '-m', 'cumulticast.cli', 'ps', '--json'], capture_output=True)\n"
        "ours = lambda one: one['path'] == os.environ['CUMULTICAST_WORLD']\n"
        "world, = filter(ours, json.loads(done.stdout)['worlds'])\n"
        "print(world['allocations'], world['multicast'], world['processes'])\n"
    )
    done = cumulticast("run", "--devices", "2", "--", sys.executable, "-c", looks)
    assert done.stdout.strip() == "[] [] []", done.stderr
