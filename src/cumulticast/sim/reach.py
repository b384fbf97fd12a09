"""What the device of a context may touch: one byte for each 2 MiB of addresses, which kernels look at on every access.

The tables lie where kernels that run already see them change. They are brought up to date before a launch, if anything
changed that they depend on.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.ptx.layout import GRANULES, RIGHT_MIXED, RIGHT_MULTICAST, RIGHT_READ, RIGHT_WRITE, RIGHTS_SHIFT
from cumulticast.sim import native
from cumulticast.sim.regions import Region, access_at

if TYPE_CHECKING:
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.process import Process

MAPPED = 0x10  # there is memory, whatever may be done with it: for the words of a fault
RIGHTS = {0: MAPPED, 1: MAPPED | RIGHT_READ, 3: MAPPED | RIGHT_READ | RIGHT_WRITE}

State = tuple[int, ...]


@dataclass(slots=True)
class Table:
    """The table of one context.

    Attributes
    ----------
    memory
        The bytes; what was never written takes no memory.
    address
        Where they lie.
    granted
        Granule → right, as written.
    state
        The counts of changes that it agrees with.
    """

    memory: mmap.mmap
    address: int
    granted: dict[int, int] = field(default_factory=dict[int, int])
    state: State = ()


class Reach:
    """The tables of all contexts that have launched a kernel."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._tables: dict[int, Table] = {}
        self.changes = 0

    def changed(self) -> None:
        """Note that access to memory was given or taken away; what is mapped is watched without this."""
        self.changes += 1

    def table(self, context: Context) -> Table:
        """Answer the table of a context."""
        table = self._tables.get(context.value)
        if table is None:
            memory = mmap.mmap(-1, GRANULES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._tables[context.value] = table = Table(memory, native.address_of(memory))
        return table

    def refresh(self, table: Table, context: Context) -> None:
        """Bring a table up to date."""
        process = self._process
        state = (self.changes, process.heap.blocks.changes, process.space.mappings.changes)
        if table.state != state:
            self._update(table, context)
            table.state = state

    def end_context(self, context: Context) -> None:
        """Forget a context's table; kernels that still run keep it."""
        self._tables.pop(context.value, None)

    def _update(self, table: Table, context: Context) -> None:
        wanted: dict[int, int] = {}
        for base, size, right in self._memory(context):
            for granule in range(base >> RIGHTS_SHIFT, (base + size - 1 >> RIGHTS_SHIFT) + 1):
                wanted[granule] = wanted.get(granule, 0) | right
        for granule in table.granted.keys() - wanted.keys():
            table.memory[granule] = 0
        for granule, right in wanted.items():
            if table.granted.get(granule) != right:
                table.memory[granule] = right
        table.granted = wanted

    def _memory(self, context: Context) -> Iterator[tuple[int, int, int]]:
        """List all memory of the process, with what the context's device may do there."""
        seen: set[int] = set()
        for block in self._process.heap.blocks:
            chunk = block.chunk
            if chunk is None:  # the host's, which shares its granules with other memory of the process
                yield block.base, max(block.size, 1), MAPPED | RIGHT_MIXED
            elif chunk.base not in seen:
                seen.add(chunk.base)
                yield chunk.base, chunk.size, RIGHTS[access_at(self._process, context, Region(block, None))]
        for mapping in self._process.space.mappings:
            region = Region(None, mapping)
            right = MAPPED | RIGHT_MULTICAST if region.multicast else RIGHTS[access_at(self._process, context, region)]
            yield mapping.base, mapping.size, right
