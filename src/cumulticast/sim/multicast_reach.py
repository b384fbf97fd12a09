"""The multicast addresses of a process as kernels find them: ``struct ptx_multicast`` (ptx/native/multicast.h).

One table for each context that has launched a kernel. It is brought up to date before a launch; a kernel that meets an
address without a replica asks once more, since another process may have bound memory there in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cumulticast.sim.address_space import READWRITE, Mapping
from cumulticast.sim.structs import DEVICE
from cumulticast.sim.windows import Segment, Unbound, Window

if TYPE_CHECKING:
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.process import Process

State = tuple[int, ...]
Hole = tuple[int, int, int]  # begin, end, device
SPARE = 64  # entries: a kernel that runs may see a new count before the new entries


@dataclass(slots=True, eq=False)
class Table:
    """The table of one context.

    Attributes
    ----------
    struct
        ``struct ptx_multicast *``.
    arrays
        All that was ever pointed to from it; a kernel that runs may still look there.
    state
        What it agrees with.
    """

    struct: Any
    handle: Any
    arrays: list[Any] = field(default_factory=list[Any])
    state: State = ()


class MulticastReach:
    """The tables of all contexts that have launched a kernel."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._tables: dict[int, Table] = {}
        self._callback: Any = None
        self._seen: tuple[int, tuple[int, ...]] = (-1, ())

    def table(self, context: Context) -> Table:
        """Answer the table of a context."""
        table = self._tables.get(context.value)
        if table is None:
            from cumulticast.ptx.runtime import ffi

            if self._callback is None:
                self._callback = ffi.callback("int(void *, uint64_t)", self._asked, error=0)
            handle = ffi.new_handle(context)
            table = Table(ffi.new("struct ptx_multicast *"), handle)
            table.struct.refresh, table.struct.context = self._callback, handle
            self._tables[context.value] = table
        return table

    def end_context(self, context: Context) -> None:
        """Forget a context's table; kernels that still run keep it."""
        self._tables.pop(context.value, None)

    def refresh(self, table: Table, context: Context) -> bool:
        """Bring a table up to date, and tell whether it had to be."""
        state = self.state()
        if state == table.state:
            return False
        self._fill(table, context)
        table.state = state
        return True

    def _asked(self, handle: Any, address: int) -> int:
        """Answer a kernel that has found nothing at a multicast address."""
        from cumulticast.ptx.runtime import ffi

        context: Context = ffi.from_handle(handle)
        with self._process.driver.lock:
            table = self._tables.get(context.value)
            return int(table is not None and self.refresh(table, context))

    def _mapped(self) -> list[Mapping]:
        return [mapping for mapping in self._process.space.mappings if mapping.handle.kind == "multicast"]

    def _objects(self) -> tuple[int, ...]:
        """List the objects that are mapped here."""
        changes = self._process.space.mappings.changes
        if self._seen[0] != changes:
            self._seen = changes, tuple(sorted({mapping.handle.obj for mapping in self._mapped()}))
        return self._seen[1]

    def state(self) -> State:
        """Answer counts that change whenever a table might."""
        process, objects = self._process, self._objects()
        generations = (process.world.generation(obj) for obj in objects)
        return process.space.mappings.changes, process.reach.changes, *objects, *generations

    # ---- what lies where

    def windows(self) -> list[Window]:
        """List the windows of the objects that are mapped."""
        handles = {mapping.handle.obj: mapping.handle for mapping in self._mapped()}
        return [self._process.windows.open(obj, self._process.extent(handle)) for obj, handle in handles.items()]

    def _fill(self, table: Table, context: Context) -> None:
        segments: list[tuple[int, int, Segment, bool]] = []
        holes: list[Hole] = []
        for mapping in self._mapped():
            usable = mapping.access.get((DEVICE, context.ordinal), 0) == READWRITE
            window = self._process.windows.open(mapping.handle.obj, self._process.extent(mapping.handle))
            for found in _pieces(window, mapping.offset, mapping.size):
                begin = mapping.base - mapping.offset + found.offset
                if isinstance(found, Segment):
                    segments.append((begin, begin + found.size, found, usable))
                else:
                    holes.append((begin, begin + found.size, found.device))
        self._write(table, sorted(segments, key=lambda one: one[0]), holes)

    def _write(self, table: Table, segments: list[tuple[int, int, Segment, bool]], holes: list[Hole]) -> None:
        from cumulticast.ptx.runtime import ffi

        array = ffi.new("struct ptx_segment[]", len(segments) + SPARE)
        kept: list[Any] = [array]
        for entry, (begin, end, segment, usable) in zip(array, segments, strict=False):
            entry.begin, entry.end = begin, end
            entry.base, entry.replicas, entry.usable = segment.addresses[0], len(segment.addresses), usable
            if segment.stride is None:
                bases = ffi.new("uint64_t[]", list(segment.addresses))
                kept.append(bases)
                entry.bases = bases
            else:
                entry.stride = segment.stride
        gaps = ffi.new("struct ptx_hole[]", [list(hole) for hole in holes] or 1)
        table.arrays.append([*kept, gaps])
        struct = table.struct
        struct.segment_count = min(struct.segment_count, len(segments))
        struct.hole_count = 0
        struct.segments, struct.holes = array, gaps
        struct.segment_count, struct.hole_count = len(segments), len(holes)


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of an object where a device has no memory bound."""

    offset: int
    size: int
    device: int


def _pieces(window: Window, offset: int, size: int) -> Iterator[Segment | Gap]:
    """Walk over a range of an object."""
    at, end = offset, offset + size
    while at < end:
        try:
            yield from window.segments(at, end - at)
            return
        except Unbound as hole:
            if hole.start > at:
                yield from window.segments(at, hole.start - at)
            yield Gap(hole.start, hole.end - hole.start, hole.device)
            at = hole.end
