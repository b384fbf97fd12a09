"""shfl, vote, match, redux, elect, activemask against models of one lane at a time, in both shapes.

A mask that is the same for all lanes makes an instruction uniform; one that the lanes load makes it each lane's own,
and lets several groups carry the same instruction out at once. Source of the models: PTX ISA, each instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_, xor

import numpy as np
import pytest
from grid import Grid

LANES, ALL = 32, 0xFFFFFFFF
TEXT = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 m, .param .u64 who, .param .u32 mask)
{{
.reg .b64 %p<9>, %x, %d; .reg .b32 %t, %o, %v, %b, %m, %r, %g, %w; .reg .pred %q, %s, %y;
mov.u32 %t, %laneid; mov.u64 %d, 0; mov.u32 %r, 0; setp.ne.u32 %s, %t, %t;
ld.param.u64 %p1, [out]; mad.wide.u32 %p1, %t, 16, %p1; ld.param.u64 %p2, [a]; mad.wide.u32 %p2, %t, 8, %p2;
ld.param.u64 %p3, [b]; mad.wide.u32 %p3, %t, 4, %p3; ld.param.u64 %p4, [m]; mad.wide.u32 %p4, %t, 4, %p4;
ld.param.u64 %p5, [who]; mad.wide.u32 %p5, %t, 4, %p5;
ld.global.u64 %x, [%p2]; cvt.u32.u64 %v, %x; setp.ne.u32 %y, %v, 0; ld.global.u32 %b, [%p3]; ld.global.u32 %w, [%p5];
{mask}
setp.eq.u32 %q, %w, 0; @%q bra done;
{body}
st.global.u32 [%p1], %r; selp.u32 %r, 1, 0, %s; st.global.u32 [%p1+4], %r;
done: ret;
}}
"""
#: How a kernel comes by its member mask.
MASKS = {"constant": "mov.u32 %m, -1;", "uniform": "ld.param.u32 %m, [mask];", "each lane": "ld.global.u32 %m, [%p4];"}


@dataclass(frozen=True)
class Warp:
    """What the lanes bring: values, second operands, member masks; those with a mask of 0 stay away."""

    values: list[int]
    seconds: list[int]
    masks: list[int]

    def group(self, lane: int) -> list[int]:
        """List the members of a lane's group."""
        return [other for other in range(LANES) if self.masks[lane] >> other & 1]


def warps(kind: str) -> list[Warp]:
    """Draw warps whose masks are right: every member names the same members."""
    rng = np.random.default_rng(len(kind))
    found: list[Warp] = []
    for few in (1, 2, 3, 1 << 31, 1 << 63):
        values = [int(v) for v in rng.integers(0, few, LANES, np.uint64, endpoint=True)]
        seconds = [int(v) for v in rng.integers(0, 40, LANES)]
        found += [Warp(values, seconds, masks) for masks in _masks(kind, rng)]
    return found


def _masks(kind: str, rng: np.random.Generator) -> list[list[int]]:
    if kind == "constant":
        return [[ALL] * LANES]
    if kind == "uniform":
        some = [ALL, 1, 0x80000000, 0xFFFF0000, int(rng.integers(1, ALL))]
        return [[mask if mask >> lane & 1 else 0 for lane in range(LANES)] for mask in some]
    groups = [rng.integers(0, parts, LANES).tolist() for parts in (1, 2, 5, 32)]
    return [
        [0 if own == 4 else sum(1 << k for k, other in enumerate(group) if other == own) for own in group]
        for group in groups
    ]


def answers(body: str, kind: str, warp: Warp) -> list[tuple[int, int] | None]:
    """Run a kernel; answer what each lane that takes part has in %r and %s."""
    run = KERNELS.get((body, kind)) or KERNELS.setdefault((body, kind), Grid(TEXT.format(mask=MASKS[kind], body=body)))
    out = np.zeros((LANES, 4), np.uint32)
    data = [np.array(warp.values, np.uint64), *(np.array(one, np.uint32) for one in (warp.seconds, warp.masks))]
    who = np.array([mask != 0 for mask in warp.masks], np.uint32)
    fault = run("k", 1, LANES, [out, *data, who, np.uint32(max(warp.masks))])
    assert (fault.status, fault.reason) == (0, "")
    return [(int(row[0]), int(row[1])) if here else None for row, here in zip(out, who, strict=True)]


KERNELS: dict[tuple[str, str], Grid] = {}
Model = Callable[[Warp, int], tuple[int, int] | None]


def check(body: str, kind: str, model: Model) -> None:
    """Compare every lane with the model; where that answers None, the result is undefined."""
    for warp in warps(kind):
        for lane, found in enumerate(answers(body, kind, warp)):
            wanted = model(warp, lane) if found is not None else None
            assert wanted is None or found == wanted, (body, lane, warp)


KINDS = pytest.mark.parametrize("kind", MASKS)

# ---- vote


def votes(warp: Warp, lane: int) -> list[bool]:
    return [warp.values[other] & ALL != 0 for other in warp.group(lane)]


VOTES: dict[str, Callable[[list[bool]], bool]] = {
    "all": all,
    "any": any,
    "uni": lambda held: all(held) or not any(held),
}


@KINDS
@pytest.mark.parametrize("way", VOTES)
@pytest.mark.parametrize("inverted", ["", "!"])
def test_vote(way: str, kind: str, inverted: str) -> None:
    def model(warp: Warp, lane: int) -> tuple[int, int]:
        return 0, VOTES[way]([held != (inverted == "!") for held in votes(warp, lane)])

    check(f"vote.sync.{way}.pred %s, {inverted}%y, %m;", kind, model)


@KINDS
def test_ballot(kind: str) -> None:
    def model(warp: Warp, lane: int) -> tuple[int, int]:
        return sum(1 << other for other in warp.group(lane) if warp.values[other] & ALL), 0

    check("vote.sync.ballot.b32 %r, %y, %m;", kind, model)


# ---- match


@KINDS
@pytest.mark.parametrize(("width", "value"), [(32, "%v"), (64, "%x")])
def test_match_any(width: int, value: str, kind: str) -> None:
    def model(warp: Warp, lane: int) -> tuple[int, int]:
        own = warp.values[lane] % (1 << width)
        return sum(1 << k for k in warp.group(lane) if warp.values[k] % (1 << width) == own), 0

    check(f"match.any.sync.b{width} %r, {value}, %m;", kind, model)


@KINDS
@pytest.mark.parametrize(("width", "value"), [(32, "%v"), (64, "%x"), (32, "%b")])
@pytest.mark.parametrize("equal", [False, True])
def test_match_all(width: int, value: str, kind: str, equal: bool) -> None:
    def model(warp: Warp, lane: int) -> tuple[int, int]:
        held = {
            0 if equal else (warp.seconds if value == "%b" else warp.values)[k] % (1 << width) for k in warp.group(lane)
        }
        return (warp.masks[lane], 1) if len(held) == 1 else (0, 0)

    zero = f"xor.b{width} {value}, {value}, {value};" if equal else ""
    check(f"{zero} match.all.sync.b{width} %r|%s, {value}, %m;", kind, model)


# ---- redux


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


REDUX: dict[str, Callable[[list[int]], int]] = {
    "add.u32": sum,
    "add.s32": sum,
    "min.u32": min,
    "max.u32": max,
    "min.s32": lambda values: min(map(signed, values)),
    "max.s32": lambda values: max(map(signed, values)),
    "and.b32": lambda values: reduce(and_, values),
    "or.b32": lambda values: reduce(or_, values),
    "xor.b32": lambda values: reduce(xor, values),
}


@KINDS
@pytest.mark.parametrize("way", REDUX)
def test_redux(way: str, kind: str) -> None:
    def model(warp: Warp, lane: int) -> tuple[int, int]:
        return REDUX[way]([warp.values[other] & ALL for other in warp.group(lane)]) & ALL, 0

    check(f"redux.sync.{way} %r, %v, %m;", kind, model)


# ---- shfl


def source_of(way: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Answer whose value a lane gets, and whether that lane is in range: the ISA's own pseudocode."""
    segment, clamp, b = c >> 8 & 31, c & 31, b & 31
    most, least = lane & segment | clamp & ~segment & 31, lane & segment
    at = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | b & ~segment & 31}[way]
    within = at >= most if way == "up" else at <= most
    return (at if within else lane), within


@KINDS
@pytest.mark.parametrize("way", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("c", [0, 31, 0x1C1F, 0x1800, 0x101F])
@pytest.mark.parametrize("b", ["%b", "5"])
def test_shfl(way: str, c: int, b: str, kind: str) -> None:
    def model(warp: Warp, lane: int) -> tuple[int, int] | None:
        at, within = source_of(way, lane, warp.seconds[lane] if b == "%b" else int(b), c)
        return (warp.values[at] & ALL, int(within)) if at in warp.group(lane) else None

    check(f"shfl.sync.{way}.b32 %r|%s, %v, {b}, {c}, %m;", kind, model)


# ---- who is here


@KINDS
def test_elect_takes_one_member_and_all_agree(kind: str) -> None:
    for warp in warps(kind):
        found = answers("elect.sync %r|%s, %m;", kind, warp)
        for lane, one in enumerate(found):
            if one is not None:
                first = found[warp.group(lane)[0]]
                assert one[0] in warp.group(lane)
                assert first is not None and one == (first[0], int(first[0] == lane))


@pytest.mark.parametrize("kind", ["constant", "uniform"])
def test_activemask_names_those_that_took_the_branch(kind: str) -> None:
    for warp in warps(kind):
        here = sum(1 << lane for lane, mask in enumerate(warp.masks) if mask)
        found = [one for one in answers("activemask.b32 %r;", kind, warp) if one is not None]
        assert {one[0] for one in found} == {here}
