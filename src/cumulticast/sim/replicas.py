"""From a multicast address to its replicas, for those who compute on them in this process (multimem)."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec

from cumulticast.rules import Rule, multicast_access
from cumulticast.sim import native
from cumulticast.sim.address_space import PROTECTION, READ, READWRITE, Mapping
from cumulticast.sim.handles import Handle
from cumulticast.sim.native import element
from cumulticast.sim.process import Process
from cumulticast.sim.windows import Segment, Unbound

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver

P = ParamSpec("P")

__all__ = ["element", "load_reduce_segment", "over", "reduce_segment", "store_segment"]


def over(ptr: int, nbytes: int, work: Callable[[Segment, int], None], *, writes: bool) -> None:
    """Do ``work`` for each stretch of a multicast range; it gets the stretch and its distance from ``ptr``.

    Meanwhile other threads' unmaps and unbinds wait, as for a copy, and nothing is collected: a destructor of garbage
    may call the driver, and would find this thread in the middle of a change.

    Raises
    ------
    RuntimeError
        No simulated machine runs in this process, or cuInit was not called.
    ValueError
        The range is not wholly inside one mapped multicast object, nobody was given access, or a device has nothing
        bound to a part of it; the text says which bytes.
    MemoryError
        The file system of the world is full.
    """
    from cumulticast.sim import current

    collects = gc.isenabled()
    try:
        gc.disable()
        _over(current(), ptr, nbytes, work, writes)
    finally:
        if collects:
            gc.enable()


def _over(driver: Driver, ptr: int, nbytes: int, work: Callable[[Segment, int], None], writes: bool) -> None:
    process, me = driver.process, threading.get_ident()
    if process is None:
        raise RuntimeError("cuInit has not been called in this process")
    try:
        with driver.lock:
            if driver.closed:
                raise RuntimeError("the simulated machine was stopped")
            stretches = _find(process, ptr, nbytes, writes) if nbytes else []
            process.moves.moving.add(me)
        for segment, at in stretches:
            work(segment, at)
    finally:
        process.moves.moving.discard(me)


def _find(process: Process, ptr: int, nbytes: int, writes: bool) -> list[tuple[Segment, int]]:
    mapping = _mapping(process, ptr, nbytes)
    _check_access(mapping, ptr, READWRITE if writes else READ)
    offset = mapping.offset + ptr - mapping.base
    try:
        segments = _segments(process, mapping.handle, offset, nbytes)
    except Unbound as hole:
        reason = (ptr, hole.device, hole.start, hole.end)
        raise ValueError(_text(multicast_access.bound_everywhere, *reason)) from None
    except OSError as error:
        refused = process.no_room("the memory behind a multicast object", error)
        raise MemoryError(f"multimem: {refused.reason}") from error
    return [(segment, segment.offset - offset) for segment in segments]


def _segments(process: Process, handle: Handle, offset: int, nbytes: int) -> list[Segment]:
    """Split a range of an object; it has memory then and can be touched without fear of SIGBUS.

    For reads as well: a page of a sparse file that is read first is allocated, too.
    """
    while True:
        window = process.windows.open(handle.obj, process.extent(handle))
        segments = window.segments(offset, nbytes)
        try:
            process.backing.ensure_window(window, offset, nbytes)
            return segments
        except FileNotFoundError:  # another process frees it at this moment, or died of doing so
            process.windows.distrust(handle.obj)
            process.sweep()


def _mapping(process: Process, ptr: int, nbytes: int) -> Mapping:
    mapping = process.space.mappings.at(ptr)
    if mapping is None or mapping.handle.kind != "multicast":
        what = "nothing mapped" if mapping is None else "ordinary memory"
        raise ValueError(f"ptr {ptr:#x} is {what}; multimem works on a mapped multicast object only")
    if ptr + nbytes > mapping.end:
        room = mapping.end - ptr
        raise ValueError(f"{nbytes} bytes at {ptr:#x} end beyond the mapping; at most {room} lie from there")
    return mapping


def _check_access(mapping: Mapping, ptr: int, wanted: int) -> None:
    """Any device's access will do: the arithmetic is the host's, on behalf of whichever device has it."""
    granted = max(mapping.access.values(), default=0)
    if granted & wanted != wanted:
        raise ValueError(_text(multicast_access.multicast_access, ptr, 0, granted, wanted))


def _text(rule: Rule[P], *facts: P.args, **named: P.kwargs) -> str:
    return f"{rule.code} multimem: {rule.check(*facts, **named)}. More: cumulticast rules {rule.code}"


# ---- one stretch at a time


def store_segment(segment: Segment, source: int) -> None:
    """Write a stretch to every replica."""
    if segment.stride is not None:
        native.store(segment.addresses[0], segment.stride, len(segment.addresses), source, segment.size)
        return
    for address in segment.addresses:  # 256-byte offsets on SM_107: the replicas lie at uneven distances
        native.copy(address, source, segment.size)


def load_reduce_segment(segment: Segment, target: int, size: int, dtype: str, op: str) -> None:
    """Combine a stretch of all replicas into ``target``; ``size`` is that of one element."""
    count, n = segment.size // size, len(segment.addresses)
    if segment.stride is not None:
        native.load_reduce(target, segment.addresses[0], segment.stride, n, count, dtype, op)
        return
    gathered = native.map_none(0, native.whole_pages(n * segment.size), 0)
    try:
        native.protect(gathered, native.whole_pages(n * segment.size), PROTECTION[READWRITE])
        for i, address in enumerate(segment.addresses):
            native.copy(gathered + i * segment.size, address, segment.size)
        native.load_reduce(target, gathered, segment.size, n, count, dtype, op)
    finally:
        native.unmap(gathered, native.whole_pages(n * segment.size))


def reduce_segment(segment: Segment, source: int, size: int, dtype: str, op: str) -> None:
    """Combine a stretch into every replica, element by element."""
    count = segment.size // size
    if segment.stride is not None:
        native.reduce(segment.addresses[0], segment.stride, len(segment.addresses), source, count, dtype, op)
        return
    for address in segment.addresses:
        native.reduce(address, 0, 1, source, count, dtype, op)
