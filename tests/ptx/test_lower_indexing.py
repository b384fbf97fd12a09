"""Addresses made of an index: however they are made, every lane gets its own element."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from grid import Grid

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
LANES = np.arange(32)


def gather(body: str, room: np.ndarray, *, load: str = "ld.global.u32 %v, [%b];", block: int = 32) -> list[int]:
    """Run a kernel that computes %b of %a (the room) and %t (the thread's number), and answer what lanes loaded."""
    result = np.zeros(block, np.uint32)
    grid = Grid(
        f"""{HEADER}.visible .entry k(.param .u64 p, .param .u64 q)
        {{
        .reg .b64 %a, %b, %c, %o, %r; .reg .b32 %t, %x, %y, %v, %w; .reg .pred %p;
        ld.param.u64 %a, [p]; ld.param.u64 %r, [q]; mov.u32 %t, %tid.x;
        {body} {load}
        mul.wide.u32 %o, %t, 4; add.u64 %r, %r, %o; st.global.u32 [%r], %v;
        ret;
        }}
        """
    )
    fault = grid("k", 1, block, [room, result])
    assert (fault.status, fault.reason) == (0, "")
    return result.tolist()


#: How an address is made, and which element each lane means.
WAYS = {
    "mul.wide": ("mul.wide.s32 %o, %t, 4; add.s64 %b, %a, %o;", LANES),
    "unsigned": ("mul.wide.u32 %o, %t, 4; add.s64 %b, %o, %a;", LANES),
    "mad.wide": ("mad.wide.s32 %b, %t, 4, %a;", LANES),
    "cvt and shl": ("cvt.u64.u32 %o, %t; shl.b64 %o, %o, 2; add.s64 %b, %a, %o;", LANES),
    "shl of bytes": ("shl.b32 %x, %t, 2; cvt.s64.s32 %o, %x; add.s64 %b, %a, %o;", LANES),
    "two uniform terms": ("mul.wide.s32 %o, %t, 4; add.s64 %c, %a, %o; add.s64 %b, %c, 64;", LANES + 16),
    "cvta": ("cvta.to.global.u64 %c, %a; mul.wide.s32 %o, %t, 4; add.s64 %b, %c, %o;", LANES),
    "cvta behind": ("mul.wide.s32 %o, %t, 4; add.s64 %c, %a, %o; cvta.to.global.u64 %b, %c;", LANES),
    "index with an offset": ("add.s32 %x, %t, 100; mul.wide.s32 %o, %x, 4; add.s64 %b, %a, %o;", LANES + 100),
    "negative index": ("sub.s32 %x, %t, 8; add.s64 %a, %a, 64; mul.wide.s32 %o, %x, 4; add.s64 %b, %a, %o;", LANES + 8),
    "backwards": ("sub.s32 %x, 31, %t; mul.wide.s32 %o, %x, 4; add.s64 %b, %a, %o;", 31 - LANES),
    "all the same": ("and.b32 %x, %t, 0; mul.wide.s32 %o, %x, 4; add.s64 %b, %a, %o;", LANES * 0),
    "in pairs": ("shr.u32 %x, %t, 1; mul.wide.s32 %o, %x, 4; add.s64 %b, %a, %o;", LANES // 2),
    "every second": ("mul.wide.s32 %o, %t, 8; add.s64 %b, %a, %o;", LANES * 2),
    "every second, by the index": ("shl.b32 %x, %t, 1; mul.wide.s32 %o, %x, 4; add.s64 %b, %a, %o;", LANES * 2),
    "scale that does not divide": ("mul.wide.s32 %o, %t, 12; add.s64 %b, %a, %o;", LANES * 3),
    "index written again": ("mul.wide.s32 %o, %t, 4; add.s64 %b, %a, %o; mov.u32 %x, %t; add.u32 %t, %t, 1;", LANES),
    "base written again": ("mul.wide.s32 %o, %t, 4; add.s64 %b, %a, %o; add.s64 %a, %a, 128;", LANES),
    "offset written again": (
        "mul.wide.s32 %o, %t, 4; add.s64 %b, %a, %o; add.u32 %x, %t, 1; mul.wide.s32 %o, %x, 4;",
        LANES,
    ),
    "address of itself": ("mul.wide.s32 %b, %t, 4; add.s64 %b, %a, %b; add.s64 %b, %b, 4;", LANES + 1),
    "offset of another block": ("mul.wide.s32 %o, %t, 4; bra next; next: add.s64 %b, %a, %o;", LANES),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_lane_gets_its_element(way: str) -> None:
    room = np.random.default_rng(1).integers(0, 1 << 32, 256, np.uint64).astype(np.uint32)
    body, elements = WAYS[way]
    if way == "index written again":
        body += " "
        load = "ld.global.u32 %v, [%b]; mov.u32 %t, %x;"
        assert gather(body, room, load=load) == room[elements].tolist()
        return
    assert gather(body, room) == room[elements].tolist()


def test_lanes_that_are_off_do_not_matter() -> None:
    room = np.arange(64, dtype=np.uint32)
    body = "mul.wide.s32 %o, %t, 4; add.s64 %b, %a, %o; setp.lt.u32 %p, %t, 20; mov.u32 %v, 7;"
    assert gather(body, room, load="@%p ld.global.u32 %v, [%b];") == [*range(20), *[7] * 12]
    assert gather(body, room, block=40) == [*range(40)]


def test_one_index_for_several_arrays() -> None:
    room = np.random.default_rng(2).integers(0, 1 << 16, 256, np.uint64).astype(np.uint32)
    body = """mul.wide.s32 %o, %t, 4; add.s64 %b, %a, %o; ld.global.u32 %x, [%b];
              add.s64 %c, %a, 256; add.s64 %c, %c, %o; ld.global.u32 %y, [%c+128]; add.u32 %w, %x, %y;"""
    assert gather(body, room, load="mov.u32 %v, %w;") == (room[:32] + room[96:128]).tolist()


@pytest.mark.parametrize("count", [2, 4])
def test_vectors(count: int) -> None:
    room = np.random.default_rng(3).integers(0, 1 << 16, 256, np.uint64).astype(np.uint32)
    start = -room.ctypes.data % 16 // 4
    registers = ["%v", "%x", "%y", "%w"][:count]
    load = f"ld.global.v{count}.u32 {{{', '.join(registers)}}}, [%b];"
    total = " ".join(f"add.u32 %v, %v, {name};" for name in registers[1:])
    body = f"add.s64 %a, %a, {start * 4}; mul.wide.s32 %o, %t, {4 * count}; add.s64 %b, %a, %o;"
    expected = room[start : start + 32 * count].reshape(32, count).sum(1)
    assert gather(body, room, load=f"{load} {total}") == expected.tolist()


WITHOUT_RESERVE = 0x4000  # Linux's MAP_NORESERVE, which Python 3.11 does not name


@pytest.mark.parametrize(
    ("widen", "base", "start"), [("cvt.s64.s32", 1 << 31, (1 << 31) - 16), ("cvt.u64.u32", 0, -16)]
)
def test_an_index_that_wraps_breaks_the_row(widen: str, base: int, start: int) -> None:
    """Half of the lanes have the greatest indices, the others those behind the wrap: 4 GiB away."""
    apart, start_of_room = 1 << 32, 4096  # so that a granule of the table of rights does not part them, too
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | WITHOUT_RESERVE
    room = np.frombuffer(mmap.mmap(-1, apart + 2 * start_of_room, flags), np.uint8)[start_of_room:]
    room[:16], room[apart - 16 : apart] = np.arange(16) + 100, np.arange(16)
    body = f"add.s64 %a, %a, {base}; add.s32 %x, %t, {start}; {widen} %o, %x; add.s64 %b, %a, %o;"
    assert gather(body, room, load="ld.global.u8 %v, [%b];") == [*range(16), *range(100, 116)]
