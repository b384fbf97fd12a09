"""Bytes moved by the driver: which addresses a copy may touch, and how it touches them.

A copy is checked with the driver's lock held and moves without it: `Moves` keeps mapped what it touches.
The device that acts is that of the stream, or of the current context. A copy that has to wait for its turn in a
stream is checked when it is handed over, as a real driver does, and once more when its turn has come.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cumulticast.rules import Refused, Status, copies, general, multicast_access
from cumulticast.sim import native
from cumulticast.sim.contexts import Context
from cumulticast.sim.regions import READWRITE, Region, access_at, region_at
from cumulticast.sim.streams import Stream, await_stream, enqueue

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

READ = 1


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a move: ``size`` bytes at ``address`` that are read, or written.

    Attributes
    ----------
    name
        The parameter that named it, for messages.
    kind
        ``device``: memory of the driver; ``any``: that, or ordinary host memory, as the address tells.
    staged
        Whether the driver takes the bytes across devices by itself: copies do, memsets do not.
    context
        Whose device touches this side, if not the one that acts.
    """

    name: str
    address: int
    size: int
    write: bool
    kind: str = "device"
    staged: bool = True
    context: Context | None = None


Piece = tuple[int, int, int]  # allocation, offset, size


def check(process: Process, context: Context, side: Side) -> list[Piece]:
    """Refuse a side that the device may not touch whole; answer the physical memory behind it."""
    region = region_at(process, side.address)
    if region is None and side.kind == "any":
        check_host(process, side)
        return []
    process.driver.judge(copies.transfer_known, side.address, region is not None)
    assert region is not None
    if region.mapped:
        return check_mappings(process, context, side)
    process.driver.judge(copies.transfer_within, side.address, side.size, region.end)
    check_access(process, context, side, region, side.address)
    if region.block is not None and region.block.origin == "cuMemHostRegister":
        check_host(process, side)  # the caller's own memory: it may be gone, or read-only
    physical = region.physical(side.address)
    return [] if physical is None else [(*physical, side.size)]


def check_mappings(process: Process, context: Context, side: Side) -> list[Piece]:
    """Check neighbouring mappings in turn: a copy may cross from one into the next (recorded)."""
    at, end, pieces = side.address, side.address + side.size, list[Piece]()
    while at < end:
        region = region_at(process, at)
        if region is None or not region.mapped:
            process.driver.judge(copies.transfer_within, side.address, side.size, at)
        assert region is not None
        process.driver.judge(multicast_access.no_plain_transfer, at, region.multicast)
        check_access(process, context, side, region, at)
        physical = region.physical(at)
        assert physical is not None
        stop = min(end, region.end)
        pieces.append((*physical, stop - at))
        at = stop
    return pieces


def check_access(process: Process, context: Context, side: Side, region: Region, at: int) -> None:
    """Refuse what the acting device has not been granted.

    A copy reaches any device's plain allocations without peer access, through the host if need be; a memset
    does not (both recorded: h200-580.159-peer.json, peer_access).
    """
    plain = region.block is not None and not region.block.pool
    granted = READWRITE if plain and side.staged else access_at(process, context, region)
    wanted = READWRITE if side.write else READ
    process.driver.judge(copies.transfer_access, at, context.ordinal, granted, wanted)


def check_host(process: Process, side: Side) -> None:
    """Refuse ordinary memory that cannot be touched; a real driver crashes on it, or answers 1 (both recorded)."""
    process.driver.judge(general.pointer_given, side.name, side.address)
    touchable = native.writable if side.write else native.readable
    if side.address + side.size > 1 << 64 or not touchable(side.address, side.size):
        what = "written" if side.write else "read"
        reason = f"{side.name} {side.address:#x} points to {side.size} bytes that cannot be {what}"
        raise Refused(Status.INVALID_VALUE, copies.transfer_known, reason)


def move(process: Process, call: str, context: Context, sides: list[Side], work: Callable[[], None]) -> None:
    """Check all sides, then do the work without the driver's lock.

    Raises
    ------
    Refused
        1: a side is no good. 2: the host has no memory left for a sparse file.
    """
    process.driver.now.call = call  # a stream may do the work in another thread
    me = threading.get_ident()
    try:
        with process.driver.lock:
            process.require_open()
            pieces = [piece for side in sides for piece in check(process, side.context or context, side)]
            process.moves.moving.add(me)
        give_memory(process, pieces)
        work()
    finally:
        process.moves.moving.discard(me)


def move_in_stream(
    process: Process, thread: int, stream: Stream, call: str, sides: list[Side], work: Callable[[list[Side]], None]
) -> None:
    """Check all sides now, and do the work with them in the order of a stream.

    What is written to ordinary host memory is waited for. What is read from there is read now: the caller may use that
    memory for something else as soon as the call returns. The documents leave both open; real drivers do so.

    Raises
    ------
    Refused
        1: a side is no good.
    Wait
        Work that comes before is not done.
    """
    if not stream.idle:
        with process.driver.lock:
            for side in sides:
                check(process, side.context or stream.context, side)
            pageable = [side for side in sides if region_at(process, side.address) is None]
        if not any(side.write for side in pageable):
            kept = [staged(side) if side in pageable else (side, None) for side in sides]
            enqueue(process, stream, lambda: _move_kept(process, call, stream.context, kept, work))
            return
        await_stream(process, thread, stream)
    move(process, call, stream.context, sides, lambda: work(sides))


def staged(side: Side) -> tuple[Side, bytearray]:
    """Copy what is to be read, and answer a side that reads the copy, and the copy."""
    copy = bytearray(side.size)
    native.copy(native.address_of(copy), side.address, side.size)
    return replace(side, address=native.address_of(copy)), copy


def _move_kept(
    process: Process,
    call: str,
    context: Context,
    kept: Sequence[tuple[Side, object]],
    work: Callable[[list[Side]], None],
) -> None:
    """Move what was handed over earlier, with the copies made then."""
    sides = [side for side, _ in kept]
    move(process, call, context, sides, lambda: work(sides))


def give_memory(process: Process, pieces: list[Piece]) -> None:
    """Back sparse files with memory, for reads as well: a page that is read first is allocated, too."""
    try:
        for allocation, offset, size in pieces:
            process.backing.ensure(allocation, offset, size)
    except OSError as error:
        raise process.no_room("the memory behind an allocation", error) from error
