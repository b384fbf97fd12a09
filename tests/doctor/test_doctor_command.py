"""The command: its document, its exit codes, its list, and a machine with nothing on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import clean_environment, cumulticast

from cumulticast.doctor.register import checks

HANG = "import time\ntime.sleep(60)\n"
OUTCOMES = {"ok", "partial", "missing", "not-available", "crashed"}


def test_with_neither_device_nor_simulator_it_cannot_tell() -> None:
    done = cumulticast("doctor", "--json", env=clean_environment(CUDA_VISIBLE_DEVICES=""))
    report = json.loads(done.stdout)
    assert (done.returncode, report["schema"], report["multicast"]) == (3, 1, "unknown")
    assert "Traceback" not in done.stdout + done.stderr
    assert [one["check"] for one in report["results"]] == list(checks())
    for one in report["results"]:
        assert set(one) == {"check", "outcome", "summary", "details", "causes", "rule"}
        assert one["outcome"] in OUTCOMES - {"crashed"}
    for name in ("driver", "devices", "fabric", "memory", "mig", "nvlink", "trial"):
        assert next(one for one in report["results"] if one["check"] == name)["outcome"] == "not-available"


def test_it_lists_its_checks() -> None:
    done = cumulticast("doctor", "--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(checks())
    listed = json.loads(cumulticast("doctor", "--list", "--json").stdout)
    assert listed["checks"] == [{"check": one.name, "title": one.title} for one in checks().values()]


def test_quick_checks_come_first() -> None:
    apart = [one.apart for one in checks().values() if one.name != "imex"]
    assert apart == sorted(apart)


def test_a_check_that_does_not_exist_is_a_usage_error() -> None:
    done = cumulticast("doctor", "fabrik")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no check 'fabrik'; nearest fabric" in done.stderr


@pytest.mark.parametrize("name", ["FABRIC_manager", "Fabric-Manager"])
def test_a_check_in_other_letters_is_the_nearest(name: str) -> None:
    done = cumulticast("doctor", "--list", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nearest fabric-manager;" in done.stderr


def test_a_name_that_is_like_none_has_no_nearest() -> None:
    assert "nearest" not in cumulticast("doctor", "").stderr


@pytest.mark.parametrize("limit", ["0", "-3", "nan", "inf", "x"])
def test_a_time_limit_is_a_number_of_seconds(limit: str) -> None:
    done = cumulticast("doctor", "limits", "--limit", limit)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_a_fraction_of_a_second_is_a_time_limit() -> None:
    assert cumulticast("doctor", "limits", "--limit", "0.5").returncode == 3


def test_a_trial_alone_is_proof_enough() -> None:
    done = cumulticast("run", "--devices", "1", "--", sys.executable, "-m", "cumulticast.cli", "doctor", "trial")
    assert done.returncode == 0, done.stdout
    assert "1 device bound and mapped" in done.stdout


def lives(pid: int) -> bool:
    """Whether a process runs; one that nobody has reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    """Answer the processes whose parent is this one."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in children.split()]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_doctor_that_is_ended_leaves_no_check_behind(end: signal.Signals, tmp_path: Path) -> None:
    """A check that hangs in the driver would stay for ever: here it hangs in importing cuda.bindings."""
    (tmp_path / "cuda" / "bindings").mkdir(parents=True)
    (tmp_path / "cuda" / "__init__.py").touch()
    (tmp_path / "cuda" / "bindings" / "__init__.py").write_text(f"open({str(tmp_path / 'here')!r}, 'w')\n" + HANG)
    command = [sys.executable, "-m", "cumulticast.cli", "doctor", "driver"]
    environment = clean_environment(PYTHONPATH=str(tmp_path))
    doctor = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    try:
        while not (tmp_path / "here").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (child,) = children_of(doctor.pid)
        os.kill(doctor.pid, end)
        _, complaint = doctor.communicate(timeout=20)
    finally:
        doctor.kill()
        doctor.communicate()
    while lives(child):
        assert time.monotonic() < deadline, "the check lives on"
        time.sleep(0.05)
    assert "Traceback" not in complaint
    assert doctor.returncode == (130 if end == signal.SIGINT else -end)


def test_people_read_the_cause_and_its_remedies() -> None:
    command = [sys.executable, "-m", "cumulticast.cli", "doctor", "driver", "devices", "fabric"]
    done = cumulticast("run", "--devices", "2", "--fault", "fm=stopped", "--", *command)
    assert done.returncode == 1
    assert "[missing]" in done.stdout
    assert "The Fabric Manager service is not running" in done.stdout
    assert "[fm-not-running]" in done.stdout
    assert "systemctl" in done.stdout
    assert "multicast: cannot" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_doctor_loads_no_simulator() -> None:
    code = (
        "import sys; from cumulticast.doctor.examine import examine; examine()\n"
        "print([name for name in sys.modules if name.startswith(('cumulticast.sim', 'cumulticast.lib', 'numpy'))])"
    )
    from command_line import program

    assert program(sys.executable, "-c", code).stdout.strip() == "[]"
