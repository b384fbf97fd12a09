"""Device memory in pieces: chunks taken from the world, blocks cut out of them, first fit, 512 bytes apart.

Recorded of a real driver: cuMemAlloc takes 2 MiB at a time and puts everything up to 1 MiB into shared chunks;
a pool takes 32 MiB at a time; a freed place is the next one used.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.sim import native
from cumulticast.sim.address_space import map_memory
from cumulticast.sim.blocks import ALIGNMENT, Chunk, rounded
from cumulticast.sim.handles import Handle
from cumulticast.sim.physical import allocate
from cumulticast.sim.structs import AllocationProp

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

PINNED = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
READWRITE = mmap.PROT_READ | mmap.PROT_WRITE


@dataclass(frozen=True, slots=True)
class Kind:
    """What an arena's chunks are made of.

    Attributes
    ----------
    location
        (CUmemLocationType, id).
    handle_types
        What the chunks may be exported as.
    step
        Chunks are multiples of this many bytes, and so are their addresses.
    share_up_to
        Larger blocks get a chunk of their own.
    """

    location: tuple[int, int]
    handle_types: int
    step: int
    share_up_to: int


class Arena:
    """The chunks of one context's allocations or of one pool."""

    def __init__(self, process: Process, kind: Kind) -> None:
        self._process = process
        self._kind = kind
        self.chunks: list[Chunk] = []

    @property
    def reserved(self) -> int:
        """How many bytes the chunks take."""
        return sum(chunk.size for chunk in self.chunks)

    def take(self, size: int) -> tuple[Chunk, int]:
        """Find room for ``size`` bytes and answer chunk and address.

        Raises
        ------
        Refused
            2: the device, or the host, has no room.
        """
        size = rounded(size, ALIGNMENT)
        if size <= self._kind.share_up_to:
            for chunk in self.chunks:
                address = chunk.take(size) if chunk.shared else None
                if address is not None:
                    return chunk, address
        chunk = self._grow(size)
        address = chunk.take(size)
        assert address is not None
        return chunk, address

    def give(self, chunk: Chunk, address: int, size: int) -> None:
        """Take a block's room back; the chunk stays until `trim`."""
        chunk.give(address, rounded(size, ALIGNMENT))

    def trim(self, keep: int) -> None:
        """Give empty chunks back to the device until no more than ``keep`` bytes are reserved."""
        for chunk in [chunk for chunk in self.chunks if chunk.empty]:
            if self.reserved <= keep:
                return
            self._drop(chunk)

    def close(self) -> None:
        """Give all chunks back."""
        for chunk in list(self.chunks):
            self._drop(chunk)

    def _grow(self, size: int) -> Chunk:
        process, kind = self._process, self._kind
        room = rounded(size, kind.step)
        handle = self._physical(room)
        try:
            base = self._map(handle, room)
        except OSError as error:
            handle.mappings = 0
            process.let_go(handle)
            raise process.no_room(f"a mapping of {room} bytes", error) from error
        chunk = Chunk(base, room, handle, shared=size <= kind.share_up_to)
        self.chunks.append(chunk)
        return chunk

    def _physical(self, size: int) -> Handle:
        """Make memory that the mapping alone keeps: its handle is never told to anybody."""
        (place, number), types = self._kind.location, self._kind.handle_types
        prop = AllocationProp(PINNED, types, place, number, 0, 0, 0, 0, bytes(4))
        handle = allocate(self._process, size, prop, references=0)
        handle.mappings = 1
        return handle

    def _map(self, handle: Handle, size: int) -> int:
        base = native.map_none(0, size, self._kind.step)
        try:
            map_memory(self._process.world, handle.obj, base, size, 0, READWRITE)
        except OSError:
            native.unmap(base, size)
            raise
        return base

    def _drop(self, chunk: Chunk) -> None:
        self._process.moves.settle()
        self.chunks.remove(chunk)
        native.unmap(chunk.base, chunk.size)
        chunk.handle.mappings = 0
        self._process.let_go(chunk.handle)
