"""Kernels in f16 and bf16, bit by bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from cuda_programs import on_one_at_least, program, well

RNG = np.random.default_rng(13)
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
kinds = pytest.mark.parametrize("name", KINDS)


@on_one_at_least
@kinds
@pytest.mark.parametrize("shape", [(16, 16, 16), (37, 21, 50)])
def test_matrix_product(name: str, shape: tuple[int, int, int], architecture: str) -> None:
    m, n, k = shape
    a, b = (RNG.standard_normal(s).astype(KINDS[name]) for s in ((m, k), (k, n)))
    c = np.zeros((m, n), KINDS[name])
    grid = (-(-n // 16), -(-m // 16))
    args = [a.view(np.uint16), b.view(np.uint16), c.view(np.uint16), *map(np.int32, shape)]
    well(program("half", architecture)(f"multiply_{name}", grid, (16, 16), args))
    want = np.zeros((m, n), np.float32)
    for i in range(k):  # products of two halves are exact in double precision, and so is nearly every sum with them
        want = (a[:, i : i + 1].astype(np.float64) * b[i].astype(np.float64) + want).astype(np.float32)
    assert c.tobytes() == want.astype(KINDS[name]).tobytes()


@on_one_at_least
@kinds
def test_fused_sums_of_two_at_a_time(name: str, architecture: str) -> None:
    kind, n = KINDS[name], 12
    a, b = (RNG.standard_normal((96, n, 2)).astype(kind) for _ in range(2))
    out = np.zeros((96, 2), kind)
    args = [a.view(np.uint16), b.view(np.uint16), out.view(np.uint16), np.int32(n)]
    well(program("half", architecture)(f"dots_{name}", 2, 48, args))
    want = np.zeros((96, 2), kind)
    for i in range(n):
        want = (a[:, i].astype(np.float64) * b[:, i].astype(np.float64) + want.astype(np.float64)).astype(kind)
    assert out.tobytes() == np.maximum(want, kind(-4)).tobytes()
