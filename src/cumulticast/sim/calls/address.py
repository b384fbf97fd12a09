"""Address ranges: reserve, map, give access, unmap, free."""

from __future__ import annotations

import mmap

from cumulticast.rules import Refused, Status, access, address_space, general, mapping, multicast_mapping
from cumulticast.sim import spare
from cumulticast.sim.address_space import READWRITE, Mapping, Occupied
from cumulticast.sim.entry import entry
from cumulticast.sim.handles import Handle
from cumulticast.sim.lookup import any_handle
from cumulticast.sim.objects import team_of
from cumulticast.sim.process import Process
from cumulticast.sim.structs import DEVICE, HOST, LOCATIONS, read_access, read_location


@entry("cuMemAddressReserve")
def mem_address_reserve(process: Process, size: int, alignment: int, addr: int, flags: int) -> int:
    """Reserve addresses; ``addr`` is a wish."""
    judge, step = process.driver.judge, process.machine.memory_granularity
    judge(general.flags_zero, flags)
    judge(address_space.reserve_size_positive, size)
    judge(address_space.reserve_size_page, size, mmap.PAGESIZE)
    judge(address_space.reserve_size_granularity, size, step)
    judge(address_space.reserve_alignment, alignment)
    judge(address_space.reserve_hint_page, addr, mmap.PAGESIZE)
    judge(address_space.reserve_hint_granularity, addr, step)
    try:
        return process.space.reserve(size, max(alignment, step), addr)
    except (OSError, OverflowError) as error:  # the latter: more than 2^64 with what a reservation has behind it
        if isinstance(error, OSError) and spare.crowded(error):
            raise process.no_room(f"a reservation of {size} bytes", error) from error
        judge(address_space.address_space_left, size, alignment)
        raise


@entry("cuMemAddressFree")
def mem_address_free(process: Process, ptr: int, size: int) -> None:
    """Give a whole reservation back."""
    judge = process.driver.judge
    judge(general.pointer_given, "ptr", ptr)
    reservation = process.space.reservations.at(ptr)
    judge(address_space.free_reserved, ptr, reservation is not None and reservation.base == ptr)
    assert reservation is not None
    judge(address_space.free_exact, ptr, size, reservation.size)
    judge(address_space.free_unmapped, ptr, len(process.space.mappings.within(ptr, size)))
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
    for taken in process.space.mappings.within(ptr, size)[:1]:
        judge(mapping.map_free, ptr, size, taken.base, taken.size)
    if found.kind == "multicast":
        process.await_team(thread, found)
        faults = process.driver.faults
        process.require_state(multicast_mapping.map_state_legal, faults.illegal() or faults.not_ready())
    map_into(process, ptr, size, offset, found)


def map_into(process: Process, ptr: int, size: int, offset: int, handle: Handle) -> None:
    """Map what was found legal; when the system has no room for it, nothing has happened."""
    try:
        made = process.space.map(ptr, size, handle, offset)
    except Occupied as occupied:
        reason = mapping.map_inside.check(ptr, size, occupied.args[0])
        raise Refused(Status.INVALID_VALUE, mapping.map_inside, str(reason)) from None
    except OSError as error:
        raise process.no_room(f"a mapping of {size} bytes", error) from error
    try:
        if handle.kind == "multicast":
            process.windows.open(handle.obj, process.extent(handle))
    except OSError as error:
        process.space.unmap(made)
        raise process.no_room(f"the replicas behind a mapping of {size} bytes", error) from error


def check_place(process: Process, ptr: int, size: int) -> None:
    """Hold a place to the reservation it must lie in."""
    judge, space = process.driver.judge, process.space
    judge(mapping.map_size_positive, size)
    reservation = space.reservations.at(ptr)
    judge(mapping.map_reserved, ptr, reservation is not None)
    assert reservation is not None
    judge(mapping.map_inside, ptr, size, reservation.base + reservation.size)


def check_memory(process: Process, handle: Handle, ptr: int, size: int, offset: int) -> None:
    """Hold a mapping of memory to granularity and size: real drivers map whole allocations only."""
    judge, step = process.driver.judge, process.machine.memory_granularity
    judge(mapping.map_ptr_aligned, ptr, step)
    judge(mapping.map_offset, offset)
    judge(mapping.map_whole, size, handle.size)
    judge(mapping.map_size_aligned, size, step)
    judge(mapping.map_within_memory, offset, size, handle.size)


def check_multicast(process: Process, handle: Handle, ptr: int, size: int, offset: int) -> None:
    """Hold a mapping of a multicast object to its granularity and extent."""
    judge, step = process.driver.judge, process.machine.multicast_granularity
    judge(multicast_mapping.map_ptr_granularity, ptr, step)
    judge(multicast_mapping.map_size_granularity, size, step)
    judge(multicast_mapping.map_offset_granularity, offset, step)
    judge(multicast_mapping.map_offset_zero, offset)
    judge(multicast_mapping.map_within_object, offset, size, handle.size)
    judge(multicast_mapping.map_within_extent, offset, size, process.extent(handle))
    judge(multicast_mapping.map_recommended, ptr, size, process.machine.recommended_granularity(handle.size))


@entry("cuMemUnmap")
def mem_unmap(process: Process, ptr: int, size: int) -> None:
    """Take whole mappings away; the range is a plain reservation again."""
    judge = process.driver.judge
    judge(mapping.unmap_size_positive, size)
    judge(mapping.unmap_reserved, ptr, process.space.reservations.at(ptr) is not None)
    inside = process.space.mappings.within(ptr, size)
    for found in inside:
        judge(mapping.unmap_whole, ptr, size, found.base, found.size)
    judge(mapping.unmap_mapped, ptr, size, sum(found.size for found in inside))
    judge(mapping.unmap_one, ptr, len(inside))
    for found in inside:
        process.unmap(found)


@entry("cuMemSetAccess")
def mem_set_access(process: Process, ptr: int, size: int, desc: bytes, count: int) -> None:
    """Say who may touch whole mappings, and how."""
    judge = process.driver.judge
    judge(general.pointer_given, "ptr", ptr)
    judge(access.access_size_positive, size)
    judge(access.access_count, count)
    check_range(process, ptr, size)
    inside = process.space.mappings.within(ptr, size)
    judge(access.access_mapped, ptr, size, first_gap(inside, ptr, size))
    for found in inside:
        judge(access.access_whole, ptr, size, found.base, found.size)
    grants = read_access(desc)
    for (kind, number), flags in grants:
        judge(access.access_flags, flags)
        for found in inside:
            check_grant(process, found, kind, number)
    for found in inside:
        process.space.set_access(found, dict(grants))


def check_range(process: Process, ptr: int, size: int) -> None:
    """Hold the range of an access change to the granularity of what lies there."""
    judge, found = process.driver.judge, process.space.mappings.at(ptr)
    if found is not None and found.handle.kind == "multicast":
        judge(multicast_mapping.access_size_granularity, size, process.machine.multicast_granularity)
        judge(multicast_mapping.access_ptr_granularity, ptr, process.machine.multicast_granularity)
    else:
        judge(access.access_size_aligned, size, process.machine.memory_granularity)


def first_gap(inside: list[Mapping], ptr: int, size: int) -> int | None:
    """Answer the first address of a range that no mapping covers."""
    at = ptr
    for found in inside:
        if found.base > at:
            return at
        at = found.end
    return at if at < ptr + size else None


def check_grant(process: Process, found: Mapping, kind: int, number: int) -> None:
    """Hold the place that gets access to what can have it."""
    judge, name = process.driver.judge, LOCATIONS.get(kind, str(kind))
    judge(access.access_location_type, kind)
    if kind == DEVICE:
        judge(access.access_device, number, len(process.devices))
    if found.handle.kind == "memory":
        judge(access.access_host, name, LOCATIONS.get(found.handle.location[0], "INVALID"))
        return
    judge(multicast_mapping.access_by_device, name)
    team = team_of(process.world, found.handle.obj)
    judge(multicast_mapping.access_in_team, process.devices[number].index, team)
    judge(multicast_mapping.access_outside_team, process.devices[number].index, team)


@entry("cuMemGetAccess")
def mem_get_access(process: Process, location: bytes, ptr: int) -> int:
    """Answer how a location may touch an address."""
    kind, number = read_location(location)
    found = process.space.mappings.at(ptr)
    if found is None and process.heap.at(ptr) is not None:
        return 0  # recorded of plain and pool memory, whatever access there is (grants/plain.get, pools/access.get_vmm)
    process.driver.judge(access.get_access_mapped, ptr, found is not None)
    assert found is not None
    process.driver.judge(access.get_access_location, kind, number, len(process.devices))
    if kind == HOST:
        return READWRITE  # recorded, although access for HOST cannot be set (801)
    return found.access.get((kind, number), 0)
