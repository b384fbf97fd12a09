"""The device barrier: order of memory, collectives in a row, what other work in the stream sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collective_models import BFLOAT16, bits, reduced, values
from collective_seats import LocalSeats, Part, Seated

from cumulticast import driver
from cumulticast.team import collectives

RANKS = 3
UINT32 = np.dtype(np.uint32)


@pytest.fixture(params=[True, False], ids=["multicast", "peers"])
def seats(seated: Seated, request: pytest.FixtureRequest) -> LocalSeats:
    return seated(RANKS, multicast=request.param, room=24 << 20)


class Recorder:
    """Keeps what each replica holds after each step, by copies in the streams."""

    def __init__(self, seats: LocalSeats) -> None:
        self.seats = seats
        self.kept: list[tuple[Part, list[np.ndarray]]] = []

    def keep(self, array: Part, want: list[np.ndarray]) -> None:
        copy = self.seats.array(array.shape, array.dtype)
        for rank, stream in enumerate(self.seats.streams()):
            driver.memcpy_dtod_async_v2(copy.peer(rank), array.peer(rank), array.nbytes, stream)
        self.kept.append((copy, want))

    def compare(self) -> None:
        self.seats.synchronize()
        collectives.check(self.seats)
        for step, (copy, want) in enumerate(self.kept):
            for rank in range(RANKS):
                assert np.array_equal(bits(copy.get(rank)), bits(want[rank])), f"step {step}, rank {rank}"


def rounds(seats: LocalSeats, dtype: Any, count: int, algorithm: Any, times: int) -> None:
    """Carry out all collectives again and again; nothing but the streams keeps them and the copies apart."""
    array, recorder = seats.array(count, dtype), Recorder(seats)
    now = [values(rank, count, dtype) for rank in range(RANKS)]
    for rank in range(RANKS):
        array.put(rank, now[rank])
    chunk = count // RANKS
    for turn in range(times):
        collectives.reduce_scatter(seats, array, "sum", algorithm=algorithm)
        total = reduced("sum", now)
        now = [
            np.concatenate([now[r][: r * chunk], total[r * chunk :][:chunk], now[r][(r + 1) * chunk :]])
            for r in range(RANKS)
        ]
        recorder.keep(array, now)
        collectives.broadcast(seats, array, turn % RANKS, algorithm=algorithm)
        now = [now[turn % RANKS]] * RANKS
        recorder.keep(array, now)
        collectives.all_reduce(seats, array, "sum", algorithm=algorithm)
        now = [reduced("sum", now)] * RANKS
        recorder.keep(array, now)
        collectives.barrier(seats)
        for rank, stream in enumerate(seats.streams()):  # chunk r of rank r is new, for the others to see
            driver.memset_d8_async(
                array.peer(rank) + rank * chunk * dtype.itemsize, 16 * turn + rank, chunk * dtype.itemsize, stream
            )
        collectives.all_gather(seats, array, algorithm=algorithm)
        told = [np.full(chunk * dtype.itemsize, 16 * turn + rank, np.uint8).view(dtype) for rank in range(RANKS)]
        now = [np.concatenate(told)] * RANKS
        recorder.keep(array, now)
    recorder.compare()


@pytest.mark.parametrize("algorithm", ["one_shot", "two_shot"])
def test_nothing_overtakes(seats: LocalSeats, algorithm: str) -> None:
    rounds(seats, UINT32, 3 * 40_000, algorithm, 8)


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.cuda_machine(memory=f"adversarial:{n}")) for n in range(3)]
)
@pytest.mark.parametrize("algorithm", ["one_shot", "two_shot"])
def test_no_fence_is_missing(seats: LocalSeats, cuda_machine: Any, algorithm: str, seed: int) -> None:
    """Memory shows kernels what the PTX model allows: stores come late, and aliases are stale without a fence."""
    rounds(seats, BFLOAT16, 999, algorithm, 2)
    assert [f for f in cuda_machine.findings if f.rule.startswith("MC13")] == []


def test_collectives_do_not_begin_before_all_have_come(seats: LocalSeats) -> None:
    """Rank 2 comes last: until then the others wait, and its replica may still change."""
    array = seats.array(100, np.float32)
    for rank in range(RANKS):
        array.put(rank, np.full(100, rank, np.float32))
    for algorithm in ("one_shot", "two_shot"):
        first, last = seats.only(0, 1), seats.only(2)
        collectives.all_reduce(first, array, "max", algorithm=algorithm)
        with pytest.raises(driver.NotReadyError):
            driver.stream_query(first.streams()[0])
        driver.memset_d32_async(array.peer(2), 0x40E00000, 100, last.streams()[0])  # 7.0
        collectives.all_reduce(last, array, "max", algorithm=algorithm)
        first.synchronize(), last.synchronize()
        assert all((array.get(rank) == 7).all() for rank in range(RANKS))


def test_blocks_that_were_not_used_for_long_are_in_step(seats: LocalSeats) -> None:
    """A large collective, more than 2³² small ones as far as the counters know, and a large one."""
    array = seats.array(100_000, UINT32)
    one = np.ones(100_000, np.uint32)
    for before in (0, (1 << 32) - 3, (1 << 33) + 5):
        for rank in range(RANKS):
            array.put(rank, one)
            driver.memcpy_htod_v2(seats.pad.peer(rank), np.uint64([before]).ctypes.data, 8) if before else None
        for _ in range(4):
            collectives.all_reduce(seats, array, algorithm="two_shot")
            collectives.barrier(seats)
        seats.synchronize()
        collectives.check(seats)
        assert all((array.get(rank) == RANKS**4).all() for rank in range(RANKS))


def test_who_is_ahead_spoils_nothing(seats: LocalSeats) -> None:
    """One-shot upon one-shot: the scratch is written again while others may still read what was there."""
    array, recorder = seats.array(120_000, UINT32), Recorder(seats)
    now = [values(rank, 120_000, UINT32) for rank in range(RANKS)]
    for rank in range(RANKS):
        array.put(rank, now[rank])
    for _ in range(12):
        collectives.all_reduce(seats, array, "sum", algorithm="one_shot")
        now = [reduced("sum", now)] * RANKS
    recorder.keep(array, now)
    recorder.compare()
