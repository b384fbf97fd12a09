"""Registers that are written in one shape and meet another, or are written nowhere at all."""

from __future__ import annotations

import numpy as np
import pytest
from grid import Grid

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
LANES = np.arange(32, dtype=np.uint64)


def results(body: str, store: str = "st.global.u64 [%a], %x;") -> np.ndarray:
    """Run one warp; %t is the lane, %n a number that all lanes share; it stores %x."""
    room = np.zeros(32, np.uint64)
    text = f"""{HEADER}
    .visible .entry k(.param .u64 p, .param .u64 q)
    {{
    .reg .b64 %a, %x, %y, %z, %n; .reg .b32 %t, %u, %v, %w; .reg .b16 %h<9>; .reg .pred %p, %q;
    ld.param.u64 %n, [q]; mov.u32 %t, %laneid; ld.param.u64 %a, [p]; mad.wide.u32 %a, %t, 8, %a;
    {body}
    {store}
    ret;
    }}"""
    fault = Grid(text)("k", 1, 32, [room, np.uint64(5)])
    assert (fault.status, fault.reason) == (0, "")
    return room


def test_a_carry_of_equal_numbers_into_a_register_that_differs_elsewhere() -> None:
    body = "cvt.u64.u32 %x, %t; add.u64 %y, %x, 1; add.cc.u64 %x, %n, -1; addc.u64 %z, %n, 0; add.u64 %x, %x, %z;"
    assert (results(body) == 4 + 6).all()  # 5 - 1 carries
    body = "cvt.u64.u32 %x, %t; add.cc.u64 %x, %n, 1; addc.u64 %z, %n, 0; add.u64 %x, %x, %z;"
    assert (results(body) == 6 + 5).all()


def test_two_destinations_of_which_one_differs_elsewhere() -> None:
    body = """setp.eq.u32 %p, %t, 3; selp.u64 %y, 1, 0, %p;
    setp.eq.u64 %p|%q, %n, 5; selp.u64 %x, 10, 20, %p; selp.u64 %z, 100, 200, %q;
    add.u64 %x, %x, %z; add.u64 %x, %x, %y;"""
    assert results(body).tolist() == [211 if lane == 3 else 210 for lane in range(32)]


@pytest.mark.parametrize("count", [2, 4])
def test_mov_of_a_vector_reads_all_before_it_writes(count: int) -> None:
    names = [f"%h{i}" for i in range(count)]
    fill = "cvt.u16.u32 %h8, %t; " + " ".join(f"add.u16 {name}, %h8, {i};" for i, name in enumerate(names))
    turned = names[1:] + names[:1]
    pack = "cvt.u64.u16 %x, %h0; " + " ".join(
        f"cvt.u64.u16 %y, {name}; shl.b64 %y, %y, {16 * i}; or.b64 %x, %x, %y;" for i, name in enumerate(names) if i
    )
    got = results(f"{fill} mov.v{count}.b16 {{{', '.join(names)}}}, {{{', '.join(turned)}}}; {pack}")
    wanted = [sum((lane + (i + 1) % count) << 16 * i for i in range(count)) for lane in range(32)]
    assert got.tolist() == wanted


@pytest.mark.parametrize(
    "way",
    ["bra THERE;", "@%q bra THERE;", "TAB: .branchtargets THERE; brx.idx %v, TAB;"],
    ids=["without", "predicate", "index"],
)
def test_a_branch_by_a_register_that_is_written_nowhere(way: str) -> None:
    """It goes somewhere: what the register holds is undefined, not that the kernel compiles and ends."""
    assert set(results(f"mov.u64 %x, 1; {way} mov.u64 %x, 1; THERE:").tolist()) == {1}


def test_a_float_is_the_low_half_of_a_wider_register() -> None:
    body = "mov.u64 %x, 0x123456783F800000; cvt.f64.f32 %x, %x; cvt.rzi.u64.f64 %x, %x;"
    assert (results(body) == 1).all()


@pytest.mark.parametrize(("space", "wanted"), [("global", [1, 0, 0]), ("shared", [0, 1, 0]), ("local", [0, 0, 1])])
def test_the_space_of_an_address_that_all_lanes_have(space: str, wanted: list[int]) -> None:
    declared = (
        ".shared .b32 s; .local .b32 l; mov.u64 %y, s; cvta.shared.u64 %y, %y; mov.u64 %z, l; cvta.local.u64 %z, %z;"
    )
    for address, answer in zip(("%n", "%y", "%z"), wanted, strict=True):
        load = "ld.param.u64 %n, [p];" if address == "%n" else declared
        assert (results(f"{load} isspacep.{space} %p, {address}; selp.u64 %x, 1, 0, %p;") == answer).all()
