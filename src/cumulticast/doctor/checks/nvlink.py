"""The NVLinks of the devices: how many are up, and what is at their other ends."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from cumulticast.doctor import ask
from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

MOST_LINKS = 36  # NVML_NVLINK_MAX_LINKS of nvml.h 13.5
KINDS = {0: "gpu", 1: "npu", 2: "switch", 255: "unknown"}  # nvmlIntNvLinkDeviceType_t


@check("nvlink", "NVLink: links that are up, and to what", apart=True)
def nvlink() -> Result:
    """Count the links of each device."""
    try:
        with ask.nvml() as nvml:
            found = [_links(nvml, handle) for handle in ask.handles(nvml)]
    except ask.Unavailable as error:
        return Result("nvlink", "not-available", str(error))
    details = {"devices": found}
    if not any(device["links"] for device in found):
        return Result("nvlink", "not-available", "the devices have no NVLink, or do not tell", details)
    down = [k for k, device in enumerate(found) if device["up"] < device["links"]]
    if down:
        first = found[down[0]]
        summary = f"device {down[0]}: {first['up']} of {first['links']} links are up"
        return Result("nvlink", "partial", summary, details, ("nvlink-hardware-fault",))
    kinds = sorted({kind for device in found for kind in device["to"]})
    return Result("nvlink", "ok", f"{found[0]['links']} links a device, all up, to {', '.join(kinds) or '?'}", details)


def _links(nvml: ModuleType, handle: int) -> dict[str, Any]:
    """Ask link by link, until the device has no more."""
    states: list[bool] = []
    kinds: set[str] = set()
    for link in range(MOST_LINKS):
        up = _state(nvml, handle, link)
        if up is None:
            break
        states.append(up)
        kind = ask.maybe(nvml.device_get_nvlink_remote_device_type, handle, link) if up else None
        if kind is not None:
            kinds.add(KINDS.get(int(kind), str(int(kind))))
    return {"links": len(states), "up": sum(states), "to": sorted(kinds)}


def _state(nvml: ModuleType, handle: int, link: int) -> bool | None:
    """Answer whether a link is up; None when the device has no such link."""
    try:
        return bool(nvml.device_get_nvlink_state(handle, link))
    except (nvml.NotSupportedError, nvml.InvalidArgumentError, nvml.FunctionNotFoundError):
        return None
