"""Ranks that do not come, and what else cannot be done: an error that says so, never a hang."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from collective_seats import LocalSeats, Part, Seated

from cumulticast.team import collectives
from cumulticast.team.collectives import CollectiveTimeout

RANKS = 4
SHORT = 1.0  # longer than this a busy host keeps no thread waiting


@pytest.fixture(params=[True, False], ids=["multicast", "peers"])
def seats(seated: Seated, request: pytest.FixtureRequest) -> LocalSeats:
    return seated(RANKS, multicast=request.param)


ACTS: dict[str, Callable[[Any, Part], None]] = {
    "barrier": lambda seats, array: collectives.barrier(seats),
    "broadcast": lambda seats, array: collectives.broadcast(seats, array, 1, algorithm="two_shot"),
    "all_reduce": lambda seats, array: collectives.all_reduce(seats, array, algorithm="one_shot"),
    "reduce_scatter": lambda seats, array: collectives.reduce_scatter(seats, array, algorithm="two_shot"),
    "all_gather": lambda seats, array: collectives.all_gather(seats, array, algorithm="one_shot"),
}


PLACES = [*((name, True) for name in ACTS), ("barrier", False), ("all_reduce", False)]


@pytest.mark.parametrize(("name", "multicast"), PLACES)
def test_a_rank_that_does_not_come_is_named(seated: Seated, name: str, multicast: bool) -> None:
    seats = seated(RANKS, multicast=multicast)
    array, act = seats.array(64_000, np.float32), ACTS[name]
    act(seats, array)  # all come
    seats.synchronize()
    seats.timeout = SHORT
    here, away = seats.only(0, 1, 3), seats.only(2)
    act(here, array)
    act(here, array)  # queued behind: does nothing
    here.synchronize()
    with pytest.raises(CollectiveTimeout, match=rf"rank 2 did not come to {name} \(number 1\) within 1 s") as caught:
        collectives.check(here)
    assert (caught.value.rank, caught.value.collective, caught.value.number) == (2, name, 1)
    with pytest.raises(CollectiveTimeout, match="rank 2"):
        collectives.barrier(here)
    act(away, array)  # it comes after all: it is told the same
    away.synchronize()
    with pytest.raises(CollectiveTimeout, match=f"rank 2 did not come to {name}"):
        collectives.check(away)


def test_the_lowest_of_several_is_named_on_all_ranks(seats: LocalSeats) -> None:
    seats.timeout, parts = SHORT, [seats.only(0), seats.only(2)]
    for part in parts:
        collectives.barrier(part)
    for part in parts:
        part.synchronize()
        with pytest.raises(CollectiveTimeout) as caught:
            collectives.check(part)
        assert caught.value.rank == 1


def test_a_rank_that_comes_in_time_is_waited_for(seats: LocalSeats) -> None:
    collectives.barrier(seats.only(0, 1, 2))
    collectives.barrier(seats.only(3))
    for part in seats.others:
        part.synchronize()
        collectives.check(part)


def test_results_do_not_come_from_a_collective_that_failed(seats: LocalSeats) -> None:
    array = seats.array(100, np.float32)
    for rank in range(RANKS):
        array.put(rank, np.full(100, rank, np.float32))
    here, seats.timeout = seats.only(0, 1, 2), SHORT
    collectives.all_reduce(here, array, algorithm="two_shot")
    here.synchronize()
    assert [array.get(rank)[0] for rank in range(RANKS)] == [0, 1, 2, 3]


# ---- what cannot be done


def test_chunks_have_to_be_equal(seated: Seated) -> None:
    seats = seated(RANKS)
    for act in (collectives.all_gather, collectives.reduce_scatter):
        with pytest.raises(
            ValueError, match=r"shape \(3, 5\): 15 elements are no 4 equal chunks; nearest shapes \(12,\) or \(16,\)"
        ):
            act(seats, seats.array((3, 5), np.float32))
        with pytest.raises(ValueError, match=r"nearest shapes \(4,\)"):
            act(seats, seats.array(1, np.float32))
        act(seats, seats.array((4, 5), np.float32))


def test_types_and_operations_that_there_are_not(seated: Seated) -> None:
    seats = seated(RANKS)
    with pytest.raises(TypeError, match="arrays of int8 cannot be reduced; these can: float32, float64"):
        collectives.all_reduce(seats, seats.array(8, np.int8))
    with pytest.raises(TypeError, match="arrays of >f4 cannot be reduced: the other byte order; float32 can"):
        collectives.all_reduce(seats, seats.array(8, np.dtype(">f4")))
    with pytest.raises(ValueError, match="op 'prod' is none of sum, min, max"):
        collectives.all_reduce(seats, seats.array(8, np.float32), "prod")
    with pytest.raises(ValueError, match="root 4: the team has ranks 0 to 3"):
        collectives.broadcast(seats, seats.array(8, np.int8), RANKS)
    collectives.broadcast(seats, seats.array(8, np.int8), RANKS - 1)
    collectives.all_reduce(seats, seats.array(8, np.float32), "max")


def test_algorithms_that_there_are_not(seated: Seated) -> None:
    seats = seated(RANKS)
    most = collectives.SCRATCH_BYTES // 2
    with pytest.raises(ValueError, match=f"an array of {most + 1} bytes is too large for one_shot: {most} at most"):
        collectives.broadcast(seats, seats.array(most + 1, np.uint8), algorithm="one_shot")
    collectives.broadcast(seats, seats.array(most, np.uint8), algorithm="one_shot")
    with pytest.raises(ValueError, match="algorithm 'ring' is none of one_shot, two_shot"):
        collectives.broadcast(seats, seats.array(8, np.uint8), algorithm="ring")  # type: ignore[arg-type]


def test_memory_out_of_reach(seated: Seated) -> None:
    seats = seated(RANKS, multicast=False)
    array = seats.array(8, np.uint8)
    array.bases = [array.bases[0], 0, array.bases[2], array.bases[3]]
    with pytest.raises(ValueError, match="no access to the memory of rank 1"):
        collectives.broadcast(seats, array)
    array.bases = [base or 4096 + 8 for base in array.bases]
    with pytest.raises(ValueError, match="the replica of rank 1 begins at 0x1008, which is no multiple of 16"):
        collectives.broadcast(seats, array)


def test_a_team_that_is_too_large() -> None:
    many: Any = SimpleNamespace(size=73, mine=(0,), devices=(0,), has_multicast=False, timeout=1.0)
    with pytest.raises(ValueError, match="a team of 73 ranks is too large for collectives: 72 at most"):
        collectives.barrier(many)
