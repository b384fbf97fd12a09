"""Programs as modules of a context."""

from __future__ import annotations

import ctypes
from dataclasses import replace

from cumulticast import driver

from .errors import KernelsUnavailable
from .kinds import Reduction
from .program import Program, image_of, nvrtc_version


def _capability(device: int) -> tuple[int, int]:
    asked = driver.DeviceAttribute
    major = driver.device_get_attribute(asked.COMPUTE_CAPABILITY_MAJOR, device)
    return major, driver.device_get_attribute(asked.COMPUTE_CAPABILITY_MINOR, device)


def load_module(reduction: Reduction | None, device: int) -> int:
    """Compile a program for a device, and load it into the current context.

    A driver older than NVRTC does not take its PTX, but machine code (CUDA's minor version compatibility).

    Raises
    ------
    KernelsUnavailable
        There is no NVRTC, or none that suits the driver, or the device is too old.
    """
    program = Program(reduction, _capability(device))
    try:
        return _load(image_of(program))
    except driver.UnsupportedPtxVersionError:
        image = image_of(replace(program, machine_code=True))
    try:
        return _load(image)
    except driver.NoBinaryForGpuError as error:
        version = driver.driver_get_version()
        ours = f"{version // 1000}.{version % 1000 // 10}"
        hint = f"pip install 'nvidia-cuda-nvrtc=={ours}.*' has one that suits"
        raise KernelsUnavailable(f"NVRTC {nvrtc_version()} is newer than the driver (CUDA {ours}); {hint}") from error


def _load(image: bytes) -> int:
    held = ctypes.create_string_buffer(image)
    return driver.module_load_data(ctypes.addressof(held))
