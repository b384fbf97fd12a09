"""Copies of stretches: cp.async, cp.async.bulk, cp.reduce.async.bulk, their multicast forms, st.bulk, st.async."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import straight
from multicasts import ADDRESS, Multicast
from warps import Warp

LANES = np.arange(32, dtype=np.uint64)
RANDOM = np.random.default_rng(8)
FIRST = 0x0000_0001
BARRIER = 4064  # offset of a barrier in shared memory


@pytest.fixture
def warp() -> Warp:
    made = Warp(granules=1)
    made.memory[:8192] = RANDOM.integers(0, 256, 8192)
    made.shared[:2048] = RANDOM.integers(0, 256, 2048)
    return made


def run(warp: Warp, body: str, active: int | None = None, **inputs: object) -> None:
    declare = ".reg .b64 %g, %z; .reg .b32 %s, %n, %m; .reg .b16 %k; .reg .pred %p;"
    values = {f"%{name}": np.broadcast_to(np.array(value, np.uint64), 32) for name, value in inputs.items()}
    straight.run(declare, body, values, [], warp=warp.address, active=active, target="sm_100a")


# ---- cp.async


@pytest.mark.parametrize(("cache", "size"), [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
@pytest.mark.parametrize("places", [LANES, 31 - LANES])
@pytest.mark.parametrize("active", [None, 0xFF00_0F01])
def test_cp_async(warp: Warp, cache: str, size: int, places: np.ndarray, active: int | None) -> None:
    before, source = warp.shared.copy(), warp.memory[: 32 * size].reshape(32, size)
    body = f"cp.async.{cache}.shared.global [%s], [%g], {size}; cp.async.commit_group; cp.async.wait_group 0;"
    run(warp, body, active, s=1024 + LANES * size, g=warp.base + places * size)
    on = np.array([active is None or active >> lane & 1 for lane in range(32)], bool)
    before[1024 : 1024 + 32 * size].reshape(32, size)[on] = source[places.astype(int)][on]
    assert (warp.shared == before).all()


def test_cp_async_fills_with_zeros(warp: Warp) -> None:
    counts = LANES % 17
    body = "cp.async.cg.shared.global [%s], [%g], 16, %n; cp.async.wait_all;"
    addresses = np.where(counts == 0, 16, warp.base + LANES * 16)  # no byte is read: any address will do
    run(warp, body, s=1024 + LANES * 16, g=addresses, n=counts)
    for lane, count in enumerate(counts.astype(int)):
        got = warp.shared[1024 + 16 * lane : 1040 + 16 * lane]
        assert (got[:count] == warp.memory[16 * lane : 16 * lane + count]).all() and not got[count:].any()


def test_cp_async_ignores_its_source(warp: Warp) -> None:
    run(warp, "cp.async.ca.shared.global [%s], [%g], 4, %p;", s=1024 + LANES * 4, g=warp.base + LANES * 4, p=LANES & 1)
    got, source = warp.shared[1024:1152].view(np.uint32), warp.memory[:128].view(np.uint32)
    assert (got == np.where(LANES & 1, 0, source)).all()


# ---- cp.async.bulk


def barrier_over(warp: Warp) -> bool:
    declare, body = ".reg .b32 %s; .reg .pred %p;", "mbarrier.test_wait.parity.shared::cta.b64 %p, [%s], 0;"
    out = straight.run(declare, body, {"%s": LANES * 0 + BARRIER}, ["%p"], warp=warp.address)
    return bool(out["%p"].all())


EXPECT = "mbarrier.init.shared::cta.b64 [%m], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], %n; "


@pytest.mark.parametrize("target", ["shared::cta", "shared::cluster"])
@pytest.mark.parametrize("size", [16, 992])
def test_bulk_into_shared_memory(warp: Warp, target: str, size: int) -> None:
    expected = warp.shared.copy()
    expected[1024 : 1024 + size] = warp.memory[32 : 32 + size]
    body = f"cp.async.bulk.{target}.global.mbarrier::complete_tx::bytes [%s], [%g], %n, [%m];"
    run(warp, EXPECT + body, FIRST, s=1024, g=warp.base + 32, n=size, m=BARRIER)
    assert (warp.shared[:BARRIER] == expected[:BARRIER]).all()
    assert barrier_over(warp)


def test_bulk_of_part_of_what_was_announced_is_not_complete(warp: Warp) -> None:
    body = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 16, [%m];"
    run(warp, EXPECT + body, FIRST, s=1024, g=warp.base, n=32, m=BARRIER)
    assert not barrier_over(warp)
    run(warp, body, FIRST, s=1040, g=warp.base, m=BARRIER)
    assert barrier_over(warp)


def test_bulk_to_blocks_of_the_cluster(warp: Warp) -> None:
    body = (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%g], %n, [%m], %k;"
    )
    run(warp, EXPECT + body, FIRST, s=1024, g=warp.base, n=64, m=BARRIER, k=1)
    assert (warp.shared[1024:1088] == warp.memory[:64]).all() and barrier_over(warp)


def test_bulk_within_shared_memory(warp: Warp) -> None:
    body = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s], [%k], %n, [%m];".replace(
        "%k", "%z"
    )
    expected = warp.shared[64:192].copy()
    run(warp, EXPECT + body, FIRST, s=1024, z=64, n=128, m=BARRIER)
    assert (warp.shared[1024:1152] == expected).all() and barrier_over(warp)


@pytest.mark.parametrize("mask", [None, 0x8421, 0xFFFF])
def test_bulk_into_global_memory(warp: Warp, mask: int | None) -> None:
    expected = warp.memory.copy()
    chosen = np.array([(0xFFFF if mask is None else mask) >> i % 16 & 1 for i in range(256)], bool)
    expected[4096:4352][chosen] = warp.shared[16:272][chosen]
    word, operand = ("", "") if mask is None else (".cp_mask", ", %k")
    body = f"cp.async.bulk.global.shared::cta.bulk_group{word} [%g], [%s], %n{operand};"
    after = "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.prefetch.L2.global [%g], 64;"
    run(warp, body + after, FIRST, s=16, g=warp.base + 4096, n=256, k=mask or 0)
    assert (warp.memory == expected).all()


FLUSHED = {"f32": 2.0**-126}
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
REDUCTIONS = [
    *((op, kind) for op in ("add", "min", "max") for kind in ("u32", "s32", "u64")),
    *((op, kind) for op in ("and", "or", "xor") for kind in ("b32", "b64")),
    ("min", "s64"),
    ("inc", "u32"),
    ("dec", "u32"),
    ("add", "f32"),
    ("add", "f64"),
    *((op, kind) for op in ("add.noftz", "min", "max") for kind in ("f16", "bf16")),
]


def numbers(kind: str, count: int) -> np.ndarray:
    """Answer numbers of a type, some of them subnormal."""
    if kind in FLOATS:
        values = RANDOM.standard_normal(count).astype(FLOATS[kind])
        values[::4] = values[::4] * FLOATS[kind](float(ml_dtypes.finfo(FLOATS[kind]).tiny) / 4)
        return values
    return RANDOM.integers(0, 1 << 62, count, np.uint64).astype(
        {"b": "u", "u": "u", "s": "i"}[kind[0]] + str(int(kind[1:]) // 8)
    )


def combined(op: str, kind: str, a: np.ndarray, b: np.ndarray, *, flushing: bool) -> np.ndarray:
    if op == "add" and flushing:
        a, b = (np.where(np.abs(v) < FLUSHED[kind], np.copysign(np.float32(0), v), v) for v in (a, b))
        total = a + b
        return np.where(np.abs(total) < FLUSHED[kind], np.copysign(np.float32(0), total), total)
    if op == "add" and kind in ("f16", "bf16"):
        return (a.astype(np.float32) + b.astype(np.float32)).astype(a.dtype)
    if op == "inc":
        return np.where(a >= b, 0, a + 1).astype(a.dtype)
    if op == "dec":
        return np.where((a == 0) | (a > b), b, a - 1).astype(a.dtype)
    functions = {"add": np.add, "min": np.minimum, "max": np.maximum}
    functions |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return functions[op](a, b)


def stretch(kind: str) -> tuple[np.ndarray, np.ndarray]:
    size = numbers(kind, 1).itemsize
    return numbers(kind, 512 // size), numbers(kind, 512 // size)


@pytest.mark.parametrize(("op", "kind"), REDUCTIONS)
def test_bulk_reduction_into_global_memory(warp: Warp, op: str, kind: str) -> None:
    held, values = stretch(kind)
    warp.memory[64:576] = held.view(np.uint8)
    warp.shared[:512] = values.view(np.uint8)
    run(
        warp,
        f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{kind} [%g], [%s], %n;",
        FIRST,
        g=warp.base + 64,
        s=0,
        n=512,
    )
    expected = combined(op.split(".")[0], kind, held, values, flushing=kind == "f32")
    assert (warp.memory[64:576] == expected.view(np.uint8)).all()


@pytest.mark.parametrize(
    ("op", "kind"), [("add", "u32"), ("inc", "u32"), ("dec", "u32"), ("max", "s32"), ("xor", "b32"), ("add", "u64")]
)
def test_bulk_reduction_into_shared_memory(warp: Warp, op: str, kind: str) -> None:
    held, values = stretch(kind)
    warp.shared[1024:1536] = held.view(np.uint8)
    warp.shared[:512] = values.view(np.uint8)
    way = "shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
    body = f"cp.reduce.async.bulk.{way}.{op}.{kind} [%s], [%z], %n, [%m];"
    run(warp, EXPECT + body, FIRST, s=1024, z=0, n=512, m=BARRIER)
    assert (warp.shared[1024:1536] == combined(op, kind, held, values, flushing=False).view(np.uint8)).all()
    assert barrier_over(warp)


@pytest.mark.parametrize("mask", [None, 0x00F1])
def test_bulk_into_every_replica(warp: Warp, mask: int | None) -> None:
    multicast = Multicast(warp, 3)
    multicast.bind([(0, 4096), (4096, multicast.extent)])  # the copy goes across
    chosen = np.array([(0xFFFF if mask is None else mask) >> i % 16 & 1 for i in range(512)], bool)
    expected = np.where(chosen, warp.shared[:512], 0)
    word, operand = ("", "") if mask is None else (".cp_mask", ", %k")
    body = f"multimem.cp.async.bulk.global.shared::cta.bulk_group{word} [%g], [%s], %n{operand};"
    run(warp, body, FIRST, g=ADDRESS + 3968, s=0, n=512, k=mask or 0)
    for row in multicast.rows:
        assert (row[3968:4480] == expected).all() and not row[:3968].any() and not row[4480:].any()


@pytest.mark.parametrize(("op", "kind"), REDUCTIONS)
def test_bulk_reduction_into_every_replica(warp: Warp, op: str, kind: str) -> None:
    multicast = Multicast(warp, 3)
    rows, (_, values) = [stretch(kind)[0] for _ in range(3)], stretch(kind)
    for row, held in zip(multicast.rows, rows, strict=True):
        row[:512] = held.view(np.uint8)
    warp.shared[:512] = values.view(np.uint8)
    run(
        warp,
        f"multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{kind} [%g], [%s], %n;",
        FIRST,
        g=ADDRESS,
        s=0,
        n=512,
    )
    for row, held in zip(multicast.rows, rows, strict=True):
        expected = combined(op.split(".")[0], kind, held, values, flushing=kind == "f32")
        assert (row[:512] == expected.view(np.uint8)).all()


# ---- st.bulk, st.async, red.async


def test_st_bulk_writes_zeros(warp: Warp) -> None:
    expected = warp.shared.copy()
    expected[64:264] = 0
    run(warp, "st.bulk.weak.shared::cta [%z], 200, 0;", FIRST, z=64)
    assert (warp.shared == expected).all()


def test_st_async_stores_and_counts(warp: Warp) -> None:
    body = "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%s], {%n, %n, %n, %n}, [%m];"
    run(warp, EXPECT + body, FIRST, s=1024, n=16, m=BARRIER)
    assert warp.shared[1024:1040].view(np.uint32).tolist() == [16] * 4
    assert barrier_over(warp)


def test_red_async_combines_and_counts(warp: Warp) -> None:
    held = int(warp.shared[1024:1028].view(np.uint32)[0])
    body = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%s], %n, [%m];"
    run(warp, EXPECT + body, FIRST, s=1024, n=4, m=BARRIER)
    assert int(warp.shared[1024:1028].view(np.uint32)[0]) == (held + 4) % (1 << 32)
    assert barrier_over(warp)


# ---- other blocks


@pytest.mark.parametrize("uniform", [False, True])
def test_mapa_of_the_block_itself(warp: Warp, uniform: bool) -> None:
    declare = ".reg .b64 %g, %h; .reg .b32 %s, %t, %n, %x, %y, %v, %w;"
    body = """mapa.shared::cluster.u32 %t, %s, %n; getctarank.shared::cluster.u32 %x, %t;
              getctarank.shared::cluster.u32 %y, %s; mapa.u64 %h, %g, %n; getctarank.u64 %w, %g;
              ld.shared::cluster.u32 %v, [%t];"""
    inputs = {"%s": 4 * LANES, "%n": 0 * LANES, "%g": warp.shared.ctypes.data + 4 * LANES}
    outputs = ["%t", "%x", "%y", "%h", "%w", "%v"]
    out = straight.run(declare, body, inputs, outputs, warp=warp.address, uniform=uniform)
    index = LANES * (0 if uniform else 1)
    assert (out["%t"] == (1 << 24) + 4 * index).all()
    assert not out["%x"].any() and not out["%y"].any() and not out["%w"].any()
    assert (out["%h"] == warp.shared.ctypes.data + 4 * index).all()
    assert (out["%v"] == warp.shared[:128].view(np.uint32)[index.astype(int)]).all()


HINTS = [
    "fence.acq_rel.gpu;",
    "fence.sc.sys;",
    "membar.gl;",
    "fence.proxy.alias;",
    "fence.proxy.async.shared::cta;",
    "fence.mbarrier_init.release.cluster;",
    "prefetch.global.L2 [%g];",
    "prefetchu.L1 [%g];",
    "applypriority.global.L2::evict_normal [%g], 128;",
    "discard.global.L2 [%g], 128;",
    "createpolicy.fractional.L2::evict_last.b64 %z, 0f3F800000; ld.global.L2::cache_hint.u32 %n, [%g], %z;",
]


@pytest.mark.parametrize("hint", HINTS)
def test_hints_and_fences_leave_memory_alone(warp: Warp, hint: str) -> None:
    before = warp.memory.copy()
    run(warp, hint, g=warp.base + LANES * 128)
    assert (warp.memory == before).all()
