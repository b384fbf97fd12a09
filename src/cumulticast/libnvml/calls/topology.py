"""How two devices reach each other."""

from __future__ import annotations

import struct

from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status

INTERNAL, SINGLE, MULTIPLE, HOST_BRIDGE, NODE, SYSTEM = range(0, 60, 10)  # nvmlGpuTopologyLevel_t
READ, WRITE, NVLINK, ATOMICS, PCI = range(5)  # nvmlGpuP2PCapsIndex_t
OK, NOT_SUPPORTED = 0, 5  # nvmlGpuP2PStatus_t


def level(service: Service, one: Gpu, other: Gpu) -> int:
    """Answer the nearest thing that both paths to the host have in common: the NUMA node, or the system."""
    numa = service.machine.host_numa_ids
    if one is other:
        return INTERNAL
    return NODE if numa[one.device.ordinal] == numa[other.device.ordinal] else SYSTEM


@answers("nvmlDeviceGetTopologyCommonAncestor")
def common_ancestor(service: Service, one: Gpu, other: Gpu) -> int:
    """Answer nvmlGpuTopologyLevel_t; a device has none in common with itself (recorded: 3)."""
    if one is other:
        raise Refused(Status.NOT_SUPPORTED, "both are the same device")
    return level(service, one, other)


@answers("nvmlDeviceGetTopologyNearestGpus")
def nearest(service: Service, gpu: Gpu, wanted: int, room: int) -> tuple[int, bytes]:
    """Answer the devices that are at this level from one, as many as there is room for; none asked: their number."""
    if wanted not in (INTERNAL, SINGLE, MULTIPLE, HOST_BRIDGE, NODE, SYSTEM):
        raise Refused(Status.INVALID_ARGUMENT, f"{wanted} is no topology level")
    found = [other.handle for other in service.gpus if other is not gpu and level(service, gpu, other) == wanted]
    if not room:
        return len(found), b""
    taken = found[:room]
    return len(taken), struct.pack(f"{len(taken)}Q", *taken)


@answers("nvmlDeviceGetP2PStatus")
def p2p_status(service: Service, one: Gpu, other: Gpu, wanted: int) -> int:
    """Answer whether one device can do something to the other's memory."""
    access = service.machine.peer_access
    if wanted > PCI:
        raise Refused(Status.INVALID_ARGUMENT, f"{wanted} is no kind of access")
    if one is other or access == "none":
        return NOT_SUPPORTED
    able = {READ, WRITE, NVLINK, ATOMICS} if access == "nvlink" else {READ, WRITE, PCI}
    return OK if wanted in able else NOT_SUPPORTED


@answers("nvmlDeviceOnSameBoard")
def same_board(service: Service, one: Gpu, other: Gpu) -> int:
    """Answer 1 for a device and itself: every board has one device."""
    del service
    return int(one is other)
