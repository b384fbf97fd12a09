"""Memory that is not mapped by the caller: what cuMemAlloc, pools and cuMemHost* hand out, found by address.

A block is one allocation. Device blocks are cut out of chunks; a chunk is one physical allocation of the world,
so that its memory is accounted for and can be bound to a multicast object.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import Literal

from cumulticast.sim.address_space import BUFFERS
from cumulticast.sim.contexts import Context
from cumulticast.sim.handles import Handle

Origin = Literal["cuMemAlloc", "cuMemAllocAsync", "cuMemAllocManaged", "cuMemAllocHost", "cuMemHostRegister"]
ALIGNMENT = 512  # recorded: h200-580.159-driver.json, groups alloc and pools


@dataclass(slots=True, eq=False)
class Chunk:
    """One physical allocation and its free parts: (offset, size), ascending, never adjacent."""

    base: int
    size: int
    handle: Handle
    shared: bool
    free: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def __post_init__(self) -> None:
        self.free = [(0, self.size)]

    @property
    def empty(self) -> bool:
        """Whether no block is left in it."""
        return self.free == [(0, self.size)]

    def take(self, size: int) -> int | None:
        """Cut ``size`` bytes off the first free part with room and answer the address."""
        for at, (offset, room) in enumerate(self.free):
            if room >= size:
                self.free[at : at + 1] = [(offset + size, room - size)] if room > size else []
                return self.base + offset
        return None

    def give(self, address: int, size: int) -> None:
        """Make a part free again and join it with its neighbours."""
        parts = sorted([*self.free, (address - self.base, size)])
        joined = [parts[0]]
        for offset, room in parts[1:]:
            last, length = joined[-1]
            if last + length == offset:
                joined[-1] = (last, length + room)
            else:
                joined.append((offset, room))
        self.free = joined


@dataclass(slots=True, eq=False)
class Block:
    """One allocation, or one registered piece of the caller's memory.

    Attributes
    ----------
    base, size
        The range as it was asked for, in bytes.
    origin
        The call that made it.
    context
        The context it belongs to; None for pool memory.
    chunk
        Where its memory is; None for host memory.
    pool
        The handle of its pool, or 0.
    flags
        CU_MEMHOSTALLOC_ or CU_MEMHOSTREGISTER_ flags.
    pages
        The host memory that the driver allocated.
    buffer
        CU_POINTER_ATTRIBUTE_BUFFER_ID.
    sync_memops
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS; everything here is synchronous anyway.
    in_module
        It is a variable of a module, and goes with that.
    leaving
        It was freed in the order of a stream, which has not come that far.
    """

    base: int
    size: int
    origin: Origin
    context: Context | None = None
    chunk: Chunk | None = None
    pool: int = 0
    flags: int = 0
    pages: mmap.mmap | None = None
    buffer: int = field(default_factory=BUFFERS.__next__)
    sync_memops: bool = True
    in_module: bool = False
    leaving: bool = False

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.base + self.size

    @property
    def on_host(self) -> bool:
        """Whether it is host memory by its kind."""
        return self.origin in ("cuMemAllocHost", "cuMemHostRegister")

    @property
    def can_be_freed(self) -> bool:
        """Whether cuMemFree takes it: no host memory, no variable of a module, nothing freed in a stream already."""
        return not self.on_host and not self.in_module and not self.leaving

    @property
    def everywhere(self) -> bool:
        """Whether the host and all devices can touch it."""
        return self.chunk is None


def rounded(size: int, step: int) -> int:
    """Round up to a multiple of ``step``."""
    return -(-size // step) * step
