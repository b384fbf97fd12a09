"""Contexts, memory and mappings for the demonstration; each is given back by the stack that holds it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from cumulticast import driver

MINIMUM = driver.MulticastGranularityFlags.MINIMUM


def use_device(held: ExitStack, device: int) -> int:
    """Retain a device's primary context, make it current, and answer it."""
    context = driver.device_primary_ctx_retain(device)
    held.callback(driver.device_primary_ctx_release_v2, device)
    driver.ctx_set_current(context)
    return context


def multicast_object(held: ExitStack, devices: int, size: int) -> int:
    """Create a multicast object for so many devices and so many bytes of each."""
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = devices, size
    mc = driver.multicast_create(prop)
    held.callback(driver.mem_release, mc)
    return mc


def granularity() -> int:
    """Ask for the minimum granularity of binds, in bytes."""
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 1, 1 << 21
    return driver.multicast_get_granularity(prop, MINIMUM)


def memory_on(held: ExitStack, device: int, size: int) -> int:
    """Create physical memory on a device."""
    prop = driver.MemAllocationProp_v1()
    prop.type = driver.MemAllocationType.PINNED
    prop.location.type, prop.location.id = driver.MemLocationType.DEVICE, device
    handle = driver.mem_create(size, prop, 0)
    held.callback(driver.mem_release, handle)
    return handle


def map_everywhere(held: ExitStack, handle: int, size: int, devices: Iterable[int]) -> int:
    """Map memory or a multicast object at an address that all these devices can use."""
    address = driver.mem_address_reserve(size, 0, 0, 0)
    held.callback(driver.mem_address_free, address, size)
    driver.mem_map(address, size, 0, handle, 0)
    held.callback(driver.mem_unmap, address, size)
    for device in devices:
        grant = driver.MemAccessDesc_v1()
        grant.location = _location(device)
        grant.flags_ = driver.MemAccessFlags.READWRITE
        driver.mem_set_access(address, size, grant, 1)
    return address


def replica_address(held: ExitStack, handle: int, size: int, device: int) -> int:
    """Map one device's memory by itself, for that device."""
    return map_everywhere(held, handle, size, [device])


def _location(device: int) -> driver.MemLocation_v1:
    location = driver.MemLocation_v1()
    location.type, location.id = driver.MemLocationType.DEVICE, device
    return location
