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
    ValueError
        It is none that multicast memory can be shared by.
    """
    number = KINDS.get(kind, 0) if isinstance(kind, str) else int(kind)
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


def positive(name: str, value: int) -> int:
    """Answer a size in bytes.

    Raises
    ------
    ValueError
        It is not positive.
    """
    size = operator.index(value)
    if size <= 0:
        raise ValueError(f"{name} {size}: at least 1 byte is needed")
    return size


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
