"""After cuInit a forked child gets 3 from every call, and takes nothing of its parent's along when it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import rank_steps as steps
from builders import FD, STEP, ask, mapped, memory
from cuda.bindings._v2 import driver
from ranks_here import Job

pytestmark = pytest.mark.timeout(40)


@pytest.fixture
def job(start: Callable[..., Job]) -> Job:
    job = start(2, devices=2)
    for dev, rank in enumerate(job.ranks):
        rank(steps.begin, dev)
    return job


def test_every_entry_answers_3_in_a_forked_child(job: Job) -> None:
    rank = job.ranks[0]
    answers = rank(steps.in_child, "fork")
    wrong = {name: status for name, status in answers.items() if status != 3}
    assert not wrong
    assert len(answers) > 100
    assert {"cuInit", "cuDeviceGetCount", "cuMemGetInfo_v2", "cuMulticastBindMem_v2"} <= set(answers)


@pytest.mark.parametrize("method", ["fork", "multiprocessing", "exit"])
def test_the_childs_end_takes_nothing_away(job: Job, method: str) -> None:
    """``exit``: the child ends as a program does, through Python's exit handlers and destructors."""
    rank, other = job.ranks
    handle = rank(memory, 0, STEP, FD)
    ptr = rank(mapped, handle)
    rank(steps.put, ptr, 5)
    before = job.picture()
    assert rank(steps.in_child, method)["cuInit"] == 3
    assert job.picture() == before
    assert rank(steps.seen, ptr) == [5]
    rank(steps.put, ptr, 6)
    for _ in range(20):  # the parent's books and locks are whole: both go on changing the world
        assert rank(ask, driver.mem_release, rank(memory)).status == 0
        assert other(ask, driver.mem_release, other(memory, 1)).status == 0
    assert os.listdir(job.world.path / "memory") == [str(before.allocations[0].id)]


def test_a_parent_that_was_killed_is_dead_while_its_child_lives(job: Job) -> None:
    """The child inherits the open files, not the life."""
    rank, other = job.ranks
    rank(memory)
    child = rank(steps.fork_sleeper)
    try:
        rank.kill()
        assert other(steps.free_bytes)
        assert [process.pid for process in job.picture().processes] == [other.pid]
        assert job.picture().allocations == ()
    finally:
        os.kill(child, 9)


def test_a_fork_before_cuinit_is_a_process_of_its_own(start: Callable[..., Job]) -> None:
    job = start(1, devices=2)
    assert job.ranks[0](steps.child_before_init) == {"child": 0, "parent": 0}


FORKED = """
import os, sys
from cumulticast import sim
sim.start(devices=1)
from cuda.bindings._v2 import driver
driver.init(0)
if not os.fork():
    sim.stop()
    try:
        sim.start(devices=1)
    except RuntimeError as error:
        os.write(1, str(error).encode())
    os._exit(0)
os.wait()
driver.device_get_count()
"""


def test_a_machine_of_the_childs_own_is_refused_with_the_reason() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "forked" in done.stdout
    assert "spawn" in done.stdout
