"""Textbook kernels, as NVRTC compiles them: element by element, reductions, scans, sorting, linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_programs import on_one_at_least, program, well

RNG = np.random.default_rng(5)


def large(value: object) -> object:
    """Mark a size that takes long."""
    return pytest.param(value, marks=pytest.mark.slow)


def randoms(n: int) -> np.ndarray:
    return RNG.standard_normal(n).astype(np.float32)


@on_one_at_least
@pytest.mark.parametrize(("n", "block"), [(1, 1), (1000, 33), (4096, 256), (5000, 1024)])
def test_vectors_are_added(n: int, block: int, architecture: str) -> None:
    a, b, c = randoms(n), randoms(n), np.zeros(n + 1, np.float32)
    well(program("parallel", architecture)("add_vectors", -(-n // block), block, [a, b, c, np.int32(n)]))
    assert np.array_equal(c[:n], a + b) and c[n] == 0


@on_one_at_least
def test_grid_stride_with_vectors_of_four(architecture: str) -> None:
    x, y = randoms(4 * 3001), randoms(4 * 3001)
    want = np.array([np.float64(np.float32(2.5)) * a + b for a, b in zip(x, y, strict=True)]).astype(np.float32)
    well(program("parallel", architecture)("saxpy", 5, 96, [np.float32(2.5), x, y, np.int32(3001)]))
    assert np.array_equal(y, want), "compiled to a fused multiply-add, which rounds once"


@on_one_at_least
@pytest.mark.parametrize("grid", [(1,), (3, 2, 2), (100_000,), (2, 3, 65)])
def test_every_block_runs_once(grid: tuple[int, ...], architecture: str) -> None:
    counter = np.zeros(1, np.uint32)
    well(program("parallel", architecture)("count_blocks", grid, 40, [counter]))
    assert counter[0] == np.prod(grid)


@on_one_at_least
@pytest.mark.parametrize("block", [(7, 5, 3), (1, 1, 33), (31,), (33, 2), (2, 2, 64), (1,), (1024,)])
def test_threads_know_where_they_are(block: tuple[int, ...], architecture: str) -> None:
    sides, grid = (*block, 1, 1)[:3], (3, 2, 2)
    size = int(np.prod(sides))
    out = np.zeros((12, size, 8), np.uint32)
    well(program("parallel", architecture)("coordinates", grid, block, [out]))
    z, y, x = np.unravel_index(np.arange(size), sides[::-1])
    assert np.array_equal(out[:, :, :4], np.broadcast_to(np.stack([x, y, z, np.arange(size)], 1), (12, size, 4)))
    z, y, x = np.unravel_index(np.arange(12), grid[::-1])
    assert np.array_equal(out[:, 0, 4:7], np.stack([x, y, z], 1)) and (out[..., 7] == size).all()


@on_one_at_least
@pytest.mark.parametrize(("n", "grid", "block"), [(1, 1, 1), (10_000, 3, 97), (4096, 2, 256)])
def test_sum_in_shared_memory(n: int, grid: int, block: int, architecture: str) -> None:
    run = program("parallel", architecture)
    a, out = RNG.integers(0, 1000, n, np.int32), np.zeros(grid, np.uint64)
    well(run("sum_shared", grid, block, [a, out, np.int32(n)], dynamic=4 * block))
    assert out.sum() == a.sum()


@on_one_at_least
def test_sum_by_shuffles_has_the_bits_of_its_order(architecture: str) -> None:
    a, out = randoms(10_000), np.zeros(1, np.float32)
    well(program("parallel", architecture)("sum_shuffled", 1, 256, [a, out, np.int32(a.size)]))
    threads = np.zeros(256, np.float32)
    for at in range(0, a.size, 256):
        part = a[at : at + 256]
        threads[: part.size] += part
    warps = np.zeros(32, np.float32)
    for warp, lanes in enumerate(threads.reshape(8, 32)):
        for step in (16, 8, 4, 2, 1):
            lanes = lanes + lanes[np.arange(32) ^ step]
        warps[warp] = lanes[0]
    for step in (16, 8, 4, 2, 1):
        warps = warps + np.concatenate([warps[step:], warps[32 - step :]])
    assert out[0] == warps[0]


@on_one_at_least
@pytest.mark.parametrize("block", [32, 256, 1024])
def test_scan_of_a_block(block: int, architecture: str) -> None:
    a, out = RNG.integers(-99, 99, block, np.int32), np.zeros(block, np.int32)
    well(program("parallel", architecture)("scan_one_block", 1, block, [a, out]))
    assert np.array_equal(out, np.cumsum(a))


@on_one_at_least
@pytest.mark.parametrize("blocks", [1, 7, 300, large(20_000)])
def test_scan_that_looks_back_at_other_blocks(blocks: int, architecture: str) -> None:
    n = blocks * 64 - 5
    a, out = RNG.integers(-99, 99, n, np.int32), np.zeros(n, np.int32)
    state = np.zeros(blocks, np.uint64)
    args = [a, out, np.int32(n), np.zeros(1, np.uint32), state]
    well(program("parallel", architecture)("scan_looking_back", blocks, 64, args))
    assert np.array_equal(out, np.cumsum(a))


@on_one_at_least
@pytest.mark.parametrize(("width", "height"), [(32, 32), (100, 70), (1, 65)])
def test_transpose(width: int, height: int, architecture: str) -> None:
    a = randoms(width * height).reshape(height, width)
    out = np.zeros((width, height), np.float32)
    grid = (-(-width // 32), -(-height // 32))
    well(program("parallel", architecture)("transpose", grid, (32, 8), [a, out, np.int32(width), np.int32(height)]))
    assert np.array_equal(out, a.T)


@on_one_at_least
def test_histogram(architecture: str) -> None:
    a = (RNG.standard_normal(20_000) * 30 + 128).clip(0, 255).astype(np.uint8)
    out = np.zeros(256, np.uint32)
    well(program("parallel", architecture)("histogram", 4, 100, [a, out, np.int32(a.size)]))
    assert np.array_equal(out, np.bincount(a, minlength=256))


@on_one_at_least
def test_stencil_with_weights_in_constant_memory(architecture: str) -> None:
    a, out = RNG.integers(-50, 50, 1000).astype(np.float32), np.zeros(1000, np.float32)
    well(program("parallel", architecture)("stencil", 16, 64, [a, out, np.int32(1000)], dynamic=4 * 70))
    assert np.array_equal(out, np.convolve(a, [1, 2, 4, 8, 4, 2, 1], "same"))


@on_one_at_least
def test_softmax(architecture: str) -> None:
    a = randoms(6 * 333).reshape(6, 333) * np.float32(9)
    out = np.zeros_like(a)
    well(program("parallel", architecture)("softmax", 6, 128, [a, out, np.int32(333)]))
    want = np.exp((a - a.max(1, keepdims=True)).astype(np.float64))
    assert np.allclose(out, want / want.sum(1, keepdims=True), rtol=2e-6, atol=1e-37)


@on_one_at_least
@pytest.mark.parametrize("shape", [(16, 16, 16), (37, 50, 41), large((400, 300, 500))])
def test_matrix_product_has_the_bits_of_its_fused_steps(shape: tuple[int, int, int], architecture: str) -> None:
    m, n, k = shape
    a, b = RNG.integers(-9, 9, (m, k)).astype(np.float32), randoms(k * n).reshape(k, n)
    c = np.zeros((m, n), np.float32)
    grid = (-(-n // 16), -(-m // 16))
    well(program("parallel", architecture)("multiply", grid, (16, 16), [a, b, c, *map(np.int32, shape)]))
    want = np.zeros((m, n), np.float32)
    for i in range(
        k
    ):  # a product of these has 28 bits at most: double precision holds each step exactly, nearly always
        want = (a[:, i : i + 1].astype(np.float64) * b[i].astype(np.float64) + want).astype(np.float32)
    assert np.array_equal(c, want)


@on_one_at_least
@pytest.mark.parametrize("n", [2, 64, 1024])
def test_bitonic_sort(n: int, architecture: str) -> None:
    a = RNG.integers(-1000, 1000, n, np.int32)
    want = np.sort(a)
    well(program("parallel", architecture)("sort_bitonic", 1, n, [a], dynamic=4 * n))
    assert np.array_equal(a, want)


@on_one_at_least
@pytest.mark.parametrize("n", [1, 1000, 2048, large(300_000)])
def test_radix_sort(n: int, architecture: str) -> None:
    a = RNG.integers(0, 1 << 32, n, np.uint32)
    want = np.sort(a)
    well(program("parallel", architecture)("sort_radix", 1, 256, [a, np.zeros_like(a), np.int32(n)]))
    assert np.array_equal(a, want)


@on_one_at_least
@pytest.mark.parametrize("side", [20, large(100)])
def test_conjugate_gradients(side: int, architecture: str) -> None:
    b, rounds = RNG.standard_normal(side * side), np.zeros(1, np.int32)
    x, r, p, q = (np.zeros_like(b) for _ in range(4))
    run = program("parallel", architecture)
    well(run("conjugate_gradients", 1, 128, [b, x, r, p, q, np.int32(side), rounds]))
    around = np.pad(x.reshape(side, side), 1)
    neighbours = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
    assert np.allclose(4 * x - neighbours.ravel(), b, atol=1e-8) and 10 < rounds[0] < 10 * side
