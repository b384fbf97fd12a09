"""Memory of different teams in one allocation, on machines where a bind may begin inside a granule (SM_107).

Every object rounds its memory up to a granule on each of its devices. Where a bind may begin at any 256 bytes, the
memories of several teams can stand close in one allocation of a device. What that costs: a bind off the granularity
takes one of the device's stock, and its object one granule of headroom: address range, not memory. And since the
size of a bind is whole granules still, the allocation must reach as far behind each piece as its bind does.

On one device: pieces with `slack` bytes between their end and that of their bind stand in an order; the allocation
ends where the last bind does. That end is least when pieces stand by descending slack (Jackson's rule for jobs with
delivery times). It pays when it saves at least one granule. Devices are independent of each other: a piece may stand
at different offsets on the devices of its team.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cumulticast.layout.assembly import Assembly
from cumulticast.layout.machines import Limits
from cumulticast.layout.sizes import up


@dataclass(frozen=True, slots=True)
class Shared:
    """The allocation of a device that several objects share.

    Attributes
    ----------
    size
        Its bytes.
    offsets
        Where the piece of each assembly begins, by the assembly's number.
    unaligned
        How many of these are inside a granule.
    saved
        Bytes that separate allocations would take more.
    """

    size: int
    offsets: Mapping[int, int]
    unaligned: int
    saved: int


def share(
    assemblies: Sequence[Assembly], limits: Limits, stock: Mapping[int, int], most: int | None
) -> dict[int, Shared]:
    """Return the shared allocation of each device on which one pays.

    Parameters
    ----------
    stock
        Unaligned binds that each device has left.
    most
        Bytes that an object may have, headroom included.
    """
    pieces: dict[int, list[int]] = {}
    for number, one in enumerate(assemblies):
        if one.slack and (most is None or one.size + limits.granularity <= most):
            for device in one.team:
                pieces.setdefault(device, []).append(number)
    tried = {device: _best(numbers, assemblies, limits, stock[device]) for device, numbers in pieces.items()}
    return {device: shared for device, shared in sorted(tried.items()) if shared.saved > 0}


def _best(numbers: list[int], assemblies: Sequence[Assembly], limits: Limits, stock: int) -> Shared:
    """Take pieces by descending slack as long as the stock lasts; keep as many of the first as save the most."""
    granularity = limits.granularity
    offsets: list[tuple[int, int]] = []
    saved = kept = size = used = 0
    at = end = apart = unaligned = 0
    for number in sorted(numbers, key=lambda number: (-assemblies[number].slack, number)):
        one = assemblies[number]
        at = up(at, max(one.alignment, limits.offset_step))
        unaligned += at % granularity != 0
        if unaligned > stock:
            break
        offsets.append((number, at))
        end, apart = max(end, up(at + one.memory, granularity)), apart + one.memory
        at += one.load
        if apart - end > saved:
            saved, kept, size, used = apart - end, len(offsets), end, unaligned
    return Shared(size, dict(offsets[:kept]), used, saved)
