"""Every fault that can be injected is diagnosed by the doctor, and a machine without one is not."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import cumulticast

from cumulticast.sim.injection import STATES, VALUES

DIAGNOSES = tomllib.loads((Path(__file__).parents[2] / "docs/data/diagnoses.toml").read_text())["diagnosis"]
Examined = Callable[..., tuple[int, dict[str, Any]]]
QUICK = ("driver", "devices", "fabric", "trial")


def examined(*run: str, checks: tuple[str, ...] = QUICK, limit: int = 30) -> tuple[int, dict[str, Any]]:
    """Let the doctor examine a machine: exit code and report."""
    return _answered(run, "-m", "cumulticast.cli", "doctor", "--json", "--limit", str(limit), *checks)


def examined_in_one(*run: str, checks: tuple[str, ...] = QUICK) -> tuple[int, dict[str, Any]]:
    """Let the doctor's checks examine a machine in one process, which takes a fifth of the time."""
    return _answered(run, str(Path(__file__).with_name("in_one.py")), *checks)


def _answered(run: tuple[str, ...], *program: str) -> tuple[int, dict[str, Any]]:
    done = cumulticast("run", *run, "--", sys.executable, *program)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def causes(report: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(cause for result in report["results"] for cause in result["causes"]))


def result(report: dict[str, Any], check: str) -> dict[str, Any]:
    return next(one for one in report["results"] if one["check"] == check)


@pytest.mark.parametrize(
    ("fault", "cause", "multicast"),
    [pytest.param(one["fault"], one["cause"], one["multicast"], id=one["fault"]) for one in DIAGNOSES],
)
def test_a_fault_is_diagnosed(fault: str, cause: str, multicast: str) -> None:
    code, report = examined_in_one("--devices", "4", "--fault", fault)
    assert causes(report)[0] == cause, report
    assert (code, report["multicast"]) == (1, multicast), report["why"]


@pytest.mark.parametrize("fault", ["fm=restarted:1", "fail:cuMulticastBindMem:nth=1:status=802"])
def test_the_command_finds_what_its_checks_do(fault: str) -> None:
    run = "--devices", "4", "--fault", fault
    (code, report), (_, in_one) = examined(*run), examined_in_one(*run)
    facts = [[(one["check"], one["outcome"], one["causes"]) for one in each["results"]] for each in (report, in_one)]
    assert facts[0] == facts[1]
    assert (code, report["multicast"], report["why"]) == (1, in_one["multicast"], in_one["why"])


def test_every_kind_of_state_fault_is_among_them() -> None:
    known = {f"{kind}={value}" for kind, values in VALUES.items() for value in values}
    told = {one["fault"].partition(":")[0] for one in DIAGNOSES}
    assert known <= told
    assert set(STATES) - {fault.partition("=")[0] for fault in told} == {"unaligned"}  # which has a rule, and no cause


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("kill-before:cuMulticastBindMem", "was ended by signal 9 (SIGKILL)"),
        ("kill-after:cuMulticastCreate", "was ended by signal 9 (SIGKILL)"),
        ("delay:cuMulticastBindMem:seconds=60", "no answer within 4 s"),
    ],
)
def test_a_check_that_dies_or_hangs_is_a_result(fault: str, outcome: str) -> None:
    code, report = examined("--devices", "2", "--fault", fault, checks=("trial",), limit=4)
    assert (code, report["multicast"], causes(report)) == (3, "unknown", [])
    assert result(report, "trial")["outcome"] == "crashed"
    assert outcome in result(report, "trial")["summary"]


def test_a_machine_that_refuses_unaligned_binds_says_by_which_rule() -> None:
    code, report = examined_in_one("--machine", "rubin-nvl72", "--fault", "unaligned=0")
    assert (code, result(report, "trial")["outcome"], result(report, "trial")["rule"]) == (1, "partial", "MC364")


@pytest.mark.parametrize(
    ("machine", "examined"),
    [
        ("hgx-h100-8", examined),
        ("hgx-h200-8", examined_in_one),
        ("hgx-b200-8", examined_in_one),
        ("gb200-nvl72", examined_in_one),
        ("rubin-nvl72", examined_in_one),
    ],
)
def test_a_healthy_machine_works(machine: str, examined: Examined) -> None:
    code, report = examined("--machine", machine, checks=())
    assert (code, report["multicast"], causes(report)) == (0, "works", []), report
    assert {one["outcome"] for one in report["results"]} <= {"ok", "partial", "not-available"}
    assert result(report, "driver")["details"]["simulated_by"]


@pytest.mark.parametrize("machine", ["hgx-a100-8", "pcie-h100-2", "h200-vm-1"])
def test_a_machine_without_multicast_cannot(machine: str) -> None:
    code, report = examined_in_one("--machine", machine)
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
