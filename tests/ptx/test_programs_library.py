"""Kernels that use NVIDIA's C++ library as it is: CUB and libcu++."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_programs import on_one_at_least, program, well

RNG = np.random.default_rng(17)
I32 = np.int32


@pytest.mark.slow  # to compile
@on_one_at_least
def test_cub_sorts_a_block(architecture: str) -> None:
    keys, values = RNG.integers(0, 2000, 512, np.uint32), np.arange(512, dtype=I32)
    order = np.argsort(keys, kind="stable")
    want = keys[order]
    well(program("cub", architecture)("sort_block", 1, 128, [keys, values]))
    assert np.array_equal(keys, want) and np.array_equal(values, order)


@pytest.mark.slow  # to compile
@on_one_at_least
def test_cub_scans_and_reduces(architecture: str) -> None:
    a, out, most = RNG.integers(-99, 99, 96, I32), np.zeros(96, I32), np.zeros(13, I32)
    well(program("cub", architecture)("scan_and_reduce", 1, 96, [a, out, most]))
    assert np.array_equal(out, np.cumsum(a) - a + a.sum())
    assert most.tolist() == [a.max(), *a.reshape(12, 8).sum(1)]


@on_one_at_least
def test_barriers_of_the_library(architecture: str) -> None:
    out, rounds = np.zeros(64, I32), 9
    well(program("library", architecture)("barriers", 1, 64, [out, I32(rounds)]))
    want = np.zeros(64, I32)
    for turn in range(rounds):
        want = (want ^ turn) + 63 - np.arange(64, dtype=I32) + turn
    assert np.array_equal(out, want)


@on_one_at_least
def test_semaphores(architecture: str) -> None:
    inside, most = np.zeros(1, I32), np.zeros(1, I32)
    well(program("library", architecture)("semaphores", 3, 40, [inside, most]))
    assert inside[0] == 0 and 1 <= most[0] <= 3


@on_one_at_least
def test_waiting_for_an_atomic_to_change(architecture: str) -> None:
    out = np.zeros(128, I32)
    well(program("library", architecture)("waits_and_notes", 4, 32, [np.zeros(1, I32), out]))
    assert out.tolist() == np.cumsum(np.arange(128)).tolist()
