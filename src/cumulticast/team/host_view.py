"""Numpy on the memory of the software driver. The one place of the team that asks which driver is loaded."""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any

import numpy as np


def host_view(ptr: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """Answer an array on memory at an address.

    Raises
    ------
    BufferError
        The driver is a real one: its memory is not the host's.
    """
    if not memory_is_host_memory():
        raise BufferError(
            "numpy cannot see a device's memory: copy it with get() and set(), or pass the array to cupy, torch or "
            "cuda.core by DLPack"
        )
    raw = (ctypes.c_uint8 * (math.prod(shape) * dtype.itemsize)).from_address(ptr)
    return np.frombuffer(memoryview(raw), dtype).reshape(shape)


@cache
def memory_is_host_memory() -> bool:
    """Tell whether the loaded libcuda is the software driver: it exports ``cumulticast_version``."""
    try:
        library = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL | getattr(ctypes, "RTLD_NOLOAD", 4))
    except OSError:
        return False
    return hasattr(library, "cumulticast_version")
