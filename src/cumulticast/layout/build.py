"""From a draft to the plan: binds, memory to create, what it takes, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cumulticast.layout.assembly import Assembly
from cumulticast.layout.draft import Draft
from cumulticast.layout.lacking import lacks
from cumulticast.layout.machines import Granularity, Limits
from cumulticast.layout.planned import SHARED, Array, Bind, Block, Count, DeviceUse, Lack, Plan, PlannedObject, Total
from cumulticast.layout.reasons import reasons
from cumulticast.layout.sharing import Shared, share
from cumulticast.layout.sizes import up


def build(
    limits: Limits,
    granularity: Granularity,
    drafts: Mapping[Granularity, Draft],
    most: int | None,
    unbound: Sequence[Lack],
) -> Plan:
    """Make the plan of the draft under `granularity`; the others are there to be compared."""
    draft = drafts[granularity]
    stock = _stock(draft.assemblies, limits)
    shared: dict[int, Shared] = {}
    if limits.relaxed and granularity == "minimum":
        shared = share(draft.assemblies, limits, stock, most)
    objects = [_object(number, one, limits, shared) for number, one in enumerate(draft.assemblies)]
    blocks = list(_blocks(draft.assemblies, shared))
    devices = _devices(objects, blocks)
    slots = Count(len(objects), limits.slots)
    used = max((device.unaligned for device in devices), default=0)
    lacking = (*unbound, *lacks(objects, devices, limits, most))
    totals: dict[Granularity, Total] = {policy: drafted.total for policy, drafted in drafts.items()}
    why = reasons(draft, totals, granularity, limits, shared)
    return Plan(
        limits,
        granularity,
        tuple(objects),
        tuple(blocks),
        tuple(devices),
        slots,
        Count(used, limits.unaligned),
        lacking,
        totals,
        why,
    )


def _stock(assemblies: Sequence[Assembly], limits: Limits) -> dict[int, int]:
    """Return the unaligned binds that each device has left behind those of existing memory."""
    stock = dict.fromkeys((device for one in assemblies for device in one.team), limits.unaligned)
    for one in assemblies:
        for window in one.windows:
            for device, offset in zip(one.team, window.offsets, strict=True):
                stock[device] -= offset % limits.granularity != 0
    return stock


def _object(number: int, one: Assembly, limits: Limits, shared: Mapping[int, Shared]) -> PlannedObject:
    """Place binds and arrays: new memory first, then each window, headroom behind what is unaligned."""
    arrays = [Array(request.name, request.nbytes, offset) for request, offset in one.arrays]
    binds = [_new_bind(number, one, device, limits, shared.get(device)) for device in one.team if one.memory]
    at = one.memory + (limits.granularity if any(bind.unaligned for bind in binds) else 0)
    for window in one.windows:
        arrays += [Array(request.name, request.nbytes, at + inside, window.memory) for request, inside in window.arrays]
        for device, offset in zip(one.team, window.offsets, strict=True):
            off = offset % limits.granularity != 0
            binds.append(Bind(device, at, window.memory, offset, window.size, False, off))
        at += window.span(limits.granularity)
    return PlannedObject(number, one.team, at, up(at, limits.extent), tuple(arrays), tuple(binds))


def _new_bind(number: int, one: Assembly, device: int, limits: Limits, shared: Shared | None) -> Bind:
    if shared is None or number not in shared.offsets:
        return Bind(device, 0, _own(number), 0, one.memory, True, False)
    offset = shared.offsets[number]
    return Bind(device, 0, SHARED, offset, one.memory, True, offset % limits.granularity != 0)


def _own(number: int) -> str:
    return f"object {number}"


def _blocks(assemblies: Sequence[Assembly], shared: Mapping[int, Shared]) -> Iterator[Block]:
    """Yield the memory to create: one block for each object and device, and one for what is shared there."""
    for number, one in enumerate(assemblies):
        for device in one.team:
            if one.memory and (device not in shared or number not in shared[device].offsets):
                yield Block(_own(number), device, one.memory)
    for device, what in shared.items():
        yield Block(SHARED, device, what.size)


def _devices(objects: Sequence[PlannedObject], blocks: Sequence[Block]) -> list[DeviceUse]:
    memory: dict[int, int] = {}
    arrays: dict[int, int] = {}
    unaligned: dict[int, int] = {}
    for block in blocks:
        memory[block.device] = memory.get(block.device, 0) + block.size
    for planned in objects:
        new = sum(array.nbytes for array in planned.arrays if array.existing is None)
        for device in planned.team:
            arrays[device] = arrays.get(device, 0) + new
        for bind in planned.binds:
            unaligned[bind.device] = unaligned.get(bind.device, 0) + bind.unaligned
    return [
        DeviceUse(
            device,
            memory.get(device, 0),
            covered,
            memory.get(device, 0) - covered,
            unaligned.get(device, 0),
        )
        for device, covered in sorted(arrays.items())
    ]
