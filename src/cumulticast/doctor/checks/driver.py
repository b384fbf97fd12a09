"""The driver: which libcuda is loaded, whose it is, whether it starts."""

from __future__ import annotations

from typing import Any

from cumulticast.doctor import ask
from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

FIRST_WITH_MULTICAST = 12010  # cuda.h: the cuMulticast calls came with CUDA 12.1
NOT_READY = {
    802: ("fm-not-running", "fabric-registration-pending"),
    919: ("fabric-registration-pending",),
}


@check("driver", "the driver: version, which libcuda, whether it starts", apart=True)
def driver() -> Result:
    """Load libcuda as cuda.bindings does, ask its version, and initialise it."""
    try:
        cuda = ask.driver()
        version = int(ask.call(cuda.cuDriverGetVersion))
    except (ask.Unavailable, ask.Status) as error:
        return Result("driver", "not-available", str(error))
    details: dict[str, Any] = {
        "version": version,
        "kernel_driver": _kernel_driver(),
        "libcuda": ask.loaded("libcuda.so"),
        "simulated_by": ask.ours(),
    }
    name = f"CUDA {version // 1000}.{version % 1000 // 10}, driver {details['kernel_driver'] or 'unknown'}"
    whose = f"{name}, simulated by cumulticast {details['simulated_by']}" if details["simulated_by"] else name
    try:
        ask.call(cuda.cuInit, 0)
    except ask.Status as error:
        return _no_start(error, whose, details)
    if version < FIRST_WITH_MULTICAST:
        return Result("driver", "missing", f"{whose}: multicast came with CUDA 12.1", details)
    return Result("driver", "ok", whose, details)


def _no_start(error: ask.Status, whose: str, details: dict[str, Any]) -> Result:
    """Say why cuInit failed; no device is no fault of multicast's."""
    details |= {"call": error.call, "status": error.code}
    if error.code == 100:
        return Result("driver", "not-available", f"{whose}: there is no device", details)
    return Result("driver", "missing", f"{whose}: {error}", details, NOT_READY.get(error.code, ()))


def _kernel_driver() -> str | None:
    """Answer the version of the kernel driver as NVML tells it."""
    try:
        with ask.nvml() as nvml:
            return str(nvml.system_get_driver_version())
    except ask.Unavailable:
        return None
