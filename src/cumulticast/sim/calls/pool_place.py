"""Which pool is in use where: the forms that name a device, and those that name a location."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, general, pools
from cumulticast.sim.address_space import Location
from cumulticast.sim.calls.pool import PINNED, check_place, pool_of
from cumulticast.sim.entry import entry
from cumulticast.sim.lookup import device_of
from cumulticast.sim.process import Process
from cumulticast.sim.structs import DEVICE, HOST, HOST_NUMA_CURRENT, read_location

MANAGED = 2  # CU_MEM_ALLOCATION_TYPE_MANAGED


@entry("cuDeviceGetDefaultMemPool")
def device_get_default_mem_pool(process: Process, dev: int) -> int:
    """Answer a device's default pool."""
    return process.pools.default((DEVICE, device_of(process, dev).ordinal)).value


@entry("cuDeviceGetMemPool")
def device_get_mem_pool(process: Process, dev: int) -> int:
    """Answer the pool from which cuMemAllocAsync takes on a device."""
    return process.pools.current((DEVICE, device_of(process, dev).ordinal)).value


@entry("cuDeviceSetMemPool")
def device_set_mem_pool(process: Process, dev: int, pool: int) -> None:
    """Let cuMemAllocAsync take from another pool of this device."""
    use(process, (DEVICE, device_of(process, dev).ordinal), pool)


def use(process: Process, place: Location, pool: int) -> None:
    """Put a pool in use where its memory is, and nowhere else (101)."""
    found = pool_of(process, pool)
    if found.location != place:
        raise Refused(Status.INVALID_DEVICE, None, f"pool {pool:#x} is of location {found.location}, not {place}")
    process.pools.set_current(place, found)


@entry("cuMemGetDefaultMemPool")
def mem_get_default_mem_pool(process: Process, location: bytes, kind: int) -> int:
    """Answer a location's default pool of pinned memory."""
    return process.pools.default(place_of(process, location, kind)).value


@entry("cuMemGetMemPool")
def mem_get_mem_pool(process: Process, location: bytes, kind: int) -> int:
    """Answer the pool of pinned memory in use for a location."""
    return process.pools.current(place_of(process, location, kind)).value


@entry("cuMemSetMemPool")
def mem_set_mem_pool(process: Process, location: bytes, kind: int, pool: int) -> None:
    """Put another pool of pinned memory in use for a location."""
    use(process, place_of(process, location, kind), pool)


def place_of(process: Process, location: bytes, kind: int) -> Location:
    """Answer the location, or refuse (1) one that does not exist, and (801) managed pools."""
    if kind == MANAGED:
        raise Refused(Status.NOT_SUPPORTED, general.simulated, "pools of managed memory are not simulated")
    process.driver.judge(pools.pool_properties, "type", kind, (PINNED,))
    place, number = read_location(location)
    if place == HOST_NUMA_CURRENT:
        raise Refused(Status.NOT_SUPPORTED, None, "location HOST_NUMA_CURRENT has no pool (recorded)")
    check_place(process, place, number)
    return place, 0 if place == HOST else number
