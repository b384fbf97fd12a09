"""Memory pools: stream-ordered allocation. Work runs at once here, and so do allocation and free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.sim.address_space import Location
from cumulticast.sim.arena import Arena, Kind
from cumulticast.sim.blocks import Block
from cumulticast.sim.structs import DEVICE

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

FIRST = 0x6D70_0000_0000
STEP = 0x100
CHUNK = 32 << 20  # recorded: RESERVED_MEM_CURRENT after one byte
READWRITE = 3


@dataclass(slots=True, eq=False)
class Pool:
    """A CUmemoryPool.

    Attributes
    ----------
    value
        The handle.
    location, handle_types, max_size
        As created; ``max_size`` 0 is no limit.
    default_of
        The location whose default pool it is, or None.
    access
        CUmemAccess_flags of each location.
    reuse
        The three reuse switches (CU_MEMPOOL_ATTR_REUSE_…, numbers 1 to 3).
    threshold
        Bytes that stay reserved although nothing uses them.
    used, used_high, reserved_high
        Bytes in blocks, and the most so far of both counts.
    """

    value: int
    location: Location
    handle_types: int
    max_size: int
    default_of: Location | None
    arena: Arena
    access: dict[Location, int]
    reuse: dict[int, int] = field(default_factory=lambda: {1: 1, 2: 1, 3: 1})
    threshold: int = 0
    used: int = 0
    used_high: int = 0
    reserved_high: int = 0
    destroyed: bool = False

    def count(self, size: int) -> None:
        """Count bytes taken, or given back."""
        self.used += size
        self.used_high = max(self.used_high, self.used)
        self.reserved_high = max(self.reserved_high, self.arena.reserved)


class Pools:
    """All pools of a process: one default pool for each location, and those that were created."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._pools: dict[int, Pool] = {}
        self._defaults: dict[Location, Pool] = {}
        self._current: dict[Location, Pool] = {}
        self._made = 0

    def created(self) -> list[Pool]:
        """Answer the pools that the caller made and has yet to destroy."""
        return [p for p in self._pools.values() if p.default_of is None and not p.destroyed]

    def find(self, value: int) -> Pool | None:
        """Answer a pool that may be used."""
        pool = self._pools.get(value)
        return None if pool is None or pool.destroyed else pool

    def create(self, location: Location, handle_types: int, max_size: int, default_of: Location | None = None) -> Pool:
        """Make a pool; nothing is reserved yet."""
        self._made += 1
        arena = Arena(self._process, Kind(location, handle_types, CHUNK, CHUNK))
        access = {location: READWRITE} if location[0] == DEVICE else {}
        value = FIRST + STEP * self._made
        pool = Pool(value, location, handle_types, max_size, default_of, arena, access)
        self._pools[value] = pool
        return pool

    def default(self, location: Location) -> Pool:
        """Answer the default pool of a device, of the host, or of one of its nodes."""
        if location not in self._defaults:
            self._defaults[location] = self.create(location, 0, 0, location)
        return self._defaults[location]

    def current(self, location: Location) -> Pool:
        """Answer the pool in use for a location; cuMemAllocAsync takes from that of its stream's device."""
        return self._current.get(location) or self.default(location)

    def set_current(self, location: Location, pool: Pool) -> None:
        """Put another pool in use for a location."""
        self._current[location] = pool

    def destroy(self, pool: Pool) -> None:
        """End a pool; its memory goes with the last block. A location that used it goes back to its default."""
        pool.destroyed = True
        self._current = {place: other for place, other in self._current.items() if other is not pool}
        self._forget_finished(pool)

    def _forget_finished(self, pool: Pool) -> None:
        if pool.destroyed and not pool.used:
            pool.arena.close()
            del self._pools[pool.value]

    def allocate(self, pool: Pool, size: int) -> Block:
        """Cut a block out of a pool."""
        chunk, base = pool.arena.take(size)
        block = Block(base, size, "cuMemAllocAsync", None, chunk, pool.value)
        self._process.heap.blocks.add(block)
        pool.count(size)
        return block

    def free(self, block: Block) -> None:
        """Give a block back to its pool, and what exceeds the pool's threshold to the device."""
        assert block.chunk is not None
        self._process.moves.settle()
        pool = self._pools[block.pool]
        self._process.heap.blocks.remove(block)
        pool.arena.give(block.chunk, block.base, block.size)
        pool.count(-block.size)
        pool.arena.trim(pool.threshold)
        self._forget_finished(pool)

    def of_block(self, block: Block) -> Pool:
        """Answer the pool of a block of pool memory, destroyed or not."""
        return self._pools[block.pool]

    def close(self) -> None:
        """Give everything back."""
        for pool in self._pools.values():
            pool.arena.close()
