"""Threads that share a team, streams that do not suit it, and what a capture elsewhere must not hinder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from cumulticast import SymmetricArray, Team, TeamError, driver, sim
from cumulticast.team.dlpack import in_context_of
from cumulticast.testing import CudaMachine

pytestmark = pytest.mark.usefixtures("cuda_machine")
THREADS = 4
PATIENCE = 10.0  # seconds, which ranks that wait for each other in vain use up

Work = Callable[[int], Any]


@pytest.fixture
def team() -> Iterator[Team]:
    with Team.local(range(3), timeout=PATIENCE) as made:
        yield made


def in_threads(work: Work) -> list[Any]:
    """Do it in several threads that begin together; raise what one of them raises."""
    together = Barrier(THREADS)

    def begin(number: int) -> Any:
        together.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def filled(team: Team, value: float) -> SymmetricArray:
    array = team.empty(1000)
    for rank in range(team.size):
        array.set(value + rank, rank)
    return array


def test_collectives_of_several_threads_keep_one_order_on_all_ranks(team: Team) -> None:
    def work(number: int) -> list[float]:
        array = filled(team, 10 * number)
        for _ in range(15):
            team.all_reduce(array, "max")
        team.barrier()
        return sorted({float(value) for rank in range(3) for value in array.get(rank)})

    assert in_threads(work) == [[10.0 * number + 2] for number in range(THREADS)]


def test_arrays_of_several_threads_do_not_overlap(team: Team) -> None:
    def work(number: int) -> bool:
        good = True
        for turn in range(40):
            with team.empty(300 + number, "int32") as small, team.empty(100_000 + turn, "int32") as large:
                small.set(number, 1)
                large.set(-number, 1)
                good &= bool((small.get(1) == number).all() and (large.get(1) == -number).all())
        return good

    assert in_threads(work) == [True] * THREADS


def test_a_team_is_closed_once_by_several_threads_beside_one_that_uses_it() -> None:
    for _ in range(5):
        made = Team.local(range(2), timeout=PATIENCE)
        array = made.empty(10)

        def use(made: Team = made, array: SymmetricArray = array) -> str:
            try:
                for _ in range(30):
                    made.all_reduce(array)
            except ValueError as error:
                return str(error)
            return "is closed"

        def work(number: int, made: Team = made, use: Callable[[], str] = use) -> str:
            return str(made.close() or "is closed") if number else use()

        assert all("is closed" in told for told in in_threads(work))
        assert sim.world().multicast == sim.world().allocations == ()


def test_teams_of_several_threads(cuda_machine: CudaMachine) -> None:
    def work(number: int) -> float:
        with Team.local([number, number + 1, number + 2], timeout=PATIENCE) as own, filled(own, number) as array:
            own.all_reduce(array)
            own.barrier()
            return float(array.get(2)[-1])

    assert in_threads(work) == [3.0 * number + 3 for number in range(THREADS)]
    assert not cuda_machine.leaks()


# ---- streams


@pytest.fixture
def streams(team: Team) -> Iterator[list[int]]:
    """Give a stream of each rank's device, in its primary context."""
    made: list[int] = []
    for device in team.devices:
        with in_context_of(device):
            made.append(int(driver.stream_create(1)))
    yield made
    for stream in made:
        driver.stream_destroy_v2(stream)


def summed(team: Team, streams: Any) -> set[float]:
    with filled(team, 1) as array:
        team.all_reduce(array, stream=streams)
        team.barrier()
        return {float(value) for rank in range(3) for value in array.get(rank)}


@pytest.mark.parametrize("order", [[1, 0, 2], [0, 1, 0]])
def test_a_stream_of_another_device_is_refused_before_any_rank_waits(
    team: Team, streams: list[int], order: list[int]
) -> None:
    wrong = next(device for device, one in enumerate(order) if device != one)
    with pytest.raises(ValueError, match=rf"is not in the primary context of device {wrong}"):
        summed(team, [streams[one] for one in order])
    team.barrier()
    assert summed(team, streams) == {6.0}


def test_a_stream_that_is_gone_is_refused_before_any_rank_waits(team: Team, streams: list[int]) -> None:
    with in_context_of(2):
        gone = int(driver.stream_create(0))
    driver.stream_destroy_v2(gone)
    with pytest.raises(driver.InvalidHandleError, match="INVALID_HANDLE"):
        summed(team, [*streams[:2], gone])
    team.barrier()
    assert summed(team, streams) == {6.0}


def test_streams_of_which_some_capture_are_refused(team: Team, streams: list[int]) -> None:
    driver.stream_begin_capture_v2(streams[0], 2)
    with filled(team, 1) as array:
        with pytest.raises(ValueError, match="some of the streams capture"):
            team.all_reduce(array, stream=streams)
        driver.graph_destroy(driver.stream_end_capture(streams[0]))
    assert summed(team, streams) == {6.0}


BAD_STREAMS: list[tuple[Any, type[Exception], str]] = [
    (float("inf"), TypeError, "inf is no stream"),
    (1.5, TypeError, "1.5 is no stream"),
    ("0", TypeError, "'0' is no stream"),
    ((), TypeError, r"\(\) is no stream"),
    (print, TypeError, "print> is no stream"),
    (1 << 64, ValueError, "stream 0x10000000000000000: a handle has 64 bits"),
    (-1, ValueError, "stream -0x1: a handle has 64 bits"),
]


@pytest.mark.parametrize(("stream", "kind", "text"), BAD_STREAMS, ids=[row[2] for row in BAD_STREAMS])
def test_what_is_no_stream_is_named(team: Team, stream: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        summed(team, [1, 1, stream])
    assert summed(team, [1, 1, 1]) == {6.0}


# ---- captures elsewhere


@pytest.mark.parametrize("mode", [0, 1, 2], ids=["global", "thread-local", "relaxed"])
def test_a_team_grows_and_splits_while_a_stream_of_its_context_captures(
    team: Team, streams: list[int], mode: int
) -> None:
    driver.stream_begin_capture_v2(streams[0], mode)
    grown, part = team.empty(64 << 20, "uint8"), team.split([2, 0])
    driver.graph_destroy(driver.stream_end_capture(streams[0]))
    with part, filled(part, 1) as array:
        part.all_reduce(array)
        part.barrier()
        assert np.array_equal(array.get(0), np.full(1000, 3, np.float32))
    grown.close()


def test_a_barrier_while_a_stream_captures_is_refused_and_the_next_one_is_not(team: Team, streams: list[int]) -> None:
    driver.stream_begin_capture_v2(streams[1], 0)
    with pytest.raises(TeamError, match=r"failed at barrier: cuCtxSynchronize answered 900") as caught:
        team.barrier()
    assert caught.value.status == 900
    with pytest.raises(driver.StreamCaptureInvalidatedError):
        driver.stream_end_capture(streams[1])
    team.barrier()
    assert summed(team, streams) == {6.0}


def test_the_current_context_is_what_it_was(team: Team, streams: list[int]) -> None:
    context = driver.device_primary_ctx_retain(5)
    calls: list[tuple[Callable[[], Any], type[Exception] | None]] = [
        (partial(team.empty, 64 << 20), None),
        (partial(summed, team, streams), None),
        (partial(summed, team, streams[::-1]), ValueError),
        (lambda: team.split([1, 2]).close(), None),
        (partial(team.empty, 1 << 40, "uint8"), TeamError),
        (team.barrier, None),
    ]
    for current in (0, int(context)):
        driver.ctx_set_current(current)
        for call, refusal in calls:
            with pytest.raises(refusal) if refusal else nullcontext():
                call()
            assert int(driver.ctx_get_current()) == current
    driver.ctx_set_current(0)
    driver.device_primary_ctx_release_v2(5)
