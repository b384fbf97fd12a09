"""Writes are late until they are released to a scope that holds the reader; what reads too early is named."""

from __future__ import annotations

import numpy as np
import pytest
from adversaries import CTA, GPU, RACE, RELEASE, SEEDS, WARP, Found, kernel, line_of, over_seeds, run, values

MESSAGE = """setp.ne.u32 %q, %t, 0; @%q bra done;
setp.ne.u32 %q, %b, 0; @%q bra read;
st.global.u32 [%p], 42;
{fence}
{flag}
bra done;
read:
ld.acquire.gpu.global.u32 %v, [%p + 128];
setp.eq.u32 %q, %v, 0;
@%q bra read;
ld.global.u32 %v, [%p];
st.global.u32 [%p + 256], %v;"""
RELAXED, RELEASING = "st.relaxed.gpu.global.u32 [%p + 128], 1;", "st.release.gpu.global.u32 [%p + 128], 1;"
OUT = 64


def message(fence: str = "", flag: str = RELAXED) -> str:
    return kernel(MESSAGE.format(fence=fence, flag=flag))


@pytest.mark.parametrize(("fence", "had"), [("", 0), ("fence.acq_rel.cta;", CTA), ("membar.cta;", CTA)])
def test_without_a_release_of_the_device_a_flag_may_overtake_its_data(fence: str, had: int) -> None:
    text = message(fence)
    results, found = over_seeds(text)
    assert values(results, OUT) == {0, 42}, "seen in one order under some seeds, in the other under others"
    lines = [line_of(text, words) for words in ("ld.global.u32 %v, [%p]", "st.global.u32 [%p], 42", "[%p + 128], 1")]
    assert found == {Found(RELEASE, *lines, had, GPU)}


@pytest.mark.parametrize(
    ("fence", "flag"),
    [
        ("", RELEASING),
        ("", "st.release.sys.global.u32 [%p + 128], 1;"),
        ("", "red.release.gpu.global.add.u32 [%p + 128], 1;"),
        ("", "atom.acq_rel.gpu.global.exch.b32 %w, [%p + 128], 1;"),
        ("fence.acq_rel.gpu;", RELAXED),
        ("fence.sc.sys;", RELAXED),
        ("membar.gl;", "st.volatile.global.u32 [%p + 128], 1;"),
        ("membar.sys;", "red.relaxed.gpu.global.or.b32 [%p + 128], 1;"),
    ],
)
def test_released_data_is_there(fence: str, flag: str) -> None:
    results, found = over_seeds(message(fence, flag))
    assert values(results, OUT) == {42}
    assert found == set()


def test_every_missed_write_is_found() -> None:
    """No seed gives a wrong result without a word about it."""
    for seed in SEEDS:
        memory, found = run(message(), seed)
        assert bool(found) == (memory[OUT] == 0)


TICKET = """mul.wide.u32 %a, %b, 4; add.u64 %a, %p, %a;
setp.ne.u32 %q, %t, 0; @%q bra done;
add.u32 %v, %b, 1;
st.global.u32 [%a + 256], %v;
{fence}
atom.global.add.u32 %w, [%p], 1;
setp.ne.u32 %q, %w, 15; @%q bra done;
{fence}
mov.u32 %w, 0; mov.u32 %v, 0; add.u64 %a, %p, 256;
again:
ld.volatile.global.u32 %t, [%a];
add.u32 %v, %v, %t; add.u64 %a, %a, 4; add.u32 %w, %w, 1;
setp.lt.u32 %q, %w, 16; @%q bra again;
st.global.u32 [%p + 128], %v;"""
SUM = sum(range(1, 17))


def test_the_last_block_adds_up_what_all_have_released() -> None:
    results, found = over_seeds(kernel(TICKET.format(fence="fence.acq_rel.gpu;")), grid=16)
    assert values(results, 32) == {SUM} and found == set()


def test_the_last_block_misses_what_was_not_released() -> None:
    text = kernel(TICKET.format(fence=""))
    results, found = over_seeds(text, grid=16)
    assert min(values(results, 32)) < SUM
    reader, writer, later = (line_of(text, w) for w in ("ld.volatile", "[%a + 256], %v", "atom.global"))
    assert found == {Found(RELEASE, reader, writer, later, 0, GPU)}


BLOCK = """shl.b32 %v, %t, 2; cvt.u64.u32 %a, %v;
mov.u32 %w, room; add.u32 %w, %w, %v;
st.{space}.u32 [{own}], %t;
{barrier}
xor.b32 %v, %t, {other}; shl.b32 %v, %v, 2;
mov.u32 %w, room; add.u32 %w, %w, %v;
cvt.u64.u32 %a, %v;
ld.{space}.u32 %v, [{next}];
shl.b32 %w, %t, 2; cvt.u64.u32 %a, %w; add.u64 %a, %p, %a;
st.global.u32 [%a + 512], %v;"""


def exchange(space: str, barrier: str, other: int) -> str:
    """Exchange words with the thread whose number differs by a bit."""
    own, following = ("%w", "%w") if space == "shared" else ("%a + OFFSET", "%a + OFFSET")
    body = BLOCK.format(space=space, own=own, next=following, barrier=barrier, other=other)
    if space == "global":
        body = body.replace("cvt.u64.u32 %a, %v;", "cvt.u64.u32 %a, %v; add.u64 %a, %p, %a;").replace(" + OFFSET", "")
    return kernel(body)


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize(
    ("barrier", "other"), [("bar.sync 0;", 33), ("bar.warp.sync -1;", 5), ("membar.cta; bar.sync 1;", 1)]
)
def test_threads_of_a_block_meet_at_barriers(space: str, barrier: str, other: int) -> None:
    results, found = over_seeds(exchange(space, barrier, other), grid=1, block=64)
    for memory in results:
        assert np.array_equal(memory[128:192], np.arange(64) ^ other)
    assert found == set()


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize(("barrier", "other"), [("", 1), ("bar.warp.sync -1;", 32)])
def test_a_missing_barrier_is_a_race(space: str, barrier: str, other: int) -> None:
    text = exchange(space, barrier, other)
    results, found = over_seeds(text, grid=1, block=64)
    wrong = sum(not np.array_equal(memory[128:192], np.arange(64) ^ other) for memory in results)
    assert wrong > len(SEEDS) / 2
    reader, writer = (
        line_of(text, f"ld.{space}.u32 %v"),
        line_of(text, f"st.{space}.u32 [%{'a' if space == 'global' else 'w'}], %t"),
    )
    had, wanted = (WARP, CTA) if barrier else (0, WARP)
    assert {(f.reader, f.writer, f.had, f.wanted) for f in found} == {(reader, writer, had, wanted)}
    assert {f.kind for f in found} == {RACE}


OWN = """shl.b32 %v, %t, 2; cvt.u64.u32 %a, %v; add.u64 %a, %p, %a;
st.global.u32 [%a], 1;
red.global.add.u32 [%a], %t;
ld.global.u32 %v, [%a];
add.u32 %v, %v, 1;
st.global.u8 [%a + 3], 7;
atom.global.add.u32 %w, [%a], %v;
ld.volatile.global.u32 %v, [%a];
sub.u32 %v, %v, %w;
st.global.u32 [%a + 512], %v;"""


def test_a_thread_sees_its_own_writes_in_order() -> None:
    results, found = over_seeds(kernel(OWN), grid=1, block=64)
    for memory in results:
        assert np.array_equal(memory[128:192], np.arange(64) + 2)
        assert np.array_equal(memory[:64], (7 << 24) + 2 * np.arange(64) + 3)
    assert found == set()


def test_all_is_written_when_the_kernel_is_over() -> None:
    body = "mad.lo.u32 %v, %b, 64, %t; mul.wide.u32 %a, %v, 4; add.u64 %a, %p, %a;\nst.global.u32 [%a], %v;"
    for seed in SEEDS:
        memory, _ = run(kernel(body), seed, words=64 * 100, grid=100, block=64)
        assert np.array_equal(memory, np.arange(6400))


def test_a_seed_means_the_same_every_time() -> None:
    text = kernel(TICKET.format(fence=""))
    first = [run(text, seed, grid=16) for seed in SEEDS]
    for seed, (memory, found) in zip(SEEDS, first, strict=True):
        again, same = run(text, seed, grid=16)
        assert np.array_equal(memory, again) and found == same
    assert len({memory.tobytes() for memory, _ in first}) > 2, "seeds differ"


FRESH = """shl.b32 %v, %t, 2; mov.u32 %w, room; add.u32 %w, %w, %v;
ld.shared.u32 %v, [%w];
shl.b32 %w, %t, 2; cvt.u64.u32 %a, %w; add.u64 %a, %p, %a;
st.global.u32 [%a], %v;"""


def test_shared_memory_begins_as_no_number() -> None:
    (one, _), (same, _), (other, _) = (run(kernel(FRESH), seed, 64, grid=1, block=64) for seed in (1, 1, 2))
    assert np.isnan(one.view(np.float32)).all() and np.array_equal(one, same)
    assert len(set(one)) > 32 and not np.array_equal(one, other)
