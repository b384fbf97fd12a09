"""Carry a plan out through the names of cuda.bindings, and write through it: what is planned is what memory shows."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack, contextmanager


def prop_of(driver, device):
    prop = driver.MemAllocationProp_v1()
    prop.type, prop.location.type = driver.MemAllocationType.PINNED, driver.MemLocationType.DEVICE
    prop.location.id = device
    return prop


@contextmanager
def created(driver, size, device):
    handle = driver.mem_create(size, prop_of(driver, device), 0)
    try:
        yield handle
    finally:
        driver.mem_release(handle)


@contextmanager
def bound(driver, mc, bind, handle):
    driver.multicast_bind_mem(mc, bind.mc_offset, handle, bind.mem_offset, bind.size, 0)
    try:
        yield
    finally:
        driver.multicast_unbind(mc, bind.device, bind.mc_offset, bind.size)


@contextmanager
def mapped(driver, handle, size, device):
    ptr = driver.mem_address_reserve(size, 0, 0, 0)
    try:
        driver.mem_map(ptr, size, 0, handle, 0)
        try:
            access = driver.MemAccessDesc_v1()
            access.location, access.flags_ = prop_of(driver, device).location, driver.MemAccessFlags.READWRITE
            driver.mem_set_access(ptr, size, access, 1)
            yield ptr
        finally:
            driver.mem_unmap(ptr, size)
    finally:
        driver.mem_address_free(ptr, size)


def memory_of(driver, stack, made, asked):
    """Create the memory of the plan, and that which existed: (name, created by the plan, device) -> (handle, bytes)."""
    sizes = {(block.name, True, block.device): block.size for block in made.blocks}
    for request in asked:
        if request.existing:
            sizes |= {(request.existing.memory, False, device): request.existing.size for device in request.team}
    return {key: (stack.enter_context(created(driver, size, key[2])), size) for key, size in sizes.items()}


def objects_of(driver, stack, made, memory):
    """Create each object, add its team and bind as planned; every call answers 0 or raises."""
    handles = []
    for planned in made.objects:
        prop = driver.MulticastObjectProp_v1()
        prop.num_devices, prop.size_ = len(planned.team), planned.size
        mc = driver.multicast_create(prop)
        stack.callback(driver.mem_release, mc)
        for device in planned.team:
            driver.multicast_add_device(mc, device)
        for bind in planned.binds:
            handle, _ = memory[bind.memory, bind.created, bind.device]
            stack.enter_context(bound(driver, mc, bind, handle))
        handles.append(mc)
    return handles


def bind_all(made, asked) -> None:
    """Create and bind everything, then take it back."""
    from cumulticast import driver  # loads libcuda: the machine stands by now

    driver.init(0)
    with ExitStack() as stack:
        objects_of(driver, stack, made, memory_of(driver, stack, made, asked))


def bytes_seen(made, asked) -> dict[tuple[str, int], bytes]:
    """Store a pattern into each array through multicast, last to first; return the bytes of each replica."""
    import numpy as np
    from checker import where

    from cumulticast import driver, multimem

    driver.init(0)
    with ExitStack() as stack:
        memory = memory_of(driver, stack, made, asked)
        objects = objects_of(driver, stack, made, memory)
        for planned, mc in zip(made.objects, objects, strict=True):
            ptr = stack.enter_context(mapped(driver, mc, planned.size, planned.team[0]))
            for array in reversed(planned.arrays):
                multimem.store(ptr + array.offset, np.frombuffer(pattern(array.name, array.nbytes), np.float32))
        seen = {}
        views = {
            key: stack.enter_context(mapped(driver, handle, size, key[2])) for key, (handle, size) in memory.items()
        }
        for planned in made.objects:
            for array in planned.arrays:
                for device in planned.team:
                    name, new, offset = where(planned, array, device)
                    seen[array.name, device] = ctypes.string_at(views[name, new, device] + offset, array.nbytes)
        return seen


def pattern(name: str, nbytes: int) -> bytes:
    """Make bytes that only this array has; whole numbers of four."""
    return (name.encode().ljust(8, b".") * (nbytes // 8 + 1))[:nbytes]
