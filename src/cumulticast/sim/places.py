"""What lies at an address, or lay there, or is nearest to it: in words, for who has touched it by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cumulticast.sim.blocks import Block
from cumulticast.sim.regions import Region, region_at
from cumulticast.sim.structs import DEVICE

if TYPE_CHECKING:
    from cumulticast.sim.address_space import Mapping
    from cumulticast.sim.process import Process

LAST_USER_BITS = 47  # of an address: what is above no call ever answers
FIRST = 4096  # below it lie null pointers and indexes from them


def name(thing: Block | Mapping) -> str:
    """Say which allocation or mapping it is: how large, where, of what."""
    where = f"{thing.size} bytes at {thing.base:#x}"
    if isinstance(thing, Block):
        return f"the {thing.origin} of {where}"
    handle = thing.handle
    if handle.kind == "multicast":
        return f"the mapping of {where} (multicast object {handle.obj})"
    kind, number = handle.location
    owner = f"device {number}" if kind == DEVICE else "the host"
    return f"the mapping of {where} (allocation {handle.obj} of {owner})"


def inside(process: Process, address: int) -> str:
    """Say what contains an address, or contained it before it was given back; empty: nothing that is known."""
    region = region_at(process, address)
    if region is not None:
        return f"byte {address - region.base} of {name(region.thing)}"
    gone = process.heap.blocks.gone_at(address) or process.space.mappings.gone_at(address)
    if gone is None:
        return ""
    done = "freed" if isinstance(gone, Block) else "unmapped"
    return f"byte {address - gone.base} of what was {name(gone)} and has been {done}"


def around(process: Process, address: int) -> str:
    """Say what lies at an address or nearest to it; empty: nothing at all, or no address that could be meant."""
    if address < FIRST or address >> LAST_USER_BITS:
        return ""
    found = inside(process, address)
    if found:
        return found
    reserved = process.space.reservations.at(address)
    lead = f"in the reservation of {reserved.size} bytes at {reserved.base:#x}, nothing mapped; " if reserved else ""
    return f"{lead}{_nearest(process, address)}"


def _nearest(process: Process, address: int) -> str:
    regions = [Region(block, None) for block in process.heap.blocks]
    regions += [Region(None, mapping) for mapping in process.space.mappings]
    if not regions:
        return "the process has no memory mapped at all"
    region = min(regions, key=lambda one: _distance(one, address))
    distance = _distance(region, address)
    if address >= region.end:
        return f"{distance} bytes past the end of {name(region.thing)}"
    return f"{distance} bytes before {name(region.thing)}"


def _distance(region: Region, address: int) -> int:
    return address - region.end if address >= region.end else region.base - address
