"""The memory of a device, from the books of the world."""

from __future__ import annotations

import struct

from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status
from cumulticast.libnvml.texts import asked_version, version

MEMORY = struct.Struct("3Q")  # nvmlMemory_t: total, free, used
MEMORY_V2 = struct.Struct("I4x4Q")  # nvmlMemory_v2_t: version, total, reserved, free, used
BAR1 = struct.Struct("3Q")
MIB = 1 << 20


def free_bytes(service: Service, gpu: Gpu) -> int:
    """Count what is left of a device: ``memory=BYTES`` says, or what its allocations leave."""
    books = service.books()
    fault = books.fault("memory")
    left = service.machine.total_memory - books.used.get(gpu.device.index, 0)
    return min(left, int(fault.value)) if fault else left


@answers("nvmlDeviceGetMemoryInfo")
def memory_info(service: Service, gpu: Gpu) -> bytes:
    """Answer nvmlMemory_t: what the driver keeps for itself counts as used."""
    total, free = service.facts.total_memory, free_bytes(service, gpu)
    return MEMORY.pack(total, free, total - free)


@answers("nvmlDeviceGetMemoryInfo_v2")
def memory_info_v2(service: Service, gpu: Gpu, given: bytes) -> bytes:
    """Answer nvmlMemory_v2_t: what the driver keeps for itself stands apart."""
    known = version(MEMORY_V2.size, 2)
    if asked_version(given) != known:  # recorded: 13, where other calls answer 25
        raise Refused(Status.FUNCTION_NOT_FOUND, f"version {asked_version(given):#x} is not {known:#x}")
    total, free = service.facts.total_memory, free_bytes(service, gpu)
    reserved = total - service.machine.total_memory
    return MEMORY_V2.pack(known, total, reserved, free, total - reserved - free)


@answers("nvmlDeviceGetBAR1MemoryInfo")
def bar1(service: Service, gpu: Gpu) -> bytes:
    """Answer nvmlBAR1Memory_t: nothing but the first MiB is mapped."""
    del gpu
    total = service.facts.bar1_memory
    return BAR1.pack(total, total - MIB, MIB)
