"""nvmlDeviceGetFieldValues: many values in one call, each with a status of its own."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

from cumulticast.libnvml.calls import nvlink, state
from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status, not_supported

FIELD = struct.Struct("2I2q2I8s")  # nvmlFieldValue_t: id, scope, time, latency, type, status, value
UNSIGNED_INT = 1  # nvmlValueType_t

Reader = Callable[[Service, Gpu, int], int]


def _speed(service: Service, gpu: Gpu, link: int) -> int:
    nvlink.state(service, gpu, link)
    return service.facts.link_speed


def _common_speed(service: Service, gpu: Gpu, link: int) -> int:
    del link
    return _speed(service, gpu, 0)


def _count(service: Service, gpu: Gpu, link: int) -> int:
    del gpu, link
    if not service.facts.links:
        raise not_supported("NVLink")
    return service.facts.links


def _power(service: Service, gpu: Gpu, scope: int) -> int:
    del scope
    return state.power(service, gpu)


def _temperature(service: Service, gpu: Gpu, scope: int) -> int:
    del scope
    return state.temperature(service, gpu, state.SENSOR_GPU)


def _speed_of(link: int) -> Reader:
    return lambda service, gpu, scope: _speed(service, gpu, link)


#: NVML_FI_DEV_ number → what reads it, with the scope (the link) that the caller gives.
READERS: dict[int, Reader] = {
    82: _temperature,  # MEMORY_TEMP
    **{84 + link: _speed_of(link) for link in range(6)},  # NVLINK_SPEED_MBPS_L0 to L5
    90: _common_speed,  # NVLINK_SPEED_MBPS_COMMON
    91: _count,  # NVLINK_LINK_COUNT
    **{132 + link: _speed_of(6 + link) for link in range(6)},  # NVLINK_SPEED_MBPS_L6 to L11
    164: _speed,  # NVLINK_GET_SPEED
    165: nvlink.state,  # NVLINK_GET_STATE
    166: nvlink.link_version,  # NVLINK_GET_VERSION
    185: _power,  # POWER_AVERAGE
    186: _power,  # POWER_INSTANT
}


@answers("nvmlDeviceGetFieldValues")
def field_values(service: Service, gpu: Gpu, count: int, given: bytes) -> bytes:
    """Answer each value, or why not; the call itself succeeds."""
    if count < 1:
        raise Refused(Status.INVALID_ARGUMENT, f"{count} values are asked for")
    return b"".join(_value(service, gpu, *FIELD.unpack(given[at : at + FIELD.size])[:2]) for at in _places(count))


def _places(count: int) -> range:
    return range(0, count * FIELD.size, FIELD.size)


def _value(service: Service, gpu: Gpu, field: int, scope: int) -> bytes:
    number, status, began = 0, Status.INVALID_ARGUMENT, time.perf_counter_ns()
    if field in READERS:
        try:
            number, status = READERS[field](service, gpu, scope), Status.SUCCESS
        except Refused as refused:
            status = refused.status
    latency = (time.perf_counter_ns() - began) // 1000
    value = struct.pack("Q", number)
    return FIELD.pack(field, scope, time.time_ns() // 1000, latency, UNSIGNED_INT, int(status), value)
