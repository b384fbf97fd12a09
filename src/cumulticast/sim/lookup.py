"""From a number a caller gave to the thing it names, or the refusal that says what it is instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cumulticast.rules import Rule, general, multicast_team
from cumulticast.sim.handles import Handle
from cumulticast.sim.machine import Device
from cumulticast.sim.process import Process

Origin = Literal["cuMemCreate", "cuMemAlloc", "cuMemAllocAsync", "cuMemAllocHost", "a multicast object", "nothing"]


def device_of(process: Process, dev: int) -> Device:
    """Answer the device with this ordinal, or refuse (101)."""
    process.driver.judge(general.device_exists, dev, len(process.devices))
    return process.devices[dev]


def any_handle(process: Process, value: int, name: str = "handle") -> Handle:
    """Answer the object behind a handle, or refuse (1)."""
    handle = process.handles.find(value)
    if handle is None:
        process.driver.judge(general.handle_not_released, name, value, process.handles.was_released(value))
        process.driver.judge(general.handle_known, name, value, False)
    assert handle is not None
    return handle


def multicast_handle(process: Process, value: int) -> Handle:
    """Answer the multicast object behind a handle, or refuse (1)."""
    handle = any_handle(process, value, "mc_handle")
    process.driver.judge(multicast_team.multicast_handle, value, handle.kind == "multicast")
    return handle


def memory_handle(process: Process, value: int, rule: Rule[[int, bool]]) -> Handle:
    """Answer the memory behind a handle, or refuse as ``rule`` says."""
    handle = any_handle(process, value, "mem_handle")
    process.driver.judge(rule, value, handle.kind == "memory")
    return handle


@dataclass(frozen=True, slots=True)
class Found:
    """What lies behind an address.

    Attributes
    ----------
    origin
        How it came there.
    handle
        The physical allocation, where there is one.
    offset
        Where the address lies in that allocation.
    end
        The address behind the last byte of the mapping or allocation.
    """

    origin: Origin
    handle: Handle | None = None
    offset: int = 0
    end: int = 0


def memory_behind(process: Process, address: int) -> Found:
    """Answer what an address points to."""
    mapping = process.space.mappings.at(address)
    if mapping is None:
        return allocation_behind(process, address)
    if mapping.handle.kind == "multicast":
        return Found("a multicast object")
    return Found("cuMemCreate", mapping.handle, mapping.offset + address - mapping.base, mapping.end)


def allocation_behind(process: Process, address: int) -> Found:
    """Answer what the driver itself handed out at an address."""
    block = process.heap.at(address)
    if block is None:
        return Found("nothing")
    if block.chunk is None:
        return Found("cuMemAllocHost")
    origin: Origin = "cuMemAllocAsync" if block.pool else "cuMemAlloc"
    return Found(origin, block.chunk.handle, address - block.chunk.base, block.end)
