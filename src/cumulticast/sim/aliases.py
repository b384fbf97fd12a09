"""Which addresses of a process lead to the same memory: for adversarial memory (struct ptx_alias).

Memory bound to a multicast object is known by the place of its replica in the object's window, to which the multicast
addresses lead as well. Other memory that is mapped more than once is known by its first mapping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.sim.windows import PAGE

if TYPE_CHECKING:
    from cumulticast.sim.process import Process


@dataclass(frozen=True, slots=True, order=True)
class Alias:
    """[begin, end) is the same memory as what lies at ``to``; ``bound``: to a multicast object."""

    begin: int
    end: int
    to: int
    bound: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an allocation: ``size`` bytes at ``offset``, known by the address ``base``."""

    memory: int
    offset: int
    size: int
    base: int


def find(process: Process) -> list[Alias]:
    """List them, ascending; no two overlap."""
    known = list(_bound(process))
    bound = {piece.memory for piece in known}
    first: dict[int, Piece] = {}
    aliases: list[Alias] = []
    for region in _regions(process):
        if region.memory in bound:
            aliases += _shared(region, [piece for piece in known if piece.memory == region.memory], bound=True)
        elif region.memory in first:
            aliases += _shared(region, [first[region.memory]], bound=False)
        else:
            first[region.memory] = region
    return _apart(sorted(aliases))


def _shared(region: Piece, pieces: list[Piece], *, bound: bool) -> Iterator[Alias]:
    for piece in pieces:
        low = max(region.offset, piece.offset)
        high = min(region.offset + region.size, piece.offset + piece.size)
        if low < high:
            begin = region.base + low - region.offset
            yield Alias(begin, begin + high - low, piece.base + low - piece.offset, bound)


def _apart(aliases: list[Alias]) -> list[Alias]:
    """Keep the first of what overlaps: memory that is bound twice is known by one of its places."""
    kept: list[Alias] = []
    for alias in aliases:
        if not kept or alias.begin >= kept[-1].end:
            kept.append(alias)
    return kept


def _bound(process: Process) -> Iterator[Piece]:
    for window in process.multicast_reach.windows():
        for device in window.devices:
            for at, (size, memory, offset) in window.pieces.get(device, {}).items():
                yield Piece(memory, offset, size, window.place(device, at) + offset % PAGE)


def _regions(process: Process) -> Iterator[Piece]:
    for mapping in process.space.mappings:
        if mapping.handle.kind == "memory":
            yield Piece(mapping.handle.obj, mapping.offset, mapping.size, mapping.base)
    seen: set[int] = set()
    for block in process.heap.blocks:
        chunk = block.chunk
        if chunk is not None and chunk.base not in seen:
            seen.add(chunk.base)
            yield Piece(chunk.handle.obj, 0, chunk.size, chunk.base)
