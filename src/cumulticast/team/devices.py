"""What users give for a device, a size or a kind of handle, as the number that the driver takes."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterable
from typing import Any, Literal

from cumulticast import driver

Granularity = Literal["minimum", "recommended"]
#: Anything that names a device: an ordinal, a `cuda.core.Device`, a CUdevice of cuda.bindings.
DeviceLike = Any
#: ``"posix_fd"``, ``"fabric"``, or a member of `driver.MemAllocationHandleType`.
Kind = str | int

#: The most bytes that are let through to the driver. It has size_t and CUdeviceptr; this leaves room for rounding up.
MOST_BYTES = (1 << 63) - 1
MOST_DEVICES = (1 << 32) - 1  # numDevices of CUmulticastObjectProp is an unsigned int

POSIX_FD = int(driver.MemAllocationHandleType.POSIX_FILE_DESCRIPTOR)
FABRIC = int(driver.MemAllocationHandleType.FABRIC)
KINDS = {"posix_fd": POSIX_FD, "fabric": FABRIC}
MULTICAST_SUPPORTED = driver.DeviceAttribute.MULTICAST_SUPPORTED
POSIX_FD_SUPPORTED = driver.DeviceAttribute.HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
FABRIC_SUPPORTED = driver.DeviceAttribute.HANDLE_TYPE_FABRIC_SUPPORTED


def device_ordinal(device: DeviceLike) -> int:
    """Answer a device's ordinal in this process.

    Raises
    ------
    TypeError
        It is nothing that names a device.
    ValueError
        There is no such device; the message says which there are.
    """
    given = getattr(device, "device_id", device)
    if isinstance(given, str | bytes | numbers.Real) and not isinstance(given, numbers.Integral):
        raise TypeError(f"{device!r} is no device: give an ordinal or a cuda.core.Device")
    try:
        ordinal = operator.index(given if hasattr(given, "__index__") else int(given))  # a CUdevice has __int__ alone
    except (TypeError, ValueError):
        raise TypeError(f"{device!r} is no device: give an ordinal or a cuda.core.Device") from None
    driver.init(0)
    count = driver.device_get_count()
    if not 0 <= ordinal < count:
        raise ValueError(f"device {ordinal}: this process sees {count} devices, 0 to {count - 1}")
    return ordinal


def handle_kind(kind: Kind) -> int:
    """Answer the driver's number of a kind of shareable handle.

    Raises
    ------
    TypeError, ValueError
        It is none that multicast memory can be shared by.
    """
    number = KINDS.get(kind, 0) if isinstance(kind, str) else whole("kind of shareable handle", kind)
    if number not in KINDS.values():
        raise ValueError(f"{kind!r} is no kind of shareable handle here: 'posix_fd' or 'fabric'")
    return number


def handle_mask(kinds: Kind | Iterable[Kind]) -> int:
    """Answer the mask of several kinds, 0 for none."""
    if isinstance(kinds, str | int):
        return handle_kind(kinds) if kinds else 0
    mask = 0
    for kind in kinds:
        mask |= handle_kind(kind)
    return mask


def whole(name: str, value: Any) -> int:
    """Answer a whole number.

    Raises
    ------
    TypeError
        It is none.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r}: a whole number is needed") from None


def positive(name: str, value: int, unit: str = "byte", most: int = MOST_BYTES) -> int:
    """Answer a size in bytes, or a number of something else.

    Raises
    ------
    TypeError, ValueError
        It is no whole number, not positive, or more than the driver's type holds.
    """
    size = whole(name, value)
    if size <= 0:
        raise ValueError(f"{name} {size}: at least 1 {unit} is needed")
    if size > most:
        raise ValueError(f"{name} {size}: at most {most}")
    return size


def offset(name: str, value: int) -> int:
    """Answer an offset in bytes, or an address.

    Raises
    ------
    TypeError, ValueError
        It is no whole number, negative, or more than the driver's type holds.
    """
    number = whole(name, value)
    if not 0 <= number <= MOST_BYTES:
        raise ValueError(f"{name} {number}: 0 to {MOST_BYTES}")
    return number


def round_up(size: int, step: int) -> int:
    """Answer the least multiple of ``step`` that is not below ``size``."""
    return -(-size // step) * step


def granularity_flag(policy: str) -> int:
    """Answer the driver's number of a granularity policy.

    Raises
    ------
    ValueError
        It is neither ``minimum`` nor ``recommended``.
    """
    flags = {"minimum": 0, "recommended": 1}
    if policy not in flags:
        raise ValueError(f"granularity {policy!r}: 'minimum' or 'recommended'")
    return flags[policy]
