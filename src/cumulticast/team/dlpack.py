"""Arrays for other libraries: DLPack capsules and the CUDA array interface.

The memory belongs to the team, whatever others make of it: it is there until the array or the team is closed, and no
tensor keeps it. So an array counts its tensors, and does not close under one (`SymmetricArray.close`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cumulticast import driver

from ._dlpack import ffi, lib

CUDA = 2  # kDLCUDA
#: The first version that has codes for 8-bit floats; the structure is that of 1.0.
VERSION = (1, 1)
#: CU_STREAM_LEGACY, and what the array API standard calls -1.
LEGACY, NO_ORDER = 1, -1
#: numpy's kind → DLDataTypeCode, and the names of ml_dtypes. Types of less than a byte, which ml_dtypes keeps in one
#: byte each, have no code before 1.2.
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMES = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Exports:
    """The tensors that others made of an array and have not let go yet."""

    def __init__(self) -> None:
        self._exports = ffi.gc(lib.exports_begin(), lib.exports_end)

    @property
    def alive(self) -> int:
        """How many there are."""
        return int(lib.exports_alive(self._exports))

    def capsule(self, tensor: Tensor, max_version: tuple[int, int] | None) -> object:
        """Make a capsule: of our version where the consumer knows versions, else of the form before 1.0."""
        major, minor = VERSION if max_version and max_version[0] >= 1 else (0, 0)
        like, *extents = ffi.new("struct dl_tensor *"), *map(_int64s, (tensor.shape, strides(tensor.shape)))
        like.data, like.device_type, like.device_id = ffi.cast("void *", tensor.ptr), CUDA, tensor.device
        like.code, like.bits, like.lanes = type_code(tensor.dtype), tensor.dtype.itemsize * 8, 1
        like.ndim, (like.shape, like.strides) = len(tensor.shape), extents
        managed = lib.exports_add(self._exports, like, major, minor)
        if managed == ffi.NULL:
            raise MemoryError("the host has no memory left for a DLPack capsule")
        name = ffi.cast("uintptr_t", lib.capsule_name(major))
        return _new_capsule(int(ffi.cast("uintptr_t", managed)), int(name), lib.capsule_destructor())


@dataclass(frozen=True, slots=True)
class Tensor:
    """Memory of a device, in C order.

    Attributes
    ----------
    ptr
        Address.
    device
        Ordinal.
    shape, dtype
        As numpy has them.
    """

    ptr: int
    device: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _int64s(numbers: Sequence[int]) -> Any:
    return ffi.new("int64_t[]", numbers)


def strides(shape: Sequence[int]) -> list[int]:
    """Answer the strides of an array in C order, in elements."""
    found, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape))):
        found[axis], step = step, step * shape[axis]
    return found


def type_code(dtype: np.dtype[Any]) -> int:
    """Answer DLPack's code of a type.

    Raises
    ------
    BufferError
        It has none.
    """
    code = _NAMES.get(dtype.name, _KINDS.get(dtype.kind) if dtype.isbuiltin == 1 else None)
    if code is None or not dtype.isnative:
        raise BufferError(f"DLPack {VERSION[0]}.{VERSION[1]} has no code for {dtype}: take .ptr, or an array of bytes")
    return code


def check_request(device: int, dl_device: tuple[int, int] | None, copy: bool | None) -> None:
    """Refuse what would need a copy.

    Raises
    ------
    BufferError
        A consumer asks for one, or for the memory on another device.
    """
    if copy:
        raise BufferError("copy=True: the array is exported as it is; let the consumer copy it")
    if dl_device is not None and tuple(map(int, dl_device)) != (CUDA, device):
        raise BufferError(f"dl_device {tuple(dl_device)}: the memory lies on {(CUDA, device)}, and is not copied")


def let_wait(device: int, stream: int | None) -> None:
    """Let a stream of the consumer's wait for what was handed to the device on the default stream.

    The team's own streams, and all that were not made non-blocking, are ordered with that. Who hands work over on a
    non-blocking stream orders it himself.

    Parameters
    ----------
    device
        Ordinal.
    stream
        As the array API standard has it for CUDA: None or 1 the legacy default stream, 2 the per-thread one, a handle;
        -1 for no order.

    Raises
    ------
    ValueError
        It is 0, which the standard forbids since it could be either default stream.
    """
    if stream in (None, LEGACY, NO_ORDER):
        return
    if stream == 0:
        raise ValueError("stream 0 is ambiguous: 1 is the legacy default stream, 2 the per-thread one, -1 no order")
    with in_context_of(device):
        event = driver.event_create(int(driver.EventFlags.DISABLE_TIMING))
        try:
            driver.event_record(event, LEGACY)
            driver.stream_wait_event(stream, event, 0)
        finally:
            driver.event_destroy_v2(event)


@contextmanager
def in_context_of(device: int) -> Generator[None]:
    """Make the primary context of a device current for a while; the team, whose memory it is about, holds it."""
    driver.ctx_push_current_v2(driver.device_primary_ctx_retain(device))
    try:
        yield
    finally:
        driver.ctx_pop_current_v2()
        driver.device_primary_ctx_release_v2(device)
