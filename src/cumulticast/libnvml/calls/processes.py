"""The processes of the world that have memory on a device."""

from __future__ import annotations

import struct

from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status

V1 = struct.Struct("I4xQ")  # nvmlProcessInfo_v1_t: pid, used bytes
V2 = struct.Struct("I4xQ2I")  # nvmlProcessInfo_v2_t and later: also the MIG instances
NO_INSTANCE = 0xFFFF_FFFF


def _array(records: list[bytes], room: int) -> tuple[int, bytes]:
    """Answer how many there are and the array of them; 7 with the number when the caller's array is too short."""
    if len(records) > room:
        reason = f"there are {len(records)} processes, and room for {room}"
        raise Refused(Status.INSUFFICIENT_SIZE, reason, (len(records), b""))
    return len(records), b"".join(records)


@answers("nvmlDeviceGetComputeRunningProcesses")
def compute_processes_v1(service: Service, gpu: Gpu, room: int) -> tuple[int, bytes]:
    """Answer pid and used bytes of each."""
    return _array([V1.pack(pid, used) for pid, used in _holders(service, gpu)], room)


@answers("nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3")
def compute_processes(service: Service, gpu: Gpu, room: int) -> tuple[int, bytes]:
    """Answer pid and used bytes of each, in no MIG instance."""
    records = [V2.pack(pid, used, NO_INSTANCE, NO_INSTANCE) for pid, used in _holders(service, gpu)]
    return _array(records, room)


@answers(
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
)
def no_processes(service: Service, gpu: Gpu, room: int) -> tuple[int, bytes]:
    """Answer none: there are no graphics and no MPS here."""
    del service, gpu
    return _array([], room)


@answers("nvmlDeviceGetProcessUtilization")
def process_utilization(service: Service, gpu: Gpu, room: int, since: int) -> tuple[bytes, int]:
    """Find no samples: nothing is sampled."""
    del service, room, since
    raise Refused(Status.NOT_FOUND, f"no samples of device {gpu.index}", (b"", 0))


def _holders(service: Service, gpu: Gpu) -> list[tuple[int, int]]:
    return [(holder.pid, holder.used) for holder in service.books().holders if holder.device == gpu.device.index]
