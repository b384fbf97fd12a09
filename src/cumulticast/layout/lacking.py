"""What a plan needs beyond what the machine has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cumulticast.layout.machines import Limits
from cumulticast.layout.planned import DeviceUse, Lack, PlannedObject
from cumulticast.rules.text import size_text


def lacks(
    objects: Sequence[PlannedObject], devices: Sequence[DeviceUse], limits: Limits, most: int | None
) -> Iterator[Lack]:
    """Yield everything that is short, each with by how much."""
    if objects and not limits.multicast:
        yield Lack("slots", len(objects), 0, f"{limits.machine} has no multicast")
    elif len(objects) > limits.slots:
        short = len(objects) - limits.slots
        yield Lack("slots", len(objects), limits.slots, f"{short} of {len(objects)} objects would find no slot (MC345)")
    for use in devices:
        yield from _of_device(use, limits)
    for planned in objects:
        if most is not None and planned.size > most:
            names = ", ".join(array.name for array in planned.arrays[:3])
            why = f"object {planned.number} ({names}) is {size_text(planned.size - most)} larger than objects may be"
            yield Lack("object", planned.size, most, why)


def _of_device(use: DeviceUse, limits: Limits) -> Iterator[Lack]:
    if use.memory > limits.memory:
        why = f"device {use.device} lacks {size_text(use.memory - limits.memory)} of memory"
        yield Lack("memory", use.memory, limits.memory, why, use.device)
    if use.unaligned > limits.unaligned:
        why = f"device {use.device} lacks {use.unaligned - limits.unaligned} unaligned binds (MC364)"
        yield Lack("unaligned", use.unaligned, limits.unaligned, why, use.device)
