"""Each documented fault has the effect that the document gives: the calls named answer so, all others answer 0."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from pages.statements import read

FAULTS = {fault["example"]: fault for fault in read("faults")}
#: What a fault needs to show: another machine, fabric handles, more memory, an unaligned bind.
SPECIAL: dict[str, dict[str, Any]] = {
    "imex=none": {"handle_types": 8},
    "memory=1073741824": {"size": 2 << 30},
    "unaligned=0": {"machine": "rubin-nvl72", "mem_offset": 256},
}
SEQUENCE = """
import json, sys
from cumulticast import sim
def sequence(faults, special):
    sim.start(special.get("machine", "hgx-h100-8"), faults=faults)
    from cuda.bindings._v2 import driver
    answers = {}
    def ask(name, call, *arguments):
        try:
            result, answers[name] = call(*arguments), answers.get(name, 0)
            return result
        except driver.DriverError as error:
            answers[name] = error.status
    size, types = special.get("size", 4 << 20), special.get("handle_types", 0)
    ask("init", driver.init, 0)
    if not answers["init"]:
        team, kind = driver.MulticastObjectProp_v1(), driver.MemAllocationProp_v1()
        team.num_devices, team.size_, team.handle_types = driver.device_get_count(), 4 << 20, types
        kind.type, kind.location.type, kind.requested_handle_types = 1, 1, types
        mc = ask("create", driver.multicast_create, team)
        for dev in range(team.num_devices if mc else 0):
            ask("add", driver.multicast_add_device, mc, dev)
        memory = ask("memory", driver.mem_create, size, kind, 0)
        if mc and memory:
            ask("bind", driver.multicast_bind_mem, mc, 0, memory, special.get("mem_offset", 0), 2 << 20, 0)
        if mc:
            ptr = driver.mem_address_reserve(4 << 20, 0, 0, 0)
            ask("map", driver.mem_map, ptr, 4 << 20, 0, mc, 0)
    sim.stop()
    return answers
print(json.dumps([sequence(*each) for each in json.loads(sys.argv[1])]))
"""
Case = tuple[list[str], dict[str, Any]]  # faults and what they need to show


def sequence(*cases: Case) -> subprocess.CompletedProcess[str]:
    """Run the calls in an interpreter of its own, once for each case."""
    command = [sys.executable, "-c", SEQUENCE, json.dumps(cases)]
    return subprocess.run(command, capture_output=True, text=True, timeout=50)


def refused(*cases: Case) -> list[dict[str, int]]:
    """Return for each case the calls that do not answer 0, with their statuses."""
    done = sequence(*cases)
    assert done.returncode == 0, done.stderr
    return [{name: status for name, status in answers.items() if status} for answers in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, int]]:
    """Return which calls each documented fault refuses; one interpreter answers for all."""
    examples = [example for example, fault in FAULTS.items() if "answers" in fault]
    cases: list[Case] = [([example], SPECIAL.get(example, {})) for example in examples]
    return dict(zip(examples, refused(*cases), strict=True))


@pytest.mark.parametrize("example", [example for example, fault in FAULTS.items() if "answers" in fault])
def test_a_fault_has_its_effect_and_no_other(answers: dict[str, dict[str, int]], example: str) -> None:
    assert answers[example] == FAULTS[example]["answers"]


def test_without_the_fault_all_calls_are_answered() -> None:
    assert refused(([], {}), *(([], special) for special in SPECIAL.values())) == [{}] * (1 + len(SPECIAL))


def test_a_restarted_fabric_manager_of_an_older_driver_answers_1() -> None:
    assert "With `fm=restarted:1` they answer 1" in FAULTS["fm=restarted"]["effect"]
    assert refused((["fm=restarted:1"], {})) == [{"bind": 1, "map": 1}]


@pytest.mark.parametrize("example", [example for example in FAULTS if example.startswith("kill")])
def test_a_killed_process_is_gone(example: str) -> None:
    assert sequence(([example], {})).returncode == -9


def test_a_delayed_call_begins_late() -> None:
    (example,) = [example for example in FAULTS if example.startswith("delay")]
    begin = time.monotonic()
    assert refused(([example.replace("0.5", "1")], {})) == [{}]
    assert time.monotonic() - begin >= 1
