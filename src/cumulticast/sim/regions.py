"""What lies at an address: a block of the driver's own, a mapping of the caller's, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.sim.address_space import Mapping
from cumulticast.sim.blocks import Block
from cumulticast.sim.contexts import Context
from cumulticast.sim.structs import DEVICE

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

READWRITE = 3


@dataclass(frozen=True, slots=True)
class Region:
    """A block or a mapping, whichever it is; the other one is None."""

    block: Block | None
    mapping: Mapping | None

    @property
    def mapped(self) -> bool:
        """Whether the caller mapped it (cuMemMap)."""
        return self.mapping is not None

    @property
    def thing(self) -> Block | Mapping:
        """The one that is not None."""
        thing = self.block or self.mapping
        assert thing is not None
        return thing

    @property
    def base(self) -> int:
        """Its first address."""
        return self.thing.base

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.thing.size

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.base + self.size

    @property
    def multicast(self) -> bool:
        """Whether it is a mapped multicast object."""
        return self.mapping is not None and self.mapping.handle.kind == "multicast"

    def physical(self, address: int) -> tuple[int, int] | None:
        """Answer the allocation behind an address and the offset in it; None for host memory of no file."""
        if self.mapping is not None:
            return self.mapping.handle.obj, self.mapping.offset + address - self.mapping.base
        assert self.block is not None
        chunk = self.block.chunk
        return None if chunk is None else (chunk.handle.obj, address - chunk.base)


def region_at(process: Process, address: int) -> Region | None:
    """Answer what contains an address."""
    block = process.heap.at(address)
    if block is not None:
        return Region(block, None)
    mapping = process.space.mappings.at(address)
    return None if mapping is None else Region(None, mapping)


def access_at(process: Process, context: Context, region: Region) -> int:
    """Answer what the device of a context may do there: CUmemAccess_flags (0, 1 or 3)."""
    here = (DEVICE, context.ordinal)
    if region.mapping is not None:
        return region.mapping.access.get(here, 0)
    block = region.block
    assert block is not None
    if block.everywhere:
        return READWRITE
    if block.pool:
        return process.pools.of_block(block).access.get(here, 0)
    owner = block.context
    assert owner is not None
    return READWRITE if owner.ordinal == context.ordinal or owner.value in context.peers else 0
