"""What a machine allows a plan: granularities, memory, slots and stock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cumulticast.layout.sizes import up, whole

Granularity = Literal["minimum", "recommended"]
DEFAULT_MACHINE = "hgx-h100-8"


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of a machine that a layout depends on; sizes in bytes.

    Attributes
    ----------
    machine
        Its name.
    devices
        How many there are, over all nodes.
    multicast
        Whether its devices have multicast at all.
    memory
        What each device has left for the plan.
    slots
        Multicast objects that can still be bound at a time.
    granularity
        What sizes and offsets are multiples of: MINIMUM, and that of physical memory.
    recommended, recommended_from
        RECOMMENDED of objects of at least the second; smaller ones have MINIMUM.
    extent
        An object takes address range in multiples of this on hardware.
    offset_step
        What the offset of a bind into its memory is a multiple of: `granularity`, on SM_107 256.
    unaligned
        Binds off the granularity that each device has left.
    """

    machine: str
    devices: int
    multicast: bool
    memory: int
    slots: int
    granularity: int
    recommended: int
    recommended_from: int
    extent: int
    offset_step: int
    unaligned: int

    @property
    def relaxed(self) -> bool:
        """Whether a bind may begin inside a granule of its memory (SM_107)."""
        return self.offset_step < self.granularity

    def rounded(self, size: int, policy: Granularity) -> int:
        """Round the size of an object as the policy has it."""
        step = self.granularity
        if policy == "recommended" and size > self.recommended_from - self.granularity:
            step = self.recommended
        return up(size, step)


def limits(
    machine: str,
    *,
    devices: int | None = None,
    memory: int | None = None,
    slots: int | None = None,
    unaligned: int | None = None,
) -> Limits:
    """Read the limits of a preset.

    Parameters
    ----------
    machine
        Its name.
    devices
        Devices of each node, if fewer than it has.
    memory, slots, unaligned
        What is left of it: bytes and unaligned binds of each device, and slots. None: all there is.

    Raises
    ------
    ValueError
        There is no such machine, it has fewer devices, or what is left is below 0; the text names the nearest.
    """
    from cumulticast.sim.machine import load

    for what, value in (("memory", memory), ("slots", slots), ("unaligned", unaligned)):
        if value is not None:
            whole(what, value, 0)
    found = load(machine, devices)
    return Limits(
        machine=found.name,
        devices=found.device_count,
        multicast=found.multicast_supported,
        memory=found.total_memory if memory is None else memory,
        slots=found.multicast_slots if slots is None else slots,
        granularity=max(found.multicast_granularity, found.memory_granularity),
        recommended=found.multicast_recommended_granularity,
        recommended_from=found.multicast_recommended_from,
        extent=found.multicast_extent,
        offset_step=found.bind_memory_granularity,
        unaligned=found.unaligned_binds if unaligned is None else unaligned,
    )
