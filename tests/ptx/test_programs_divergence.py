"""Lanes that part and meet, lanes and blocks that wait for each other: progress, and the right values."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_programs import on_both, program, well
from grid import Grid

U32, I32 = np.uint32, np.int32


def zeros(n: int, kind: type = U32) -> np.ndarray:
    return np.zeros(n, kind)


def nested(i: int) -> int:
    total = 0
    for a in range(i % 7 + 1):
        for b in range(10):
            if (a + b + i) % 3 == 0:
                continue
            if b > i % 5 + 3:
                break
            c = b
            while c and c != i % 8:
                total += c
                c = max(c - 3, 0) if c & 1 else c // 2
            if not c:
                total += a * b + 1
        total += -50 if total > 100 else 1
    return total


def collatz(x: int) -> int:
    count = 0
    while x != 1:
        x = 3 * x + 1 if x & 1 else x // 2
        count += 1
    return count


def switches(i: int) -> int:
    r = 0
    for turn in range(3):
        match (i + turn) % 11:
            case 0:
                r += i * 2
            case 1:
                r = (r - 7) * 3
            case 2:
                r *= 3
            case 3:
                pass
            case 4:
                r = ~r
            case 5:
                r = (r << 3 ^ 0x55) + i % 5
            case 6:
                r = (r ^ 0x55) + i % 5
            case 7:
                r += i % 5
            case 8:
                return r - 1
            case _:
                r -= i
    return r


@on_both
@pytest.mark.parametrize(
    ("name", "model", "block"), [("nested", nested, 96), ("collatz", lambda i: collatz(i + 1), 250)]
)
def test_nested_loops(name: str, model: object, block: int, architecture: str) -> None:
    out = zeros(3 * block, I32)
    well(program("divergence", architecture)(name, 3, block, [out]))
    assert out.tolist() == [model(i) for i in range(out.size)]


@on_both
def test_switches_that_fall_through_and_return(architecture: str) -> None:
    out = zeros(75, I32)
    well(program("divergence", architecture)("switches", 1, 75, [out]))
    assert out.tolist() == [switches(i) for i in range(75)]


@on_both
def test_lanes_that_leave_are_counted_no_more(architecture: str) -> None:
    out = zeros(40)
    well(program("divergence", architecture)("leaving", 1, 40, [out]))
    for first, lanes in ((0, 32), (32, 8)):
        rounds = [lane * 7 % 32 for lane in range(lanes)]
        want = [sum(sum(r > turn for r in rounds) for turn in range(own)) for own in rounds]
        # Whoever leaves in a round is not with those who count themselves in it.
        assert out[first : first + lanes].tolist() == want


@on_both
def test_lane_waits_for_lane(architecture: str) -> None:
    out = zeros(34)
    well(program("divergence", architecture)("lane_waits_for_lane", 1, 32, [zeros(1), out]))
    assert out.tolist() == [1, 2, *range(32)]


@on_both
@pytest.mark.parametrize("block", [32, 100])
def test_lanes_take_turns(block: int, architecture: str) -> None:
    out = zeros(block)
    well(program("divergence", architecture)("lanes_in_turn", 1, block, [zeros(1), out]))
    assert out.tolist() == np.cumsum(np.arange(block)).tolist()


@on_both
def test_two_lanes_play_ball(architecture: str) -> None:
    ball, out = zeros(1), zeros(2)
    well(program("divergence", architecture)("ping_pong", 1, 32, [ball, out, U32(200)]))
    assert ball[0] == 400 and out[1] == 400


@on_both
@pytest.mark.parametrize("name", ["spin_lock", "spin_lock_outside", "spin_lock_in_functions"])
@pytest.mark.parametrize(("grid", "block"), [(1, 32), (4, 96)])
def test_every_lane_gets_the_lock(name: str, grid: int, block: int, architecture: str) -> None:
    count = zeros(1)
    well(program("divergence", architecture)(name, grid, block, [zeros(1), count]))
    assert count[0] == grid * block


@on_both
def test_lanes_are_served_in_the_order_of_their_tickets(architecture: str) -> None:
    order = zeros(192)
    well(program("divergence", architecture)("ticket_lock", 3, 64, [zeros(1), zeros(1), order]))
    assert sorted(order.tolist()) == list(range(192))


@on_both
@pytest.mark.parametrize("blocks", [2, 300, 2000])
def test_blocks_wait_for_later_blocks(blocks: int, architecture: str) -> None:
    out = zeros(blocks)
    well(program("divergence", architecture)("blocks_in_reverse", blocks, 32, [zeros(blocks), out]))
    assert out.tolist() == list(range(blocks))[::-1]


@on_both
def test_a_loop_that_does_not_look_like_waiting(architecture: str) -> None:
    blocks = 600
    out = zeros(blocks)
    well(program("divergence", architecture)("unseen_wait", blocks, 1, [zeros(1), zeros(2 * blocks), out]))
    assert out.tolist() == [2] * (blocks - 1) + [0]


@on_both
def test_grid_barrier_by_hand(architecture: str) -> None:
    blocks, block = 200, 64
    out = zeros(blocks * block)
    args = [zeros(1), zeros(out.size), out]
    well(program("divergence", architecture)("grid_barrier_by_hand", blocks, block, args))
    assert np.array_equal(out, 3 * np.arange(out.size)[::-1])


@on_both
def test_partial_masks(architecture: str) -> None:
    out = zeros(32)
    well(program("divergence", architecture)("partial_masks", 1, 32, [out]))
    odd = sum(1 << lane for lane in range(12, 32) if lane & 1)
    assert out.tolist() == [(11 - lane) * 3 + (lane ^ 1) if lane < 12 else 43 - lane + 3 + odd for lane in range(32)]


@on_both
def test_syncwarp_in_both_arms(architecture: str) -> None:
    out = zeros(32)
    well(program("divergence", architecture)("sync_in_both_arms", 1, 32, [zeros(32), out]))
    assert out.tolist() == [35 - lane + (0 if lane * 5 % 7 < 3 else 100) for lane in range(32)]


@on_both
def test_groups_that_pass_one_instruction_apart(architecture: str) -> None:
    out = zeros(32)
    well(program("divergence", architecture)("groups_at_one_instruction", 1, 32, [zeros(1), out]))
    assert out.tolist() == [120] * 16 + [376] * 16


@on_both
def test_votes(architecture: str) -> None:
    out = zeros(192)
    well(program("divergence", architecture)("votes", 1, 32, [out]))
    lanes = range(32)
    assert out[:32].tolist() == [sum(1 << i for i in lanes if i % 3 == 0)] * 32
    assert out[32:64].tolist() == [2] * 32
    assert out[64:96].tolist() == [sum(1 << i for i in lanes if i % 4 == lane % 4) for lane in lanes]
    assert out[96:128].tolist() == [31] * 32
    assert out[128:160].tolist() == [0] * 32
    assert out[160:180].tolist() == [(1 << 20) - 1] * 20 and not out[180:].any()


# ---- flow that no compiler writes

HEADER = ".version 8.8\n.target sm_90\n.address_size 64\n"
KERNEL = (
    HEADER
    + ".visible .entry k(.param .u64 p) {{ .reg .b64 %a, %o; .reg .b32 %t, %x, %y, %n; .reg .pred %p, %q;\n{}\n}}"
)
BEGIN = "ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o; mov.u32 %x, 0;"


def test_a_loop_with_two_entries() -> None:
    """Odd lanes come in in the middle; both halves of the loop count."""
    text = f"""{BEGIN} mov.u32 %n, 0; and.b32 %y, %t, 1; setp.ne.u32 %p, %y, 0; @%p bra two;
    one: add.u32 %x, %x, 10;
    two: add.u32 %x, %x, 1; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, %t; @%p bra one;
    st.global.u32 [%a], %x; ret;"""
    out = zeros(32)
    well(Grid(KERNEL.format(text))("k", 1, 32, [out]))

    def model(t: int) -> int:
        x, n, first = 0, 0, t & 1
        while True:
            x, n, first = x + (0 if first else 10) + 1, n + 1, 0
            if n >= t:
                return x

    assert out.tolist() == [model(t) for t in range(32)]


def test_two_loops_that_share_their_bodies() -> None:
    """Lanes go from a to b, b to c, and from c to a or b, as their state says: no loop has one header."""
    text = f"""{BEGIN} mov.u32 %n, %t; and.b32 %y, %t, 3; setp.eq.u32 %p, %y, 1; @%p bra b;
    setp.eq.u32 %p, %y, 2; @%p bra c;
    a: add.u32 %x, %x, 1; sub.u32 %n, %n, 1; setp.lt.s32 %p, %n, 0; @%p bra out; and.b32 %y, %n, 1;
    setp.ne.u32 %p, %y, 0; @%p bra c;
    b: mad.lo.u32 %x, %x, 3, 1; sub.u32 %n, %n, 2; setp.lt.s32 %p, %n, 0; @%p bra out; and.b32 %y, %n, 4;
    setp.ne.u32 %p, %y, 0; @%p bra a;
    c: xor.b32 %x, %x, %n; sub.u32 %n, %n, 1; setp.lt.s32 %p, %n, 0; @%p bra out; and.b32 %y, %n, 2;
    setp.ne.u32 %p, %y, 0; @%p bra b; bra.uni a;
    out: st.global.u32 [%a], %x; ret;"""
    out = zeros(70)
    well(Grid(KERNEL.format(text))("k", 1, 70, [out]))

    def model(t: int) -> int:
        x, n, at = 0, t, {1: "b", 2: "c"}.get(t & 3, "a")
        while True:
            match at:
                case "a":
                    x, n, at = x + 1, n - 1, "c" if n - 1 & 1 else "b"
                case "b":
                    x, n, at = x * 3 + 1, n - 2, "a" if n - 2 & 4 else "c"
                case _:
                    x, n, at = x ^ n, n - 1, "b" if n - 1 & 2 else "a"
            x &= 0xFFFFFFFF
            if n < 0:
                return x

    assert out.tolist() == [model(t) for t in range(70)]


def test_registers_may_have_any_name() -> None:
    """Names without % are the compiler's labels and values otherwise."""
    names = ("r0", "b1", "e0", "m0", "v1", "s0", "active", "warp", "resume", "start", "entry")
    adds = " ".join(f"add.u32 {name}, %t, {n}; add.u32 %x, %x, {name};" for n, name in enumerate(names))
    text = f""".reg .b32 {", ".join(names)}; {BEGIN} mov.u32 %n, 0;
    loop: {adds} bar.sync 0; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 3; @%p bra loop;
    st.global.u32 [%a], %x; ret;"""
    out = zeros(64)
    well(Grid(KERNEL.format(text))("k", 1, 64, [out]))
    assert out.tolist() == [3 * (t * len(names) + sum(range(len(names)))) for t in range(64)]


def test_a_table_of_jumps_back_and_forth() -> None:
    text = f"""{BEGIN} and.b32 %n, %t, 3; mov.u32 %y, 0;
    ts: .branchtargets zero, one, two, three;
    again: add.u32 %y, %y, 1; setp.gt.u32 %p, %y, 20; @%p bra out; brx.idx %n, ts;
    zero: add.u32 %x, %x, 1; mov.u32 %n, 2; bra again;
    one: shl.b32 %x, %x, 1; mov.u32 %n, 3; @%q bra again; bra again;
    two: add.u32 %x, %x, %t; mov.u32 %n, 1; bra again;
    three: setp.gt.u32 %p, %y, %t; mov.u32 %n, 0; @!%p bra zero; bra out;
    out: st.global.u32 [%a], %x; ret;"""
    out = zeros(40)
    well(Grid(KERNEL.format(text.replace("%q bra", "%p bra")))("k", 1, 40, [out]))

    def model(t: int) -> int:
        x, n = 0, t & 3
        for y in range(1, 21):
            if n == 3:
                if y > t:
                    return x
                n = 0
            match n:
                case 0:
                    x, n = x + 1, 2
                case 1:
                    x, n = x << 1, 3
                case _:
                    x, n = x + t, 1
        return x

    assert out.tolist() == [model(t) & 0xFFFFFFFF for t in range(40)]
