"""Barriers of blocks, named ones, clusters, cooperative groups, pipelines, and what ends a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_programs import on_one_at_least, program, well

RNG = np.random.default_rng(11)
U32, I32 = np.uint32, np.int32


@on_one_at_least
@pytest.mark.parametrize("block", [32, 77, 256])
def test_barriers_in_both_arms(block: int, architecture: str) -> None:
    out = np.zeros(block, I32)
    well(program("barriers", architecture)("in_both_arms", 1, block, [out], dynamic=4 * block))
    assert out.tolist() == [6 * (block - 1 - t) * (-1 if t % 3 else 1) for t in range(block)]


@on_one_at_least
def test_threads_that_returned_are_not_waited_for(architecture: str) -> None:
    out = np.zeros(100, I32)
    well(program("barriers", architecture)("some_return", 1, 100, [out]))
    leaving = [(t * 7 + 3) % 11 for t in range(100)]
    sums = np.cumsum([sum(at > turn for at in leaving) for turn in range(5)]).tolist()
    assert out.tolist() == [0 if at == 0 else sums[min(at, 5) - 1] for at in leaving]


@on_one_at_least
def test_barriers_that_count(architecture: str) -> None:
    out = np.zeros(99, U32)
    well(program("barriers", architecture)("counting", 1, 99, [out]))
    want = 0
    for turn in range(1, 6):
        want = want * 100 + len(range(0, 99, turn)) + 50 * (100 - turn >= 99) + 70 * (17 * turn < 99)
    assert (out == want % 2**32).all()


@on_one_at_least
@pytest.mark.parametrize("rounds", [1, 2, 25])
def test_producer_and_consumers_with_named_barriers(rounds: int, architecture: str) -> None:
    out = np.zeros(96, I32)
    well(program("barriers", architecture)("makers_and_users", 1, 128, [out, I32(rounds)]))
    total = 1000 * sum(range(rounds))
    assert out.tolist() == [total + rounds * ((t + t // 32 + 1) % 32) for t in range(96)]


@on_one_at_least
@pytest.mark.parametrize("block", [7, 40, 95])
def test_barriers_count_whole_warps(block: int, architecture: str) -> None:
    out = np.zeros(block, I32)
    well(program("barriers", architecture)("parts_of_warps", 1, block, [out], dynamic=4 * block))
    other = [t if block - 1 - t == 3 else block - 1 - t for t in range(block)]
    assert out.tolist() == [0 if t == 3 else other[t] + 2 for t in range(block)]


@on_one_at_least
def test_named_barriers_do_not_mix_their_sums(architecture: str) -> None:
    out = np.zeros(256, U32)
    well(program("barriers", architecture)("pairs_apart", 1, 256, [out, I32(40)]))
    for pair in range(4):
        want = 0
        for turn in range(40 * (pair + 1)):
            want = (want * 3 + min(turn % 50 + pair, 64)) % 2**32
        assert (out[64 * pair : 64 * pair + 64] == want).all(), pair


# ---- cooperative groups


@on_one_at_least
def test_tiles(architecture: str) -> None:
    n = 64
    out = np.zeros((4, n), I32)
    well(program("groups", architecture)("tiles", 1, n, [out]))
    t = np.arange(n)
    assert np.array_equal(out[0], t.reshape(-1, 8).sum(1).repeat(8))
    assert np.array_equal(out[1], (t ^ 5).reshape(-1, 4).min(1).repeat(4))
    assert np.array_equal(out[2], np.cumsum(t.reshape(-1, 16), 1).ravel())
    assert np.array_equal(out[3], t // 16 * 16 + (t + 3) % 16 + (t // 8 == 1) + 2 * (t % 8 // 4))


@on_one_at_least
def test_coalesced_threads(architecture: str) -> None:
    out = np.zeros(60, I32)
    well(program("groups", architecture)("coalesced", 1, 60, [out]))
    for first in (0, 32):
        lanes = range(first, min(first + 32, 60))
        here = [t for t in lanes if t % 5 < 2]
        inner = sum(t for t in lanes if t % 5 == 1)
        for t in lanes:
            want = -1
            if t in here:
                want = len(here) * 1000 + here.index(t) * 10 + (t == here[0]) + (100000 * inner if t % 5 else 0)
            assert out[t] == want, t


@on_one_at_least
def test_labelled_and_binary_partitions(architecture: str) -> None:
    out = np.zeros((2, 64), I32)
    well(program("groups", architecture)("labelled", 1, 64, [out]))
    for t in range(64):
        warp = range(t // 32 * 32, t // 32 * 32 + 32)
        group = [o for o in warp if o * o % 5 == t * t % 5]
        half = [o for o in warp if (o % 3 == 0) == (t % 3 == 0)]
        assert out[:, t].tolist() == [sum(group) * 100 + len(group), max(half) * 100 + half.index(t)], t


# ---- clusters


@on_one_at_least
@pytest.mark.parametrize("blocks", [1, 2, 8])
def test_histogram_in_the_shared_memory_of_a_cluster(blocks: int, architecture: str) -> None:
    a, out = RNG.integers(0, 64, 3000, I32), np.zeros(64, I32)
    run = program("groups", architecture)
    well(run("cluster_histogram", 8, 96, [a, out, I32(a.size)], dynamic=256, cluster=(blocks, 1, 1)))
    assert np.array_equal(out, np.bincount(a, minlength=64))


@on_one_at_least
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_values_go_round_a_cluster(blocks: int, architecture: str) -> None:
    out = np.zeros((8, 32), U32)
    well(program("groups", architecture)("cluster_ring", 8, 32, [out], cluster=(blocks, 1, 1)))
    value = np.arange(8, dtype=U32)[:, None] * 100 + np.arange(32, dtype=U32)
    for turn in range(5):
        sent = np.roll(value.reshape(-1, blocks, 32), 1, 1).reshape(8, 32)
        value = (value ^ U32(turn)) + sent[:, ::-1]
    assert np.array_equal(out, value)


# ---- pipelines


@on_one_at_least
@pytest.mark.parametrize("tiles", [1, 2, 9])
def test_pipeline_of_asynchronous_copies(tiles: int, architecture: str) -> None:
    a = RNG.standard_normal((tiles, 64, 4)).astype(np.float32)
    out = np.zeros_like(a)
    well(program("barriers", architecture)("pipeline", 1, 64, [a, out, I32(tiles)]))
    assert np.array_equal(out, a[:, ::-1, ::-1])


@on_one_at_least
def test_phases_of_mbarriers(architecture: str) -> None:
    out, rounds = np.zeros(64, I32), 7
    well(program("barriers", architecture)("phases", 1, 128, [out, I32(rounds)]))
    assert out.tolist() == [sum(((63 - t) * 10 + turn) * (turn + 1) for turn in range(rounds)) for t in range(64)]


# ---- what ends a kernel


@on_one_at_least
def test_assert(architecture: str, capfd: pytest.CaptureFixture[str]) -> None:
    run = program("barriers", architecture)
    well(run("asserts", 1, 40, [np.arange(40, dtype=I32)]))
    fault = run("asserts", 2, 41, [np.arange(41, dtype=I32)])
    assert fault.status == 710 and fault.thread == (40, 0, 0)
    assert "too large" in "".join(capfd.readouterr())


@on_one_at_least
def test_trap(architecture: str) -> None:
    run = program("barriers", architecture)
    well(run("traps", 1, 64, [np.full(64, 6, I32)]))
    a = np.zeros(64, I32)
    a[50] = 7
    fault = run("traps", 1, 64, [a])
    assert (fault.status, fault.thread) == (719, (50, 0, 0))


@on_one_at_least
def test_printf(architecture: str, capfd: pytest.CaptureFixture[str]) -> None:
    name = np.frombuffer(b"thread\0\0", np.uint8).copy()
    well(program("barriers", architecture)("prints", 1, 40, [name, I32(40)]))
    want = [f"thread {t} of 40: {t / 4:5.2f} {chr(97 + t % 26)} {1 << t:x} %" for t in (3, 19, 35)]
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(want)


@on_one_at_least
@pytest.mark.parametrize("name", ["never_ends", "barrier_without_all"])
def test_kernels_that_never_end_can_be_stopped(name: str, architecture: str) -> None:
    run, room = program("barriers", architecture), np.zeros(96, I32)
    assert run(name, 2, 64, [room], limit=0.3).status == 702
    if name == "never_ends":
        well(run(name, 2, 64, [np.ones(1, I32)]))
    else:
        assert room.sum() == 32, "the other warp of each block went on"
