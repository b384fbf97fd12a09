"""Address ranges: reserve, map, give access, unmap, free."""

from __future__ import annotations

import mmap

from cumulticast.rules import access, address_space, general, multicast_mapping
from cumulticast.sim.address_space import Mapping
from cumulticast.sim.entry import entry
from cumulticast.sim.handles import Handle
from cumulticast.sim.lookup import any_handle
from cumulticast.sim.process import Process
from cumulticast.sim.structs import DEVICE, HOST, HOST_NUMA, read_access, read_location


@entry("cuMemAddressReserve")
def mem_address_reserve(process: Process, size: int, alignment: int, addr: int, flags: int) -> int:
    """Reserve addresses; ``addr`` is a wish."""
    judge, step = process.driver.judge, process.machine.memory_granularity
    judge(general.flags_zero, flags)
    judge(address_space.reserve_size_positive, size)
    judge(address_space.reserve_size_page, size, mmap.PAGESIZE)
    judge(address_space.reserve_size_granularity, size, step)
    judge(address_space.reserve_alignment, alignment)
    judge(address_space.reserve_hint, addr, mmap.PAGESIZE)
    try:
        return process.space.reserve(size, max(alignment, step), addr)
    except OSError as error:
        raise process.no_room(f"an address range of {size} bytes", error) from error


@entry("cuMemAddressFree")
def mem_address_free(process: Process, ptr: int, size: int) -> None:
    """Give a whole reservation back."""
    judge = process.driver.judge
    reservation = process.space.reservations.at(ptr)
    exact = reservation is not None and (reservation.base, reservation.size) == (ptr, size)
    whole = (reservation.base, reservation.size) if reservation else (0, 0)
    judge(address_space.free_whole, ptr, size, whole)
    assert exact
    assert reservation is not None
    inside = process.space.mappings.within(ptr, size)
    judge(address_space.free_unmapped, ptr, len(inside), inside[0].base if inside else 0)
    process.space.free(reservation)


@entry("cuMemMap")
def mem_map(process: Process, thread: int, ptr: int, size: int, offset: int, handle: int, flags: int) -> None:
    """Map memory or a multicast object into a reservation; nobody may touch it yet."""
    judge = process.driver.judge
    found = any_handle(process, handle)
    check_place(process, ptr, size)
    if found.kind == "multicast":
        check_multicast(process, found, ptr, size, offset)
    else:
        check_memory(process, found, ptr, size, offset)
    judge(general.flags_zero, flags)
    judge(address_space.map_no_overlap, ptr, size, _taken(process, ptr, size))
    if found.kind == "multicast":
        process.await_team(thread, found)
        judge(multicast_mapping.map_state_legal, process.driver.faults.illegal_at_map())
    try:
        process.space.map(ptr, size, found, offset)
        if found.kind == "multicast":
            process.windows.open(found.obj, process.extent(found))
    except OSError as error:
        process.space.forget_at(ptr)
        raise process.no_room(f"a mapping of {size} bytes", error) from error


def check_place(process: Process, ptr: int, size: int) -> None:
    """Hold a place to the reservation it must lie in."""
    judge, space = process.driver.judge, process.space
    judge(address_space.map_size_positive, size)
    reservation = space.reservations.at(ptr)
    judge(address_space.map_reserved, ptr, reservation is not None)
    assert reservation is not None
    judge(address_space.map_within_reservation, ptr, size, reservation.base + reservation.size)


def check_memory(process: Process, handle: Handle, ptr: int, size: int, offset: int) -> None:
    """Hold a mapping of memory to granularity and size: real drivers map whole allocations only."""
    judge, step = process.driver.judge, process.machine.memory_granularity
    judge(address_space.map_pointer_granularity, ptr, step)
    judge(address_space.map_offset_granularity, offset, step)
    judge(address_space.map_offset_zero, offset)
    judge(address_space.map_whole_allocation, size, handle.size)
    judge(address_space.map_size_granularity, size, step)
    judge(address_space.map_within_allocation, offset, size, handle.size)


def check_multicast(process: Process, handle: Handle, ptr: int, size: int, offset: int) -> None:
    """Hold a mapping of a multicast object to its granularity and extent."""
    judge, step = process.driver.judge, process.machine.multicast_granularity
    judge(multicast_mapping.map_granularity, ptr, size, offset, step)
    judge(multicast_mapping.map_within_object, offset, size, handle.size)
    judge(multicast_mapping.map_within_extent, offset, size, process.extent(handle))


def _taken(process: Process, ptr: int, size: int) -> tuple[int, int]:
    inside = process.space.mappings.within(ptr, size)
    return (inside[0].base, inside[0].size) if inside else (0, 0)


@entry("cuMemUnmap")
def mem_unmap(process: Process, ptr: int, size: int) -> None:
    """Take whole mappings away; the range is a plain reservation again."""
    judge = process.driver.judge
    judge(address_space.unmap_reserved, ptr, process.space.reservations.at(ptr) is not None)
    inside = process.space.mappings.within(ptr, size)
    for mapping in inside:
        judge(address_space.unmap_whole, ptr, size, mapping.base, mapping.size)
    covered = sum(mapping.size for mapping in inside)
    judge(address_space.unmap_exact, ptr, size, covered)
    for mapping in inside:
        process.unmap(mapping)


@entry("cuMemSetAccess")
def mem_set_access(process: Process, ptr: int, size: int, desc: bytes, count: int) -> None:
    """Say who may touch whole mappings, and how."""
    judge, step = process.driver.judge, process.machine.memory_granularity
    judge(access.count_positive, count)
    judge(access.range_granularity, ptr, size, step)
    grants = read_access(desc)
    inside = process.space.mappings.within(ptr, size)
    judge(access.range_mapped, ptr, size, sum(mapping.size for mapping in inside))
    for mapping in inside:
        judge(access.whole_mappings, ptr, size, mapping.base, mapping.size)
    for (kind, number), flags in grants:
        judge(access.access_flags, flags)
        check_location(process, inside, kind, number)
    for mapping in inside:
        process.space.set_access(mapping, dict(grants))


def check_location(process: Process, mappings: list[Mapping], kind: int, number: int) -> None:
    """Hold the place that gets access to what can have it."""
    judge = process.driver.judge
    if kind == DEVICE:
        judge(access.device_valid, number, len(process.devices))
    elif kind in (HOST, HOST_NUMA):
        for mapping in mappings:
            judge(access.host_access, kind == HOST, mapping.handle.location[0] in (HOST, HOST_NUMA))
    else:
        judge(access.location_type, kind)


@entry("cuMemGetAccess")
def mem_get_access(process: Process, location: bytes, ptr: int) -> int:
    """Answer how a location may touch an address."""
    kind, number = read_location(location)
    mapping = process.space.mappings.at(ptr)
    process.driver.judge(access.address_mapped, ptr, mapping is not None)
    assert mapping is not None
    if kind == DEVICE:
        process.driver.judge(access.device_valid, number, len(process.devices))
    return mapping.access.get((kind, number), 0)
