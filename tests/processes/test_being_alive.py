"""Whether a process of the world lives: told by the kernel, whatever else that process opens and closes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import rank_steps as steps
from builders import memory
from ranks_here import Job, eventually

pytestmark = pytest.mark.timeout(40)


@pytest.fixture
def two(start: Callable[..., Job]) -> Job:
    job = start(2, devices=2)
    job.all(steps.begin)
    return job


def living(job: Job) -> set[int]:
    """Answer the pids that the world's books and the kernel agree on."""
    return {process.pid for process in job.picture().processes}


def test_a_process_that_looks_at_its_own_world_stays_alive(two: Job, tmp_path: Path) -> None:
    """Closing any descriptor of the lock file would drop its lock; other names of the directory are the same file."""
    a, b = two.ranks
    a(memory)
    world = two.world.path
    names = [world, tmp_path / "link" / world.name, Path(f"{world.parent}/../{world.parent.name}/{world.name}")]
    (tmp_path / "link").symlink_to(world.parent)
    for name in names:
        a(steps.look_at_world, str(name))
        assert b(steps.free_bytes)
        assert living(two) == {a.pid, b.pid}
    assert len(two.picture().allocations) == 1


def test_a_process_that_is_stopped_is_not_dead(two: Job) -> None:
    a, b = two.ranks
    a(memory)
    a.signal(signal.SIGSTOP)
    assert eventually(lambda: "T" in Path(f"/proc/{a.pid}/stat").read_text().rpartition(")")[2][:3])
    assert b(steps.free_bytes)
    assert living(two) == {a.pid, b.pid}
    a.signal(signal.SIGCONT)
    assert a(memory)


def test_a_zombie_is_dead(two: Job) -> None:
    """The kernel keeps the pid until somebody asks how it ended; what the process held is free at once."""
    a, b = two.ranks
    a(memory)
    a.signal(signal.SIGKILL)
    assert eventually(lambda: "Z" in Path(f"/proc/{a.pid}/stat").read_text().rpartition(")")[2][:3])
    os.kill(a.pid, 0)  # the pid is taken
    assert b(steps.free_bytes)
    assert living(two) == {b.pid}
    assert two.picture().allocations == ()


def test_a_writer_that_dies_in_its_turn_holds_up_nobody(two: Job, tmp_path: Path) -> None:
    a, b = two.ranks
    a.begin(steps.hold_the_turn, str(tmp_path / "mark"))
    assert eventually((tmp_path / "mark").exists)
    b.begin(memory)
    assert not b.done(0.5)
    a.kill()
    assert b.result(2)
    assert two.world.rows("select * from world where key = 'half'") == []


def test_writers_that_die_while_they_queue_hold_up_nobody(two: Job, tmp_path: Path) -> None:
    a, b = two.ranks
    queue = [two.start(number) for number in range(2, 6)]
    for rank in queue:
        rank(steps.begin)
    a.begin(steps.hold_the_turn, str(tmp_path / "mark"))
    assert eventually((tmp_path / "mark").exists)
    for rank in [queue[0], queue[1], b, queue[2], queue[3]]:
        rank.begin(memory)
    assert not any(rank.done(0.1) for rank in [*queue, b])
    for rank in (queue[0], queue[2], a):
        rank.kill()
    assert all(rank.result(2) for rank in (queue[1], b, queue[3]))
