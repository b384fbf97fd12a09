"""Texts and versioned structures as NVML hands them out."""

from __future__ import annotations

import struct

from cumulticast.libnvml.status import Refused, Status


def text(value: str, length: int) -> bytes:
    """Answer a C string for a buffer of ``length`` bytes; 7 when it does not fit."""
    encoded = value.encode() + b"\0"
    if len(encoded) > length:
        raise Refused(Status.INSUFFICIENT_SIZE, f"{value!r} needs {len(encoded)} bytes, the buffer has {length}")
    return encoded


def version(size: int, number: int) -> int:
    """Answer what the version of a structure is (NVML_STRUCT_VERSION): its size and its number."""
    return size | number << 24


def asked_version(given: bytes) -> int:
    """Read the version that a caller has put at the head of a structure."""
    return struct.unpack_from("I", given)[0]


def check_version(given: bytes, *known: int) -> int:
    """Answer the version that the caller asks for; 25 when it is none of ``known``."""
    asked = asked_version(given)
    if asked not in known:
        wanted = " or ".join(f"{value:#x}" for value in known)
        raise Refused(Status.ARGUMENT_VERSION_MISMATCH, f"the structure says version {asked:#x}, not {wanted}")
    return asked
