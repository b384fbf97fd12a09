"""Products of matrices in CUDA C++ with inline mma, ldmatrix and stmatrix, as NVRTC compiles them, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from grid import Grid
from test_parser_nvrtc import compiled

NVRTC = Path(__file__).with_name("data") / "nvrtc"
SHAPES = [(64, 64, 32), (128, 192, 96)]


@pytest.fixture(scope="module", params=["80", "90"])
def gemm(request: pytest.FixtureRequest) -> Grid:
    """The kept text of one architecture."""
    return Grid((NVRTC / f"gemm-{request.param}.ptx").read_text())


def halves(grid: Grid, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    out = np.zeros((m, n), np.float16)
    fault = grid("gemm", [n // 64, m // 64], 128, [a, b, out, np.int32(n), np.int32(k)])
    assert fault.status == 0, fault
    return out


def integers(grid: Grid, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (m, k), n = a.shape, b.shape[0]
    out = np.zeros((m, n), np.int32)
    fault = grid("gemm_s8", [n // 8, m // 16], 32, [a, b, out, np.int32(n), np.int32(k)])
    assert fault.status == 0, fault
    return out


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_whole_numbers(gemm: Grid, m: int, n: int, k: int) -> None:
    random = np.random.RandomState(1)
    a, b = random.randint(-4, 5, (m, k)).astype(np.float16), random.randint(-4, 5, (k, n)).astype(np.float16)
    assert np.array_equal(halves(gemm, a, b), (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16))


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_random_numbers(gemm: Grid, m: int, n: int, k: int) -> None:
    random = np.random.RandomState(2)
    a, b = random.randn(m, k).astype(np.float16), random.randn(k, n).astype(np.float16)
    exact, size = (
        a.astype(np.float64) @ b.astype(np.float64),
        np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)),
    )
    allowed = (k + k // 16) * 2.0**-24 * size + np.maximum(np.abs(exact) * 2.0**-11, 2.0**-25)
    assert (np.abs(halves(gemm, a, b) - exact) <= allowed).all()


def test_signed_bytes(gemm: Grid) -> None:
    random = np.random.RandomState(3)
    a, b = (random.randint(-128, 128, (rows, 256)).astype(np.int8) for rows in (64, 32))
    assert np.array_equal(integers(gemm, a, b), a.astype(np.int64) @ b.T.astype(np.int64))


def test_a_fresh_text_gives_the_same_bits(gemm: Grid) -> None:
    fresh = Grid(compiled((NVRTC / "gemm.cu").read_text(), gemm.module.target.removeprefix("sm_")))
    random = np.random.RandomState(4)
    a, b = random.randn(64, 64).astype(np.float16), random.randn(64, 64).astype(np.float16)
    assert np.array_equal(halves(fresh, a, b).view(np.uint16), halves(gemm, a, b).view(np.uint16))
