"""Faults are the world's: set and cleared by one process while all run, felt by the others at their next call."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
import rank_steps as steps
from builders import FABRIC, FD, GIB, STEP, ask, bare_object, memory
from cuda.bindings._v2 import driver
from ranks_here import Job, Rank, RankDied, handed_over

from cumulticast.sim import native

pytestmark = pytest.mark.timeout(60)
TOO_LONG = 40  # seconds: longer than a step may take


def bind(rank: Rank) -> int:
    return int(rank(steps.ask_bound_object, 0).status)


def map_(rank: Rank) -> int:
    return int(rank(steps.ask_mapped_object, 0))


def fabric_memory(rank: Rank) -> int:
    return int(rank(steps.ask_memory, 0, STEP, FABRIC).status)


def much_memory(rank: Rank) -> int:
    return int(rank(steps.ask_memory, 0, 2 * GIB).status)


def both_devices(rank: Rank) -> int:
    return int(rank(steps.ask_team_of, (0, 1)))


STATES: list[tuple[str, Callable[[Rank], int], int]] = [
    ("fm=stopped", bind, 802),
    ("fm=stopped", map_, 401),
    ("fm=never", bind, 802),
    ("fm=starting:30", bind, 802),
    ("fm=stalled:30", bind, 802),
    ("fm=restarted", bind, 401),
    ("fm=restarted:1", bind, 1),
    ("state=illegal", bind, 401),
    ("state=illegal", map_, 401),
    ("imex=none", fabric_memory, 800),
    ("slots=128", bind, 2),
    ("cliques=1,1", both_devices, 101),
    (f"memory={GIB}", much_memory, 2),
]


@pytest.fixture
def two(start: Callable[..., Job]) -> Job:
    job = start(2, devices=2)
    job.all(steps.begin)
    return job


@pytest.mark.parametrize(("spec", "shows", "status"), STATES, ids=[f"{s}-{f.__name__}" for s, f, _ in STATES])
def test_a_state_set_by_one_is_felt_by_the_other(
    two: Job, spec: str, shows: Callable[[Rank], int], status: int
) -> None:
    a, b = two.ranks
    assert shows(b) == 0
    a(steps.set_faults, spec)
    assert [shows(b), shows(a)] == [status, status]
    b(steps.clear_faults)
    assert [shows(a), shows(b)] == [0, 0]


def test_unaligned_binds_run_out(start: Callable[..., Job]) -> None:
    job = start(2, "rubin-nvl72", nodes=1)
    job.all(steps.begin)
    a, b = job.ranks
    a(steps.set_faults, "unaligned=0")
    assert b(steps.ask_unaligned, 0).status == 47
    b(steps.clear_faults)
    assert a(steps.ask_unaligned, 0).status == 0


@pytest.mark.parametrize(("spec", "status"), [("fm=never", 802), ("fm=starting:30", 919)])
def test_a_rank_that_comes_while_the_fabric_manager_is_away(two: Job, spec: str, status: int) -> None:
    two.ranks[0](steps.set_faults, spec)
    late = two.start(2)
    assert late(steps.status_of, "init", 0) == status
    two.ranks[0](steps.clear_faults)
    assert late(steps.status_of, "init", 0) == 0


def grow_older(job: Job, seconds: float) -> None:
    """Let the faults in force, and the first bind under them, be so much older."""
    since = {spec: began - seconds for spec, began in job.world.faults.items()}
    with job.world.transaction() as db:
        db.execute("update world set value = ? where key = 'faults'", (json.dumps(since),))
        db.execute("update world set value = value - ? where key = 'first bind'", (seconds,))
    native.add_and_wake(job.world.fault_address)


def test_states_that_pass_by_themselves_pass_for_all(two: Job) -> None:
    a, b = two.ranks
    a(steps.set_faults, "fm=starting:30")
    assert [bind(b), bind(a)] == [802, 802]
    grow_older(two, 30)
    assert [bind(a), bind(b)] == [0, 0]
    a(steps.set_faults, "fm=stalled:30")
    grow_older(two, 30)
    assert bind(b) == 802  # the stall begins with the first bind, whoever's that is
    assert bind(a) == 802
    grow_older(two, 30)
    assert [bind(a), bind(b)] == [0, 0]


# ---- actions


def test_a_failure_befalls_one_rank_and_one_use(two: Job) -> None:
    a, b = two.ranks
    a(steps.set_faults, "fail:cuMemCreate:rank=1:nth=3:status=CUDA_ERROR_NOT_PERMITTED")
    ones = [b(steps.ask_memory, 0, STEP).status for _ in range(5)]
    zeros = [a(steps.ask_memory, 0, STEP).status for _ in range(5)]
    assert (ones, zeros) == ([0, 0, 800, 0, 0], [0] * 5)


def test_each_rank_counts_its_own_uses(two: Job) -> None:
    two.faults.set("fail:cuMemCreate:nth=2:status=2")
    assert [[rank(steps.ask_memory, 0, STEP).status for _ in range(3)] for rank in two.ranks] == [[0, 2, 0]] * 2


def test_uses_are_counted_from_when_the_fault_is_set(two: Job) -> None:
    a, b = two.ranks
    for spec in ("fail:cuMemCreate:rank=1:status=2", "fail:cuMemCreate:rank=1:nth=1:status=2"):
        for _ in range(2):
            a(steps.set_faults, spec)
            assert [b(steps.ask_memory, 0, STEP).status for _ in range(3)] == [2, 0, 0]
            a(steps.clear_faults)
            assert b(steps.ask_memory, 0, STEP).status == 0


def test_several_failures_of_one_call_are_counted_apart(two: Job) -> None:
    two.faults.set(
        "fail:cuMemCreate:nth=1:status=1", "fail:cuMemCreate:nth=2:status=2", "fail:cuMemCreate:nth=4:status=999"
    )
    assert [two.ranks[0](steps.ask_memory, 0, STEP).status for _ in range(5)] == [1, 2, 0, 999, 0]


def test_a_failed_call_has_done_nothing(two: Job) -> None:
    a, _ = two.ranks
    two.faults.set("fail:cuMulticastCreate:status=802")
    before = two.left()
    assert a(ask, bare_object, 2, STEP, FD).status == 802
    assert two.left() == before


@pytest.mark.parametrize("name", ["cuMemGetInfo", "cuMemGetInfo_v2"])
def test_a_call_goes_by_the_name_in_cuda_h_and_by_its_symbol(two: Job, name: str) -> None:
    two.faults.set(f"fail:{name}:status=801")
    assert two.ranks[0](steps.status_of, "mem_get_info_v2") == 801


def test_a_call_with_two_forms_goes_by_its_own_name(two: Job) -> None:
    two.faults.set("fail:cuMulticastBindMem_v2:status=2")
    assert bind(two.ranks[0]) == 0  # the first form


def test_a_delay_befalls_one_rank(two: Job) -> None:
    a, b = two.ranks
    a(steps.set_faults, f"delay:cuMemCreate:rank=1:nth=1:seconds={TOO_LONG}")
    a(memory)
    b.begin(memory)
    assert not b.done(0.5)
    b.kill()


def test_a_delay_ends_and_befalls_one_use(two: Job) -> None:
    a, b = two.ranks
    a(steps.set_faults, "delay:cuMemCreate:rank=1:nth=1:seconds=0.4")
    _, began, ended = b(steps.timed, memory)
    assert ended - began >= 0.4
    a(steps.clear_faults)
    a(steps.set_faults, f"delay:cuMemCreate:rank=1:nth=2:seconds={TOO_LONG}")
    b(memory)
    b.begin(memory)
    assert not b.done(0.5)
    b.kill()


def test_a_delayed_add_delays_the_others_and_no_more(two: Job) -> None:
    a, b = two.ranks
    mc = a(bare_object, 2, STEP, FD)
    other = handed_over(a, b, mc)
    two.faults.set("delay:cuMulticastAddDevice:rank=1:seconds=0.7")
    a(driver.multicast_add_device, mc, 0)
    mem = a(memory, 0, STEP, FD)
    b.begin(steps.timed, driver.multicast_add_device, other, 1)
    bound, _, ended = a(steps.timed, driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0)
    added, began, _ = b.result()
    assert (bound.status, added.status) == (0, 0)
    assert ended - began >= 0.7


@pytest.mark.parametrize(("when", "left"), [("kill-before", 0), ("kill-after", 1)])
def test_a_kill_befalls_one_rank_at_one_use(two: Job, when: str, left: int) -> None:
    """After the call what it did has been done: a descriptor made before shows it."""
    a, b = two.ranks
    mc = a(bare_object, 1, STEP, FD)
    other = handed_over(a, b, mc)
    a(steps.set_faults, f"{when}:cuMulticastAddDevice:rank=1:nth=1")
    with pytest.raises(RankDied):
        b(driver.multicast_add_device, other, 0)
    assert b.wait() == -signal.SIGKILL
    assert len(two.world.rows("select * from team")) == left
    assert a(steps.free_bytes)  # and rank 0 goes on


def test_a_kill_waits_for_its_use(two: Job) -> None:
    b = two.ranks[1]
    two.faults.set("kill-before:cuMemCreate:rank=1:nth=3")
    assert [b(steps.ask_memory, 0, STEP).status for _ in range(2)] == [0, 0]
    with pytest.raises(RankDied):
        b(steps.ask_memory, 0, STEP)


def test_a_blocked_call_that_is_told_to_fail_is_counted_once(two: Job) -> None:
    """A wait is one use of the call, however often the sleeper looks up."""
    a, b = two.ranks
    mc = a(bare_object, 2, STEP, FD)
    other = handed_over(a, b, mc)
    two.faults.set("fail:cuMulticastBindMem:rank=0:nth=2:status=2")
    a(driver.multicast_add_device, mc, 0)
    mem = a(memory, 0, STEP, FD)
    a.begin(ask, driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0)
    assert not a.done(0.8)  # it looks up four times a second
    b(driver.multicast_add_device, other, 1)
    assert a.result().status == 0
    assert bind(a) == 2


def test_bad_specifications_are_refused_where_they_are_set(two: Job) -> None:
    for spec, word in (
        ("fm=sleeping", "stopped"),
        ("fail:cuMemCreate", "status="),
        ("kill:cuMemCreate", "kill-before"),
    ):
        problem: Any = two.ranks[0](steps.problem_with, spec)
        assert word in problem
    assert two.world.faults == {}
