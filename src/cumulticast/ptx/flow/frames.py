"""What a suspended warp keeps: the lanes that wait at each place, and the registers that they need.

A *place* is a block at which lanes can be found while the warp is suspended. The frame begins with one mask of lanes
for each place; registers follow. A register is written to the frame only if it may have changed since it was read from
there, and read back only where some waiting lane needs it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cumulticast.ptx.flow import effects
from cumulticast.ptx.flow.bits import Bits
from cumulticast.ptx.flow.blocks import Block, Branch, Exit, Jump, Leave, Suspend, Table
from cumulticast.ptx.flow.lanes import TURNING, Lanes
from cumulticast.ptx.flow.liveness import Names
from cumulticast.ptx.layout import FRAME_ALIGN, LANES, Reason
from cumulticast.ptx.lower.emitter import Slot

#: Registers and masks that all ways out and in may move; with more the frame is resident.
MOST_TRAFFIC = 1000


@dataclass(frozen=True, slots=True)
class Frame:
    """Layout and traffic of one kernel's frame.

    Attributes
    ----------
    places
        Block → number, for every place; 0 is the kernel's beginning, which has no mask.
    resumed
        The blocks at which the warp's code can be entered.
    at
        Register → offset in the frame.
    size
        Bytes.
    saved
        Suspending block → registers written to the frame.
    needed
        Resumed block → registers read back.
    resident
        Whether masks and the registers that live from block to block are always in the frame. That is slower to run,
        and the code is only as long as the kernel's text; else ways out and in write and read what they must.
    """

    places: dict[Block, int]
    resumed: tuple[Block, ...]
    at: dict[str, int]
    size: int
    saved: dict[Block, tuple[str, ...]]
    needed: dict[Block, tuple[str, ...]]
    resident: bool = False


def suspends(block: Block, lanes: Lanes) -> bool:
    """Tell whether the warp can be left in a block: at its end, or at its beginning to wait for other lanes."""
    return isinstance(block.end, Suspend) or waits_for_lanes(block, lanes)


def waits_for_lanes(block: Block, lanes: Lanes) -> bool:
    """Tell whether lanes may have to wait at a block for others of their warp."""
    return block.gathering and not lanes.converged(block)


def found_at(block: Block, lanes: Lanes) -> list[list[Block]]:
    """List, for each suspension of a block, the blocks at which lanes may be found then."""
    found: list[list[Block]] = []
    if waits_for_lanes(block, lanes):
        found.append(list(dict.fromkeys([block, *lanes.waiting(block)])))
    if isinstance(block.end, Suspend):
        found.append(list(dict.fromkeys([block.end.targets[0], *lanes.waiting(block)])))
    return found


def lay_out(blocks: list[Block], lanes: Lanes, live: dict[Block, Names], slots: dict[str, Slot]) -> Frame:
    """Decide places, offsets and traffic."""
    groups = {block: found_at(block, lanes) for block in blocks if suspends(block, lanes)}
    places = {b: n for n, b in enumerate(dict.fromkeys(b for g in groups.values() for one in g for b in one), 1)}
    resumed = tuple(block for block in places if _resumable(block, blocks, lanes))
    wanted = {block: _wanted(one, live) for block, g in groups.items() for one in [[b for o in g for b in o]]}
    dirty = _dirty(blocks, lanes)
    saved = {block: tuple(sorted(wanted[block] & dirty[block])) for block in groups}
    there = {b: [b, *(other for other in lanes.waiting(b) if other in places)] for b in resumed}
    needed = {b: tuple(sorted(_wanted(found, live))) for b, found in there.items()}
    traffic = sum(map(len, (*saved.values(), *needed.values()))) + sum(len(lanes.waiting(block)) for block in blocks)
    if traffic > MOST_TRAFFIC:
        return _resident(blocks, live, slots)
    at, size = _offsets(sorted(frozenset[str]().union(*wanted.values())), slots, len(places))
    return Frame(places, resumed, at, size, saved, needed)


def _resident(blocks: list[Block], live: dict[Block, Names], slots: dict[str, Slot]) -> Frame:
    """Lay out the frame of a kernel with so many ways out and in that what they move would fill most of its code."""
    places = {block: number for number, block in enumerate(blocks, 1)}
    at, size = _offsets(sorted(_wanted(blocks, live)), slots, len(places))
    return Frame(places, tuple(blocks), at, size, {}, {}, resident=True)


def _resumable(block: Block, blocks: list[Block], lanes: Lanes) -> bool:
    for other in blocks:
        if waits_for_lanes(other, lanes) and (other is block or block in lanes.waiting(other)):
            return True
        if isinstance(other.end, Suspend):
            if other.end.targets[0] is block:
                return True
            if other.end.reason in TURNING and block in lanes.waiting(other):
                return True
    return False


def _wanted(blocks: list[Block], live: dict[Block, Names]) -> frozenset[str]:
    return frozenset[str]().union(*(live[block] for block in blocks))


def _offsets(names: list[str], slots: dict[str, Slot], places: int) -> tuple[dict[str, int], int]:
    at: dict[str, int] = {}
    # Two masks a place: lanes that can run, and (the scheduler's own) lanes that wait there; and what they wait for.
    end = 3 * 4 * (places + 1)
    for name in sorted(names, key=lambda name: (slots[name].uniform, name)):
        size = bytes_of(slots[name])
        align = min(size, FRAME_ALIGN)
        end = -(-end // align) * align
        at[name] = end
        end += size
    return at, -(-end // FRAME_ALIGN) * FRAME_ALIGN


def bytes_of(slot: Slot) -> int:
    """Answer how many bytes a register takes in a frame; predicates of a warp are one mask."""
    if slot.kind == "i1":
        return 1 if slot.uniform else LANES // 8
    width = int(slot.kind[1:]) // 8
    return width if slot.uniform else width * LANES


def _dirty(blocks: list[Block], lanes: Lanes) -> dict[Block, frozenset[str]]:
    """Answer what may have changed, at the end of each block, since the warp was last resumed."""
    bits = Bits(name for block in blocks for ins in block.body for name in effects.written(ins))
    written = [bits.of(name for ins in block.body for name in effects.written(ins)) for block in blocks]
    following = [[target.index for target in direct_next(block, lanes)] for block in blocks]
    found = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for index in range(len(blocks)):
            out = found[index] | written[index]
            for target in following[index]:
                if out & ~found[target]:
                    found[target] |= out
                    changed = True
    return {block: bits.names(found[block.index] | written[block.index]) for block in blocks}


def direct_next(block: Block, lanes: Lanes) -> list[Block]:
    """List the blocks that the warp's code can go to from a block without being left."""
    waiting = lanes.waiting(block)
    match block.end:
        case Jump() | Branch() | Table() | Leave():
            return [*block.targets, *waiting]
        case Exit():
            return waiting
        case Suspend(reason=Reason.WAIT):  # a loop with a budget of rounds: most of them are not left
            return [*block.targets, *waiting]
        case _:
            return []
