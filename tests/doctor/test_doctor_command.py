"""The command: its document, its exit codes, its list, and a machine with nothing on it."""

from __future__ import annotations

import json
import sys

from command_line import clean_environment, cumulticast

from cumulticast.doctor.register import checks

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
