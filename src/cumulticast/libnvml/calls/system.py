"""Coming and going, versions, and confidential computing."""

from __future__ import annotations

import struct

from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Service, process_name
from cumulticast.libnvml.status import Refused, Status
from cumulticast.libnvml.texts import check_version, text, version

SETTINGS = struct.Struct("5I")
KNOWN_FLAGS = 0b111  # NO_GPUS, NO_ATTACH, FORCE_INIT


@answers("nvmlInit", "nvmlInit_v2")
def init(service: Service) -> None:
    """Count one more user; a machine whose driver never came up has no NVML either way."""
    service.users += 1


@answers("nvmlInitWithFlags")
def init_with_flags(service: Service, flags: int) -> None:
    """As init; the flags make no difference where there always are devices."""
    if flags & ~KNOWN_FLAGS:
        raise Refused(Status.INVALID_ARGUMENT, f"flags {flags:#x}: only {KNOWN_FLAGS:#x} are known")
    init(service)


@answers("nvmlShutdown")
def shutdown(service: Service) -> None:
    """Count one user less."""
    service.users -= 1


@answers("nvmlSystemGetDriverVersion")
def driver_version(service: Service, length: int) -> bytes:
    """Answer such as 615.71."""
    return text(service.facts.driver_version, length)


@answers("nvmlSystemGetNVMLVersion")
def nvml_version(service: Service, length: int) -> bytes:
    """Answer the CUDA version's first number and the driver's."""
    return text(service.facts.nvml_version, length)


@answers("nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2")
def cuda_driver_version(service: Service) -> int:
    """Answer what cuDriverGetVersion answers."""
    return service.machine.driver_version


@answers("nvmlSystemGetProcessName")
def name_of_process(service: Service, pid: int, length: int) -> bytes:
    """Answer the first word of a process's command line, cut to the buffer as documented."""
    del service
    if not length:
        raise Refused(Status.INVALID_ARGUMENT, "length is 0")
    return process_name(pid).encode()[: length - 1] + b"\0"


# Confidential computing: no simulated machine has it.


@answers("nvmlSystemGetConfComputeCapabilities")
def confidential_capabilities(service: Service) -> bytes:
    """Answer that the processor cannot, and whether the devices could."""
    return struct.pack("2I", 0, int(service.facts.confidential_capable))


@answers("nvmlSystemGetConfComputeState")
def confidential_state(service: Service) -> bytes:
    """Answer that it is off."""
    del service
    return struct.pack("3I", 0, 0, 0)


@answers("nvmlSystemGetConfComputeSettings")
def confidential_settings(service: Service, given: bytes) -> bytes:
    """Answer that it is off, the multi-GPU mode included."""
    del service
    return SETTINGS.pack(check_version(given, version(SETTINGS.size, 1)), 0, 0, 0, 0)


@answers("nvmlSystemGetConfComputeGpusReadyState")
def confidential_ready(service: Service) -> int:
    """Answer 0, as recorded where confidential computing is off: nobody has set the devices ready."""
    del service
    return 0
