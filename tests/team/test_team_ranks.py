"""Teams of processes: what goes well, ranks that disagree, do not come, are stopped, interrupted, or die later on."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matrix_part as steps
import pytest
from matrix_part import Told
from ranks_here import Job, eventually
from team_matrix import LONG, PATIENCE, Crew

RANKS = 4
FD, FABRIC = 1, 8
Crewed = Callable[..., Crew]


@pytest.fixture
def crewed(start: Callable[..., Job], tmp_path: Path) -> Crewed:
    """Give a function that puts ranks on a machine; what they leave fails the test."""

    def put(ranks: int = RANKS, *arguments: Any, **options: Any) -> Crew:
        return Crew(start(ranks, *arguments, **options), ranks, tmp_path)

    return put


@pytest.fixture
def crew(crewed: Crewed) -> Crew:
    return crewed()


def the_same(answers: dict[int, Any]) -> Told:
    """Answer the TeamError that all of them raised."""
    first = next(iter(answers.values()))
    assert isinstance(first, Told) and all(one == first for one in answers.values()), answers
    return first


def over(crew: Crew) -> None:
    """Let all close their teams; nothing is left, and a new one comes up."""
    crew.all(steps.let_go)
    crew.nothing_left()
    crew.comes_up()


# ---- what goes well


def test_a_team_of_processes_works(crew: Crew) -> None:
    assert crew.meet(steps.keep) == dict.fromkeys(range(RANKS))
    assert crew.all(steps.with_team, steps.sum_of_ranks) == dict.fromkeys(range(RANKS), (10.0,))
    assert set(crew.all(steps.with_team, steps.grow).values()) == {2}
    assert set(crew.all(steps.with_team, steps.kind_of_handle).values()) == {FD}
    over(crew)


def test_parts_of_a_team_work_side_by_side_and_share_its_arrays(crew: Crew) -> None:
    crew.meet(steps.keep)
    even, odd = [(2.0,), 2.0], [(2.0,), 2.0]
    assert crew.all(steps.with_team, steps.in_parts) == {
        0: [1, (0,), *even], 2: [0, (2,), *even], 1: [1, (1,), *odd], 3: [0, (3,), *odd]
    }  # fmt: skip
    over(crew)


def test_a_death_in_one_part_is_no_matter_of_the_other(crew: Crew) -> None:
    crew.meet(steps.keep)
    crew.all(steps.with_team, steps.keep_part)
    crew.ranks[1].kill()
    answers = crew.all(steps.with_team, steps.barrier)
    assert (answers.pop(0), answers.pop(2)) == (None, None)
    assert (the_same(answers).rank, the_same(answers).stage) == (0, "barrier")  # rank 1 is rank 0 of the odd ones
    over(crew)


def test_a_status_of_802_is_tried_again_by_all_together(crew: Crew) -> None:
    options = {"retries": 2, "backoff": 0.01}
    crew.job.faults.set(*(f"fail:cuMulticastBindMem:rank={rank}:nth={rank}:status=802" for rank in (1, 2)))
    assert crew.meet(steps.keep, LONG, options) == dict.fromkeys(range(RANKS))
    crew.job.faults.clear()
    assert crew.all(steps.with_team, steps.sum_of_ranks) == dict.fromkeys(range(RANKS), (10.0,))
    over(crew)


def test_802_that_does_not_pass_is_told_by_all(crew: Crew) -> None:
    crew.comes_up()
    crew.job.faults.set("fm=stopped")
    error = the_same(crew.meet(steps.keep, LONG, {"retries": 1, "backoff": 0.01}))
    crew.job.faults.clear()
    assert (error.rank, error.stage, error.call, error.status, error.rule) == (
        0, "bind", "cuMulticastBindMem", 802, "MC343"
    )  # fmt: skip
    over(crew)


# ---- kinds of handles


@pytest.mark.parametrize("ranks", [[3], [0, 1, 2, 3]])
def test_where_descriptors_are_barred_all_go_on_with_fabric_handles(crew: Crew, ranks: list[int]) -> None:
    for rank in ranks:
        crew.ranks[rank](steps.bar_descriptors)
    assert crew.meet(steps.keep) == dict.fromkeys(range(RANKS))
    assert set(crew.all(steps.with_team, steps.kind_of_handle).values()) == {FABRIC}
    assert crew.all(steps.with_team, steps.sum_of_ranks) == dict.fromkeys(range(RANKS), (10.0,))
    over(crew)


def test_where_fabric_handles_are_no_way_either_the_last_reason_is_told(crew: Crew) -> None:
    crew.ranks[2](steps.bar_descriptors)
    crew.job.faults.set("imex=none")
    error = the_same(crew.meet(steps.keep))
    assert (error.stage, error.call, error.status, error.rule) == ("create", "cuMemCreate", 800, "MC604")
    crew.job.faults.clear()
    over(crew)


def on_nodes(crewed: Crewed, machine: str, nodes: int, each: int) -> None:
    """Bring a team up across nodes, use it and close it; each rank takes the device that has its number there."""
    size = nodes * each
    crew = crewed(0, machine, nodes=nodes)
    crew.size = size
    for number in range(size):  # NCCL_HOSTID tells the nodes apart, as it does on real ones
        crew.ranks.append(crew.job.start(number, number // each, NCCL_HOSTID=f"node{number // each}"))
    place = crew.place()
    for rank in crew.ranks:
        rank.begin(steps.keep, place, size, 2 * LONG, {"device": rank.number % each})
    assert [rank.result(2 * PATIENCE) for rank in crew.ranks] == [None] * size
    assert set(crew.all(steps.with_team, steps.kind_of_handle).values()) == {FABRIC}
    assert crew.all(steps.with_team, steps.used) == dict.fromkeys(range(size), (float(size),))
    crew.all(steps.let_go)
    crew.nothing_left()


@pytest.mark.parametrize("machine", ["gb200-nvl72", "rubin-nvl72"])
def test_nodes_share_by_fabric_handles(crewed: Crewed, machine: str) -> None:
    on_nodes(crewed, machine, 2, 2)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_rack_of_72_ranks_is_one_team(crewed: Crewed) -> None:
    on_nodes(crewed, "gb200-nvl72", 18, 4)


def test_nodes_that_are_taken_for_one_host_share_descriptors_that_do_not_cross(crewed: Crewed) -> None:
    """Where NCCL_HOSTID does not tell them apart, the driver refuses, and all are told."""
    crew = crewed(2, "gb200-nvl72", (0, 1), nodes=2)
    crew.size = 2
    error = the_same(crew.meet(steps.keep, LONG, {"device": 0}))
    assert (error.stage, error.call) == ("import", "cuMemImportFromShareableHandle")
    crew.nothing_left()


# ---- ranks that disagree


@pytest.mark.parametrize("one", [0, 2])
def test_who_requires_multicast_and_who_does_not(crew: Crew, one: int) -> None:
    error = the_same(crew.meet(steps.join_with, LONG, one, {"require_multicast": False}))
    assert error.stage == "agree" and "require_multicast=" in error.reason
    over(crew)


@pytest.mark.parametrize(
    ("one", "options", "text"),
    [(0, {"device": 8}, "device 8: this process sees 8 devices"), (1, {"device": "cuda:1"}, "'cuda:1' is no device")],
)
def test_a_bad_device_of_one_rank_is_told_to_all_at_once(
    crew: Crew, one: int, options: dict[str, Any], text: str
) -> None:
    answers = crew.meet(steps.join_with, LONG, one, options)
    assert text in answers.pop(one)
    error = the_same(answers)
    assert (error.rank, error.stage) == (one, "agree") and error.reason.startswith("left: ")
    over(crew)


def test_a_device_that_two_ranks_name(crew: Crew) -> None:
    error = the_same(crew.meet(steps.join_with, LONG, 3, {"device": 1}))
    assert (error.rank, error.reason[:28]) == (3, "rank 1 is on the same device")
    over(crew)


ORDERS = [
    (0, [100, 100], [100, 200_000], "barrier"),  # no message was needed for any of them
    (3, [100, 200, 0, 300], [100, 0, 200, 300], "barrier"),
    (0, [100, 300, 0], [100, 300], "barrier"),
    (3, [9 << 20], [12 << 20], "create"),
    (0, [100, 9 << 20], [300, 9 << 20], "create"),
]


@pytest.mark.parametrize(("one", "sizes", "other", "stage"), ORDERS)
def test_arrays_made_in_another_order(crew: Crew, one: int, sizes: list[int], other: list[int], stage: str) -> None:
    crew.meet(steps.keep)
    for rank in crew.ranks:
        rank.begin(steps.with_team, steps.empties, other if rank.number == one else sizes)
    error = the_same({rank.number: rank.result(PATIENCE) for rank in crew.ranks})
    assert error.stage == stage and "all ranks make the same calls in one order" in error.reason
    over(crew)


def test_one_rank_grows_where_the_others_meet(crew: Crew) -> None:
    crew.meet(steps.keep)
    crew.ranks[2].begin(steps.with_team, steps.grow)
    for rank in (crew.ranks[0], crew.ranks[1], crew.ranks[3]):
        rank.begin(steps.with_team, steps.barrier)
    error = the_same({rank.number: rank.result(PATIENCE) for rank in crew.ranks})
    assert (error.rank, error.reason) == (2, "is at 'create' where others are at 'barrier'")
    over(crew)


# ---- ranks that do not come, are stopped, interrupted, or fail by themselves


def test_a_rank_that_never_comes(crew: Crew) -> None:
    place = crew.place()
    for rank in crew.ranks[:3]:
        rank.begin(steps.keep, place, RANKS, 0.5)
    error = the_same({rank.number: rank.result(PATIENCE) for rank in crew.ranks[:3]})
    assert (error.rank, error.stage, error.reason) == (3, "join", "did not come within 0.5 s")
    over(crew)


@pytest.mark.parametrize("one", [0, 2])
def test_a_rank_that_is_stopped_is_given_up_and_told_so_when_it_goes_on(crew: Crew, one: int) -> None:
    crew.meet(steps.keep, 0.7)
    stopped, others = crew.ranks[one], [rank for rank in crew.ranks if rank.number != one]
    stopped.signal(signal.SIGSTOP)
    for rank in crew.ranks:
        rank.begin(steps.with_team, steps.grow)
    answers = {rank.number: rank.result(PATIENCE) for rank in others}
    stopped.signal(signal.SIGCONT)
    answers[one] = stopped.result(PATIENCE)
    error = the_same(answers)
    assert (error.rank, error.stage) == (one, "create")
    assert error.reason.startswith("does not answer: it is stopped" if one == 0 else "did not come to 'create'")
    over(crew)


@pytest.mark.parametrize(("one", "call"), [(0, "cuMemCreate"), (2, "cuMulticastBindMem"), (3, "cuMemSetAccess")])
def test_an_interrupted_rank_leaves_and_the_others_are_told(crew: Crew, one: int, call: str) -> None:
    crew.job.faults.set(f"delay:{call}:rank={one}:seconds={LONG}")
    mark, place = crew.meetings / "delayed", crew.place()
    crew.ranks[one](steps.mark_delays, str(mark))
    for rank in crew.ranks:
        rank.begin(steps.keep, place, RANKS, LONG)
    assert eventually(mark.exists, PATIENCE)
    crew.ranks[one].signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        crew.ranks[one].result(PATIENCE)
    error = the_same({rank.number: rank.result(PATIENCE) for rank in crew.ranks if rank.number != one})
    assert (error.rank, error.reason) == (one, "left: KeyboardInterrupt in this rank")
    crew.job.faults.clear()
    over(crew)


@pytest.mark.parametrize("one", [0, 1])
def test_an_interrupted_wait_for_the_others(crew: Crew, one: int) -> None:
    crew.meet(steps.keep)
    with pytest.raises(KeyboardInterrupt):
        crew.ranks[one](steps.with_team, steps.interrupted_wait)
    for rank in crew.ranks:
        if rank.number != one:
            rank.begin(steps.with_team, steps.grow)
    error = the_same({rank.number: rank.result(PATIENCE) for rank in crew.ranks if rank.number != one})
    assert (error.rank, error.stage, error.reason) == (one, "create", "left: KeyboardInterrupt at 'create'")
    over(crew)


@pytest.mark.parametrize("one", [0, 3])
def test_an_exception_of_the_user_is_told_to_the_others(crew: Crew, one: int) -> None:
    answers = crew.meet(steps.fail_inside, LONG, one)
    assert answers.pop(one) == "UsersError"
    error = the_same(answers)
    assert (error.rank, error.stage, error.reason) == (one, "barrier", "left: UsersError in this rank")
    over(crew)


@pytest.mark.parametrize("one", [0, 2])
def test_what_a_device_answers_at_a_barrier_is_told_to_all(crew: Crew, one: int) -> None:
    crew.meet(steps.keep)
    crew.job.faults.set(f"fail:cuCtxSynchronize:rank={one}:nth=1:status=719")
    error = the_same(crew.all(steps.with_team, steps.barrier))
    assert (error.rank, error.stage, error.call, error.status) == (one, "barrier", "cuCtxSynchronize", 719)
    crew.job.faults.clear()
    over(crew)


# ---- deaths later on


@pytest.mark.parametrize("one", [0, 2])
def test_a_death_before_the_end_holds_nobody_up(crew: Crew, one: int) -> None:
    crew.meet(steps.keep)
    crew.all(steps.with_team, steps.grow)
    crew.ranks[one].kill()
    over(crew)


@pytest.mark.parametrize(("one", "work"), [(0, steps.grow), (2, steps.grow), (3, steps.barrier)])
def test_a_death_between_two_steps_is_told_to_all(crew: Crew, one: int, work: Any) -> None:
    crew.meet(steps.keep)
    crew.ranks[one].kill()
    error = the_same(crew.all(steps.with_team, work))
    assert (error.rank, error.reason) == (one, "its process ended")
    over(crew)


@pytest.mark.parametrize("one", [0, 2])
def test_a_death_inside_of_a_collective(crew: Crew, one: int) -> None:
    crew.meet(steps.keep, 1.0)
    crew.all(steps.with_team, steps.sum_of_ranks)
    others = [rank for rank in crew.ranks if rank.number != one]
    for rank in others:
        rank.begin(steps.with_team, steps.reduce_and_meet)
    time.sleep(0.2)  # their kernels wait for the one by now
    crew.ranks[one].kill()
    error = the_same({rank.number: rank.result(PATIENCE) for rank in others})
    assert error.rank == one
    over(crew)


# ---- when an error is raised, all ranks are done with undoing


@pytest.mark.parametrize("late", [0, 3])
def test_an_error_is_raised_when_nothing_is_left_anywhere(crew: Crew, late: int) -> None:
    """One rank fails, another one takes its time to undo: nobody hears of it before that is done."""
    crew.comes_up()
    crew.job.faults.set("fail:cuMemSetAccess:rank=1:status=999", f"delay:cuMulticastUnbind:rank={late}:seconds=1")
    place = crew.place()
    for rank in crew.ranks:
        rank.begin(steps.keep, place, RANKS, LONG)
    first = crew.ranks[2].result(PATIENCE)
    picture = crew.job.picture()
    assert (picture.multicast, picture.allocations) == ((), ())
    assert the_same({rank.number: first if rank.number == 2 else rank.result(PATIENCE) for rank in crew.ranks}) == first
    crew.job.faults.clear()
    over(crew)


def test_close_waits_for_the_others_since_they_may_still_use_the_memory(crew: Crew) -> None:
    crew.meet(steps.keep)
    early, *others = crew.ranks
    early.begin(steps.let_go)
    assert not early.done(0.3)
    (mc,) = crew.job.picture().multicast
    assert {piece.device for piece in mc.bindings} == set(range(RANKS))
    for rank in others:
        rank.begin(steps.let_go)
    assert [rank.result(PATIENCE) for rank in crew.ranks] == [None] * RANKS
    over(crew)
