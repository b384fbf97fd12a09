"""Results, bit for bit: every type, operation, path and algorithm, at sizes that are awkward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from collective_models import BFLOAT16, DTYPES, FLOATS, OPS, bits, reduced, values
from collective_seats import LocalSeats, Part, Seated

from cumulticast.team import collectives
from cumulticast.team.collectives.engine import engine_of

ALGORITHMS = ("one_shot", "two_shot")
RANKS = 4
#: One element, less than a vector, one more than a vector of any type, tails, several tiles and blocks.
COUNTS = (1, 3, 17, 1001, 2 * 8192 + 4099)
GUARD = 64


def settle(seats: LocalSeats) -> None:
    """Wait for all that runs; nothing may have gone wrong."""
    seats.synchronize()
    collectives.check(seats)


def guarded(seats: LocalSeats, count: int, dtype: Any) -> tuple[Part, Part]:
    """Answer an array and what lies right behind it, which nobody may touch."""
    whole = seats.array(count * dtype.itemsize + GUARD, np.uint8)
    array = Part(count * dtype.itemsize, whole.bases, whole.multicast_ptr, (count,), dtype)
    at = array.nbytes
    behind = Part(GUARD, [base + at for base in whole.bases], 0, (GUARD,), np.dtype(np.uint8))
    for rank in range(seats.size):
        behind.put(rank, np.full(GUARD, 0xA0 + rank, np.uint8))
    return array, behind


def play(
    seats: LocalSeats, count: int, dtype: Any, act: Callable[[Part], None], want: Callable[[list[np.ndarray], int], Any]
) -> None:
    """Fill the replicas, act, and compare each replica with what is wanted of it."""
    array, behind = guarded(seats, count, dtype)
    given = [values(rank, count, dtype) for rank in range(seats.size)]
    for rank, one in enumerate(given):
        array.put(rank, one)
    act(array)
    settle(seats)
    for rank in range(seats.size):
        wanted = bits(want(given, rank))
        assert np.array_equal(bits(array.get(rank)), wanted), (rank, count, dtype.name)
        assert (behind.get(rank) == 0xA0 + rank).all(), f"written behind the array of rank {rank}"


def both_paths(seated: Seated, ranks: int = RANKS) -> list[LocalSeats]:
    return [seated(ranks, multicast=True), seated(ranks, multicast=False)]


#: Each takes some seconds to compile the first time: of these, one for each type; all of them for f32.
SOON = {
    "float64": "min",
    "float16": "min",
    "bfloat16": "sum",
    "int32": "min",
    "uint32": "max",
    "int64": "sum",
    "uint64": "max",
}
CASES = [
    pytest.param(dtype, op, marks=() if SOON.get(dtype.name, op) == op else pytest.mark.slow, id=f"{dtype.name}-{op}")
    for dtype in DTYPES
    for op in OPS
]


@pytest.mark.parametrize(("dtype", "op"), CASES)
def test_reductions(seated: Seated, dtype: Any, op: str) -> None:
    for seats in both_paths(seated):
        for algorithm in ALGORITHMS:
            for count in COUNTS:

                def all_reduce(array: Part, seats: Any = seats, algorithm: Any = algorithm) -> None:
                    collectives.all_reduce(seats, array, op, algorithm=algorithm)

                def reduce_scatter(array: Part, seats: Any = seats, algorithm: Any = algorithm) -> None:
                    collectives.reduce_scatter(seats, array, op, algorithm=algorithm)

                play(seats, count, dtype, all_reduce, lambda given, rank: reduced(op, given))
                play(
                    seats,
                    RANKS * (count // 2 + 1),
                    dtype,
                    reduce_scatter,
                    lambda given, rank: scattered(op, given, rank),
                )


def scattered(op: str, given: list[np.ndarray], rank: int) -> np.ndarray:
    """Only its own chunk of a rank's replica changes."""
    result, chunk = given[rank].copy(), len(given[rank]) // len(given)
    mine = slice(rank * chunk, (rank + 1) * chunk)
    result[mine] = reduced(op, given)[mine]
    return result


@pytest.mark.parametrize("dtype", [np.dtype(np.uint8), BFLOAT16], ids=str)
def test_copies(seated: Seated, dtype: Any) -> None:
    for seats in both_paths(seated):
        for algorithm in ALGORITHMS:
            for count in COUNTS:
                for root in (0, RANKS - 1):

                    def broadcast(
                        array: Part, seats: Any = seats, root: int = root, algorithm: Any = algorithm
                    ) -> None:
                        collectives.broadcast(seats, array, root, algorithm=algorithm)

                    play(seats, count, dtype, broadcast, lambda given, rank, root=root: given[root])

                def all_gather(array: Part, seats: Any = seats, algorithm: Any = algorithm) -> None:
                    collectives.all_gather(seats, array, algorithm=algorithm)

                play(seats, RANKS * count, dtype, all_gather, lambda given, rank: gathered(given))


def gathered(given: list[np.ndarray]) -> np.ndarray:
    chunk = len(given[0]) // len(given)
    return np.concatenate([given[rank][rank * chunk : (rank + 1) * chunk] for rank in range(len(given))])


@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_teams_of_other_sizes(seated: Seated, ranks: int) -> None:
    dtype = np.dtype(np.float32)
    for seats in both_paths(seated, ranks):
        for count in (1, 1001):
            play(
                seats, count, dtype, lambda a, s=seats: collectives.all_reduce(s, a), lambda g, rank: reduced("sum", g)
            )
            play(
                seats,
                ranks * count,
                dtype,
                lambda a, s=seats: collectives.all_gather(s, a),
                lambda g, rank: gathered(g),
            )


@pytest.mark.parametrize(("ranks", "most"), [(2, 32), (4, 32), (5, 26), (8, 16)])
def test_ranks_that_share_a_device(machine: Any, ranks: int, most: int) -> None:
    """All blocks of all of them have to be resident at once, on 132 multiprocessors."""
    seats = LocalSeats((0,) * ranks, False, room=8 << 20)
    assert engine_of(seats).most_blocks == most
    count = 16 * 32 * 1024  # for 16 blocks of 8 ranks, 32 of fewer
    play(
        seats,
        count,
        np.dtype(np.float32),
        lambda a: collectives.all_reduce(seats, a),
        lambda g, rank: reduced("sum", g),
    )
    seats.close()


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.name)
def test_a_number_wins_over_nan(seated: Seated, dtype: Any, op: str) -> None:
    for seats in both_paths(seated):
        array = seats.array(64, dtype)
        for rank in range(RANKS):
            given = values(rank, 64, dtype)
            given[rank :: RANKS + 1] = np.nan
            given[60:] = np.nan
            array.put(rank, given)
        replicas = [array.get(rank) for rank in range(RANKS)]
        collectives.all_reduce(seats, array, op)
        settle(seats)
        found = array.get(1)
        assert np.isnan(found[60:]).all()
        assert np.array_equal(bits(found[:60]), bits(reduced(op, replicas)[:60]))


def test_a_sum_with_nan_and_infinity(seated: Seated) -> None:
    for seats in both_paths(seated):
        array = seats.array(4, np.float16)
        for rank in range(RANKS):
            array.put(
                rank, np.array([np.nan if rank == 2 else 1, np.inf, np.inf if rank else -np.inf, 40000], np.float16)
            )
        collectives.all_reduce(seats, array)
        settle(seats)
        found = array.get(3)
        assert np.isnan(found[[0, 2]]).all() and (found[[1, 3]] == np.inf).all()


def test_one_rounding_for_all_ranks(seated: Seated) -> None:
    """2048 + 1 + 1 is 2048 when each step is rounded to f16, and 2050 when only the sum is."""
    for seats in both_paths(seated, 3):
        array = seats.array(9, np.float16)
        for rank in range(3):
            array.put(rank, np.full(9, 1 if rank else 2048, np.float16))
        collectives.all_reduce(seats, array)
        settle(seats)
        assert (array.get(0) == 2050).all()


def test_nothing_is_left_of_an_empty_array(seated: Seated) -> None:
    for seats in both_paths(seated):
        array = seats.array(0, np.float32)
        for act in (collectives.all_reduce, collectives.reduce_scatter, collectives.all_gather, collectives.broadcast):
            act(seats, array)
        settle(seats)
