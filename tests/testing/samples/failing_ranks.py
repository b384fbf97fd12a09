"""Ranks that do not do their work: each test lets `run_ranks` fail, so that what it says can be read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cuda.bindings._v2 import driver

from cumulticast.testing import RanksFailed

MIB = 1 << 20


def team_of_two() -> int:
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 2, 2 * MIB
    team = driver.multicast_create(prop)
    driver.multicast_add_device(team, 0)
    return team


def bind(team: int) -> None:
    prop = driver.MemAllocationProp_v1()
    prop.type, prop.location.type = 1, 1
    driver.multicast_bind_mem(team, 0, driver.mem_create(2 * MIB, prop, 0), 0, 2 * MIB, 0)


def blocked(rank: int) -> None:
    driver.init(0)
    print("rank", rank, "was here")
    if rank == 0:
        bind(team_of_two())
    time.sleep(60)


def test_blocked(run_ranks: Any) -> None:
    run_ranks(blocked, ranks=2, timeout=4)


def hopeless() -> None:
    driver.init(0)
    bind(team_of_two())


def test_hopeless(run_ranks: Any) -> None:
    run_ranks(hopeless, ranks=1)


def raising(rank: int) -> str:
    if rank == 1:
        raise ValueError("not this one")
    return "well"


def test_raising(run_ranks: Any) -> None:
    run_ranks(raising, ranks=3)


def waiting_for_others(rank: int) -> None:
    if rank == 1:
        sys.exit(7)
    time.sleep(90)


def test_grace(run_ranks: Any) -> None:
    run_ranks(waiting_for_others, ranks=2, grace=1)


def killed() -> None:
    driver.init(0)


def test_killed(run_ranks: Any) -> None:
    run_ranks(killed, ranks=2, faults=["kill-before:cuInit:rank=1"])


def strange_value() -> Any:
    return lambda: 0


def test_strange_value(run_ranks: Any) -> None:
    run_ranks(strange_value, ranks=1)


def leaving() -> None:
    os._exit(0)


def test_leaving(run_ranks: Any) -> None:
    run_ranks(leaving, ranks=1)


def talking() -> None:
    for number in range(100):
        print("line", number)
    sys.exit("enough")


def test_tail(run_ranks: Any) -> None:
    run_ranks(talking, ranks=1)


def quiet(rank: int) -> int:
    print("quiet until now")
    return rank


def test_later_failure_shows_output(run_ranks: Any) -> None:
    assert run_ranks(quiet, ranks=2) == [0, 2]


def test_open_file(run_ranks: Any) -> None:
    file = open(os.devnull)  # noqa: SIM115
    try:
        run_ranks(lambda: file.name, ranks=1)
    finally:
        file.close()


def test_wrong_parameters(run_ranks: Any) -> None:
    run_ranks(lambda rank, size: 0, ranks=1)


def test_no_function(run_ranks: Any) -> None:
    run_ranks(len, ranks=1)


def child(directory: str) -> None:
    with open(os.path.join(directory, "pid"), "w") as file:
        file.write(str(subprocess.Popen(["sleep", "60"]).pid))
    time.sleep(60)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_grandchild(run_ranks: Any, tmp_path: Path) -> None:
    with pytest.raises(RanksFailed):
        run_ranks(child, ranks=1, timeout=2, arguments={"directory": str(tmp_path)})
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 10
    while lives(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not lives(pid)
