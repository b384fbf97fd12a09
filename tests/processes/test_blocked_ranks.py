"""Binds and maps of one process wait for the add_device of another; how such waits end, and whom they name."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest
import rank_steps as steps
from builders import FABRIC, FD, STEP, Answer, ask, bare_object, memory, reserve
from cuda.bindings import driver as v1
from cuda.bindings._v2 import driver
from ranks_here import Job, Rank, eventually, handed_over

pytestmark = pytest.mark.timeout(60)
FIRST_WORD, LOOK = 0.4, 0.1  # seconds; here shorter than they are (sim/waiting.py), so that the tests are
NEVER = 1000.0


class Waiting:
    """Ranks with an object for one device of each, which nobody has been added to."""

    def __init__(self, job: Job, look: float = LOOK) -> None:
        self.job, self.ranks = job, job.ranks
        for dev, rank in enumerate(self.ranks):
            rank(steps.begin, dev)
            rank(steps.set_patience, FIRST_WORD, look)
        self.mc = self.new_object()

    def new_object(self) -> list[int]:
        first = self.ranks[0]
        mc = first(bare_object, len(self.ranks), STEP, FD | FABRIC)
        return [mc, *(handed_over(first, rank, mc) for rank in self.ranks[1:])]

    def begin_bind(self, k: int) -> None:
        """Let a rank add its device and then bind, which waits for the others."""
        rank = self.ranks[k]
        mem = rank(memory, k, STEP, FD)
        rank(driver.multicast_add_device, self.mc[k], k)
        rank.begin(ask, driver.multicast_bind_mem, self.mc[k], 0, mem, 0, STEP, 0)


def still_waits(rank: Rank, seconds: float = 0.3) -> bool:
    return not rank.done(seconds)


@pytest.fixture
def three(start: Callable[..., Job]) -> Waiting:
    return Waiting(start(3, devices=3))


# ---- the good end


def test_the_last_device_releases_binds_and_maps_of_all_processes(start: Callable[..., Job]) -> None:
    """By a wake: none of them would look in time."""
    team = Waiting(start(4, devices=4), look=NEVER)
    ptr = team.ranks[2](reserve)
    team.begin_bind(0)
    team.begin_bind(1)
    team.ranks[2](driver.multicast_add_device, team.mc[2], 2)
    team.ranks[2].begin(ask, driver.mem_map, ptr, STEP, 0, team.mc[2], 0)
    assert all(still_waits(rank) for rank in team.ranks[:3])
    team.ranks[3](driver.multicast_add_device, team.mc[3], 3)
    assert [rank.result().status for rank in team.ranks[:3]] == [0, 0, 0]


def test_no_wake_is_lost(start: Callable[..., Job]) -> None:
    """Many rounds, in which the waiter is on its way to sleep or asleep. (benchmarks/bench_ranks.py says how fast.)"""
    team = Waiting(start(2, devices=2), look=NEVER)
    a, b = team.ranks
    for round in range(20):
        mc = team.new_object()
        mem = a(memory, 0, STEP, FD)
        a(driver.multicast_add_device, mc[0], 0)
        a.begin(ask, driver.multicast_bind_mem, mc[0], 0, mem, 0, STEP, 0)
        assert still_waits(a, 0.001 * round)
        b(driver.multicast_add_device, mc[1], 1)
        assert a.result().status == 0
        for rank, handle in ((a, mem), (a, mc[0]), (b, mc[1])):
            rank(driver.mem_release, handle)


def test_who_waits_for_what_is_to_be_seen(three: Waiting) -> None:
    three.begin_bind(0)
    assert eventually(lambda: bool(three.job.world.rows("select * from waiting")))
    (row,) = three.job.world.rows("select process.pid, call, object from waiting join process on id = process")
    assert row[:2] == (three.ranks[0].pid, "cuMulticastBindMem")
    for k in (1, 2):
        three.ranks[k](driver.multicast_add_device, three.mc[k], k)
    assert three.ranks[0].result().status == 0
    assert three.job.world.rows("select * from waiting") == []


# ---- hopeless


def exits(rank: Rank) -> None:
    rank.leave()


def raises(rank: Rank) -> None:
    rank.begin(steps.fail)
    assert rank.wait() == 1


def killed(rank: Rank) -> None:
    rank.kill()


@pytest.mark.parametrize("end", [exits, raises, killed])
def test_a_rank_that_ends_before_it_adds_ends_the_waits_of_the_others(three: Waiting, end: Callable[..., None]) -> None:
    three.begin_bind(0)
    three.begin_bind(1)
    assert still_waits(three.ranks[0], 2 * FIRST_WORD)  # there is hope while rank 2 lives
    end(three.ranks[2])
    for answer in [three.ranks[k].result() for k in (0, 1)]:
        assert (answer.status, answer.refused) == (909, ("MC341",))
        assert "nobody is left to add them; processes that ended: 2. " in answer.text


def test_a_rank_that_sleeps_is_hope(three: Waiting) -> None:
    three.begin_bind(0)
    three.begin_bind(1)
    three.ranks[2].begin(time.sleep, 3 * FIRST_WORD)
    assert still_waits(three.ranks[0], 2.5 * FIRST_WORD)
    assert still_waits(three.ranks[1], 0)
    three.ranks[2].result()
    three.ranks[2](driver.multicast_add_device, three.mc[2], 2)
    assert [three.ranks[k].result().status for k in (0, 1)] == [0, 0]


def test_processes_that_wait_for_each_other_are_told_together(start: Callable[..., Job]) -> None:
    team = Waiting(start(2, devices=2))
    other = team.new_object()
    for rank, mc, dev in ((team.ranks[0], team.mc[0], 0), (team.ranks[1], other[1], 1)):
        mem = rank(memory, dev, STEP, FD)
        rank(driver.multicast_add_device, mc, dev)
        rank.begin(steps.timed, driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0)
    answers = [rank.result() for rank in team.ranks]
    assert [answer.status for answer, *_ in answers] == [909, 909]
    assert all(ended - began >= FIRST_WORD for _, began, ended in answers)


def test_told_once_they_may_begin_again(start: Callable[..., Job]) -> None:
    """What was hopeless leaves nothing: the missing device is added, and the same bind is done."""
    team = Waiting(start(2, devices=2))
    a, b = team.ranks
    team.begin_bind(0)
    mem = b(memory, 1, STEP, FD)
    b.begin(ask, driver.multicast_bind_mem, team.mc[1], 0, mem, 0, STEP, 0)  # forgot to add
    assert [rank.result().status for rank in (a, b)] == [909, 909]
    b(driver.multicast_add_device, team.mc[1], 1)
    assert b(ask, driver.multicast_bind_mem, team.mc[1], 0, mem, 0, STEP, 0).status == 0
    assert a(steps.bound_memory, team.mc[0], 0)


def test_a_wait_goes_on_where_hopeless_ones_do(start: Callable[..., Job]) -> None:
    team = Waiting(start(2, devices=2, hopeless="wait"))
    team.begin_bind(0)
    team.ranks[1].kill()
    assert still_waits(team.ranks[0], 2.5 * FIRST_WORD)
    late = team.job.start(1)
    late(steps.begin, 1)
    team.ranks[0].kill()  # nobody can give the late one this object any more: it waits until the end


def test_a_block_limit_ends_a_wait_for_a_living_rank(start: Callable[..., Job]) -> None:
    team = Waiting(start(2, devices=2, block_limit=0.5))
    team.begin_bind(0)
    answer = team.ranks[0].result()
    assert (answer.status, answer.refused) == (909, ("MC342",))


# ---- Ctrl-C


@pytest.mark.parametrize("call", [driver.multicast_bind_mem, v1.cuMulticastBindMem], ids=["_v2", "v1"])
def test_ctrl_c_in_a_rank_ends_its_wait_only(start: Callable[..., Job], call: Callable[..., Answer]) -> None:
    three = Waiting(start(3, devices=3), look=NEVER)
    three.begin_bind(1)
    rank = three.ranks[0]
    mem = rank(memory, 0, STEP, FD)
    rank(driver.multicast_add_device, three.mc[0], 0)
    rank.begin(call, three.mc[0], 0, mem, 0, STEP, 0)
    assert still_waits(rank)
    rank.signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        rank.result()
    assert still_waits(three.ranks[1], 0)
    three.ranks[2](driver.multicast_add_device, three.mc[2], 2)
    assert three.ranks[1].result().status == 0
    assert rank(ask, driver.multicast_bind_mem, three.mc[0], 0, mem, 0, STEP, 0).status == 0  # and it may try again
