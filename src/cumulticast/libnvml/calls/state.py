"""Clocks, power, temperature, modes: of devices that do nothing."""

from __future__ import annotations

import struct

from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status, not_supported
from cumulticast.libnvml.texts import check_version, version
from cumulticast.sim.presets import attribute_numbers

TEMPERATURE = struct.Struct("IIi")
GRAPHICS, SM, MEMORY, VIDEO = range(4)  # nvmlClockType_t
SENSOR_GPU = 0
PASSTHROUGH = 1  # NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH


@answers("nvmlDeviceGetClockInfo")
def clock(service: Service, gpu: Gpu, kind: int) -> int:
    """Answer the idle clock; memory and video engine are always at their full one. In MHz."""
    if kind == VIDEO + 1:  # the number behind the last one: recorded
        raise not_supported(f"clock type {kind}")
    full = max_clock(service, gpu, kind)
    return full if kind in (MEMORY, VIDEO) else min(full, service.facts.clock_idle)


@answers("nvmlDeviceGetMaxClockInfo")
def max_clock(service: Service, gpu: Gpu, kind: int) -> int:
    """Answer what CUDA's attributes say, in MHz."""
    if kind not in (GRAPHICS, SM, MEMORY, VIDEO):
        raise Refused(Status.INVALID_ARGUMENT, f"{kind} is no clock type")
    if kind == VIDEO:
        return service.facts.clock_video
    name = "MEMORY_CLOCK_RATE" if kind == MEMORY else "CLOCK_RATE"
    return gpu.device.attributes[attribute_numbers()[name]] // 1000


@answers("nvmlDeviceGetTemperature")
def temperature(service: Service, gpu: Gpu, sensor: int) -> int:
    """Answer degrees Celsius."""
    del gpu
    if sensor != SENSOR_GPU:
        raise Refused(Status.INVALID_ARGUMENT, f"{sensor} is no temperature sensor")
    return service.facts.temperature


@answers("nvmlDeviceGetTemperatureV")
def temperature_versioned(service: Service, gpu: Gpu, given: bytes) -> bytes:
    """Answer nvmlTemperature_v1_t; the caller names the sensor in it."""
    known = check_version(given, version(TEMPERATURE.size, 1))
    sensor = TEMPERATURE.unpack(given)[1]
    return TEMPERATURE.pack(known, sensor, temperature(service, gpu, sensor))


@answers("nvmlDeviceGetPowerUsage")
def power(service: Service, gpu: Gpu) -> int:
    """Answer milliwatts."""
    del gpu
    return service.facts.power_idle


@answers(
    "nvmlDeviceGetPowerManagementLimit",
    "nvmlDeviceGetPowerManagementDefaultLimit",
    "nvmlDeviceGetEnforcedPowerLimit",
)
def power_limit(service: Service, gpu: Gpu) -> int:
    """Answer milliwatts; nobody has changed it."""
    del gpu
    return service.facts.power_limit


@answers("nvmlDeviceGetPowerManagementLimitConstraints")
def power_limits(service: Service, gpu: Gpu) -> tuple[int, int]:
    """Answer the least and the highest limit, in milliwatts."""
    del gpu
    return service.facts.power_minimum, service.facts.power_limit


@answers("nvmlDeviceGetPerformanceState", "nvmlDeviceGetPowerState")
def performance_state(service: Service, gpu: Gpu) -> int:
    """Answer P0, in which data-centre boards also idle."""
    del service, gpu
    return 0


@answers("nvmlDeviceGetUtilizationRates")
def utilization(service: Service, gpu: Gpu) -> bytes:
    """Answer 0 % of device and memory."""
    del service, gpu
    return struct.pack("2I", 0, 0)


@answers("nvmlDeviceGetEncoderUtilization", "nvmlDeviceGetDecoderUtilization")
def codec_utilization(service: Service, gpu: Gpu) -> tuple[int, int]:
    """Answer 0 %, sampled over 0.1 s."""
    del service, gpu
    return 0, 100_000


@answers("nvmlDeviceGetPersistenceMode", "nvmlDeviceGetDisplayMode")
def on(service: Service, gpu: Gpu) -> int:
    """Answer 1, as recorded: persistent, and able to show something (which nobody looks at)."""
    del service, gpu
    return 1


@answers("nvmlDeviceGetComputeMode", "nvmlDeviceGetDisplayActive")
def off(service: Service, gpu: Gpu) -> int:
    """Answer 0: the default compute mode; no display is attached."""
    del service, gpu
    return 0


@answers("nvmlDeviceGetEccMode")
def ecc(service: Service, gpu: Gpu) -> tuple[int, int]:
    """Answer on, now and after the next reboot."""
    del service, gpu
    return 1, 1


@answers("nvmlDeviceGetTotalEccErrors")
def ecc_errors(service: Service, gpu: Gpu, error: int, counter: int) -> int:
    """Answer 0 errors."""
    del service, gpu
    if error > 1 or counter > 1:
        raise Refused(Status.INVALID_ARGUMENT, f"error type {error}, counter type {counter}: each is 0 or 1")
    return 0


@answers("nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetGpuMaxPcieLinkGeneration")
@answers("nvmlDeviceGetCurrPcieLinkGeneration")
def pcie_generation(service: Service, gpu: Gpu) -> int:
    """Answer the generation of the link to the host."""
    del gpu
    return service.facts.pcie_generation


@answers("nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkWidth")
def pcie_width(service: Service, gpu: Gpu) -> int:
    """Count the lanes of the link to the host."""
    del gpu
    return service.facts.pcie_width


@answers("nvmlDeviceGetVirtualizationMode")
def virtualization(service: Service, gpu: Gpu) -> int:
    """Answer whether the device is passed through to a virtual machine."""
    del gpu
    return PASSTHROUGH if service.facts.virtual else 0


# MIG: the devices could, and none is split.


@answers("nvmlDeviceGetMigMode")
def mig_mode(service: Service, gpu: Gpu) -> tuple[int, int]:
    """Answer off, now and after the next reset."""
    del gpu
    if not service.facts.mig:
        raise not_supported("MIG")
    return 0, 0


@answers("nvmlDeviceIsMigDeviceHandle", "nvmlDeviceGetMaxMigDeviceCount")
def no_mig_device(service: Service, gpu: Gpu) -> int:
    """Answer 0."""
    del service, gpu
    return 0


@answers("nvmlDeviceGetMigDeviceHandleByIndex")
def mig_device(service: Service, gpu: Gpu, index: int) -> int:
    """Find none."""
    raise Refused(Status.NOT_FOUND, f"device {gpu.index} of {service.machine.name} has no MIG device {index}")
