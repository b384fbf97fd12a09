"""Fatbins: containers of PTX and cubins for several architectures.

NVIDIA does not document them. The layout is what public tools read (n-eiling/cuda-fatbin-decompression,
jiegec/fatbinary) and what libnvfatbin 13.5 writes: a header of 16 bytes, then entries, each a header that tells its own
length and that of the padded payload. Payloads may be compressed: LZ4 blocks up to CUDA 12.7, zstd by default since.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cumulticast.sim import lz4, zstd

MAGIC = 0xBA55ED50
WRAPPER_MAGIC = 0x466243B1  # __fatBinC_Wrapper_t: magic, version, address of the fatbin, unused
PTX, CUBIN = 1, 2
LZ4, ZSTD = 0x2000, 0x8000

HEADER = struct.Struct("<IHHQ")
WRAPPER = struct.Struct("<IIQQ")
_ENTRY = struct.Struct("<HHIQII4xI8xQ8xQ")


class Damaged(ValueError):
    """A container that contradicts itself."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    Attributes
    ----------
    kind
        1 PTX, 2 cubin; others are not for drivers (LTO-IR, …).
    arch
        The architecture: 90.
    data
        The payload, decompressed if it is PTX.
    """

    kind: int
    arch: int
    data: bytes


def size_of(header: bytes) -> int:
    """Answer how many bytes the container has, from its first 16.

    Raises
    ------
    Damaged
        Its header is said to be shorter than that.
    """
    _, _, length, size = HEADER.unpack(header)
    if length < HEADER.size:
        raise Damaged(f"the header of the fatbin says it has {length} bytes; it has {HEADER.size}")
    return length + size


def entries(data: bytes) -> Iterator[Entry]:
    """Read the entries of a container.

    Raises
    ------
    Damaged
        Lengths or compressed bytes make no sense.
    """
    at, end = HEADER.unpack_from(data)[2], size_of(data[: HEADER.size])
    if end > len(data):
        raise Damaged(f"the fatbin says it has {end} bytes; there are {len(data)}")
    while at + _ENTRY.size <= end:
        kind, _, header, padded, packed, _, arch, flags, size = _ENTRY.unpack_from(data, at)
        begin = at + header
        if header < _ENTRY.size or begin + padded > end:
            raise Damaged(f"an entry at {at} reaches beyond the {end} bytes of the fatbin")
        payload = data[begin : begin + (packed or padded)]
        yield Entry(kind, arch, _unpacked(payload, flags, size) if kind == PTX else payload)
        at = begin + padded


def _unpacked(payload: bytes, flags: int, size: int) -> bytes:
    try:
        if flags & ZSTD:
            return zstd.decompress(payload, size)
        return lz4.decompress(payload, size) if flags & LZ4 else payload
    except ValueError as error:
        raise Damaged(f"a compressed entry cannot be read: {error}") from error


def best(found: list[Entry], sm: int) -> Entry | None:
    """Choose the PTX of the newest architecture that is not newer than the device; None without any."""
    fitting = [entry for entry in found if entry.kind == PTX and entry.arch <= sm]
    return max(fitting, key=lambda entry: entry.arch, default=None)
