"""The devices: how many, what they are, whether they have multicast, which handles and how much memory."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from cumulticast.doctor import ask
from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

GRANULE = 2 << 20  # MINIMUM of every driver seen so far
ATTRIBUTES = {
    "multicast": "CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED",  # 132
    "fabric_handles": "CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED",
    "descriptors": "CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED",
    "virtual_memory": "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED",
}


@check("devices", "the devices: multicast attribute (132), handle types", apart=True)
def devices() -> Result:
    """Ask the attributes of each device that CUDA sees."""
    try:
        cuda = ask.driver()
        ask.call(cuda.cuInit, 0)
        found = [_device(cuda, k) for k in range(int(ask.call(cuda.cuDeviceGetCount)))]
    except (ask.Unavailable, ask.Status) as error:
        return Result("devices", "not-available", str(error))
    details = {"devices": found}
    if not found:
        return Result("devices", "not-available", "CUDA sees no device (CUDA_VISIBLE_DEVICES?)", details)
    silent = [device["ordinal"] for device in found if device["multicast"] is None]
    having = sum(bool(device["multicast"]) for device in found)
    what = f"{len(found)} x {found[0]['name']}" if len({device["name"] for device in found}) == 1 else f"{len(found)}"
    if silent:  # a query that fails is no answer "no"
        summary = f"{what}: device {', '.join(map(str, silent))} does not tell whether it has multicast"
        return Result("devices", "partial" if having else "not-available", summary, details)
    if not having:
        summary = f"{what}: no device has multicast (attribute 132 is 0)"
        return Result("devices", "missing", summary, details, ("multicast-unsupported-topology",))
    if having < len(found):
        summary = f"{what}: only {having} devices have multicast"
        return Result("devices", "partial", summary, details, ("multicast-unsupported-topology",))
    if len(found) == 1:
        return Result("devices", "partial", f"{what}: one device makes no team", details)
    return Result("devices", "ok", f"{what}, all with multicast", details)


def _device(cuda: ModuleType, ordinal: int) -> dict[str, Any]:
    known = cuda.CUdevice_attribute
    device = ask.call(cuda.cuDeviceGet, ordinal)
    attributes = {key: _attribute(cuda, getattr(known, name), device) for key, name in ATTRIBUTES.items()}
    name = ask.call(cuda.cuDeviceGetName, 128, device)
    return {"ordinal": ordinal, "name": name.split(b"\0")[0].decode(), **attributes}


def _attribute(cuda: ModuleType, attribute: Any, device: Any) -> int | None:
    """Answer an attribute; None when the driver does not answer (one older than the attribute does not)."""
    try:
        return int(ask.call(cuda.cuDeviceGetAttribute, attribute, device))
    except ask.Status:
        return None


@check("memory", "free memory of the devices, and who has the rest", apart=True)
def memory() -> Result:
    """Ask NVML; less than one granule is too little for any multicast object."""
    try:
        with ask.nvml() as nvml:
            found = [_memory(nvml, handle) for handle in ask.handles(nvml)]
    except ask.Unavailable as error:
        return Result("memory", "not-available", str(error))
    details = {"devices": found}
    full = [k for k, device in enumerate(found) if device["free"] < GRANULE]
    if full:
        summary = f"less than 2 MiB is free on device {', '.join(map(str, full))}"
        return Result("memory", "missing", summary, details, ("device-memory-exhausted",))
    least = min((device["free"] for device in found), default=0)
    return Result("memory", "ok", f"at least {least >> 20} MiB are free on each of {len(found)} devices", details)


def _memory(nvml: ModuleType, handle: int) -> dict[str, Any]:
    found = nvml.device_get_memory_info_v2(handle)
    processes = ask.maybe(nvml.device_get_compute_running_processes_v3, handle)
    count = len(processes) if processes is not None else None
    return {"total": int(found.total), "free": int(found.free), "used": int(found.used), "processes": count}
