"""C structures of the driver API, read from bytes and written to bytes (layouts: cuda.h)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_PROP = struct.Struct("<iiiiQBBH4s")
_MULTICAST = struct.Struct("<I4xQQQ")
_LOCATION = struct.Struct("<ii")
_POOL = struct.Struct("<iiiiQQH54s")
_ACCESS = struct.Struct("<iii")

DEVICE, HOST, HOST_NUMA, HOST_NUMA_CURRENT, INVISIBLE, LOCALITY_DOMAIN = 1, 2, 3, 4, 5, 6
LOCATIONS = {
    0: "INVALID",
    DEVICE: "DEVICE",
    HOST: "HOST",
    HOST_NUMA: "HOST_NUMA",
    HOST_NUMA_CURRENT: "HOST_NUMA_CURRENT",
    INVISIBLE: "INVISIBLE",
    LOCALITY_DOMAIN: "DEVICE_LOCALITY_DOMAIN",
}
POSIX_FILE_DESCRIPTOR, WIN32, WIN32_KMT, FABRIC = 1, 2, 4, 8
SHAREABLE = POSIX_FILE_DESCRIPTOR | FABRIC  # what Linux knows


@dataclass(frozen=True, slots=True)
class AllocationProp:
    """CUmemAllocationProp."""

    type: int
    requested_handle_types: int
    location_type: int
    location_id: int
    win32_handle_meta_data: int
    compression_type: int
    gpu_direct_rdma_capable: int
    usage: int
    reserved: bytes

    @classmethod
    def read(cls, data: bytes) -> AllocationProp:
        """Read the 32 bytes of the C structure."""
        return cls(*_PROP.unpack(data))

    def write(self) -> bytes:
        """Write the 32 bytes of the C structure."""
        return _PROP.pack(
            self.type,
            self.requested_handle_types,
            self.location_type,
            self.location_id,
            self.win32_handle_meta_data,
            self.compression_type,
            self.gpu_direct_rdma_capable,
            self.usage,
            self.reserved,
        )


@dataclass(frozen=True, slots=True)
class MulticastProp:
    """CUmulticastObjectProp."""

    num_devices: int
    size: int
    handle_types: int
    flags: int

    @classmethod
    def read(cls, data: bytes) -> MulticastProp:
        """Read the 32 bytes of the C structure."""
        return cls(*_MULTICAST.unpack(data))


@dataclass(frozen=True, slots=True)
class PoolProps:
    """CUmemPoolProps, as far as it is read."""

    alloc_type: int
    handle_types: int
    location_type: int
    location_id: int
    max_size: int

    @classmethod
    def read(cls, data: bytes) -> PoolProps:
        """Read the 88 bytes of the C structure."""
        alloc_type, handle_types, kind, number, _, max_size, _, _ = _POOL.unpack(data)
        return cls(alloc_type, handle_types, kind, number, max_size)


def read_location(data: bytes) -> tuple[int, int]:
    """Read a CUmemLocation: type and id."""
    kind, number = _LOCATION.unpack(data)
    return kind, number


def read_access(data: bytes) -> list[tuple[tuple[int, int], int]]:
    """Read an array of CUmemAccessDesc: (location, flags) each."""
    return [((kind, number), flags) for kind, number, flags in _ACCESS.iter_unpack(data)]
