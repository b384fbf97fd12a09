"""Plain allocations: cuMemAlloc's memory, an arena for each context, and host memory of cuMemHost*."""

from __future__ import annotations

import errno
import mmap
from typing import TYPE_CHECKING

from cumulticast.sim import native
from cumulticast.sim.arena import Arena, Kind
from cumulticast.sim.blocks import Block, Origin
from cumulticast.sim.contexts import Context
from cumulticast.sim.ranges import Ranges
from cumulticast.sim.structs import DEVICE

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

CHUNK = 2 << 20
SHARED = 1 << 20


class Heap:
    """The allocations of all contexts, and every block of the process by address, those of pools included."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._arenas: dict[int, Arena] = {}
        self.blocks: Ranges[Block] = Ranges()

    def at(self, address: int) -> Block | None:
        """Answer the block that contains an address."""
        return self.blocks.at(address)

    def beginning_at(self, address: int) -> Block | None:
        """Answer the block that begins exactly here."""
        block = self.blocks.at(address)
        return block if block is not None and block.base == address else None

    def allocate(self, context: Context, size: int) -> Block:
        """Allocate device memory for a context."""
        kind = Kind((DEVICE, context.ordinal), 0, CHUNK, SHARED)
        arena = self._arenas.setdefault(context.value, Arena(self._process, kind))
        chunk, base = arena.take(size)
        block = Block(base, size, "cuMemAlloc", context, chunk)
        self.blocks.add(block)
        return block

    def free(self, block: Block) -> None:
        """Free a block of cuMemAlloc; an empty chunk goes back to the device at once."""
        assert block.context is not None
        assert block.chunk is not None
        self.blocks.remove(block)
        arena = self._arenas[block.context.value]
        arena.give(block.chunk, block.base, block.size)
        arena.trim(0)

    def allocate_pages(self, context: Context, size: int, origin: Origin, flags: int) -> Block:
        """Allocate pinned or managed memory, whole pages of the host's.

        Raises
        ------
        Refused
            2: the host has no room.
        """
        try:
            pages = mmap.mmap(-1, size)
        except OSError as error:
            raise self._process.no_room(f"{size} bytes of {origin}", error) from error
        except OverflowError as error:  # more than an address space
            raise self._process.no_room(f"{size} bytes of {origin}", OSError(errno.ENOMEM, "too large")) from error
        block = Block(native.address_of(pages), size, origin, context, flags=flags, pages=pages)
        self.blocks.add(block)
        return block

    def register_host(self, context: Context, base: int, size: int, flags: int) -> Block:
        """Take a piece of the caller's memory in."""
        block = Block(base, size, "cuMemHostRegister", context, flags=flags)
        self.blocks.add(block)
        return block

    def forget_pages(self, block: Block) -> None:
        """Free pinned or managed memory, or let registered memory go."""
        self._process.moves.settle()
        self.blocks.remove(block)
        if block.pages is not None:
            block.pages.close()

    def end_context(self, context: Context) -> None:
        """Free everything that belongs to a context."""
        for block in [block for block in self.blocks if block.context is context]:
            self.free(block) if block.chunk is not None else self.forget_pages(block)
        self._arenas.pop(context.value, None)

    def close(self) -> None:
        """Give everything back."""
        for block in list(self.blocks):
            if block.pages is not None:
                block.pages.close()
        for arena in self._arenas.values():
            arena.close()
