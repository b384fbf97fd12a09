"""Arguments and outputs of calls as JSON text: numbers as numbers, structures as their fields, other bytes in hex.

Fields have their C names. Addresses and handles are numbers, as all scalars are. A long array or text is cut, and
says so.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from cumulticast.libcuda.table import Entry, Param
from cumulticast.sim import native
from cumulticast.sim.structs import (
    FABRIC,
    LOCATIONS,
    POSIX_FILE_DESCRIPTOR,
    AllocationProp,
    MulticastProp,
    PoolProps,
    read_access,
    read_location,
)

Show = Callable[[Any], str]

MOST_BYTES = 64  # of what has no fields
MOST_ITEMS = 80  # of an array: a rack's 72 devices fit
MOST_TEXT = 256
HANDLE_TYPES = {1: "POSIX_FILE_DESCRIPTOR", 2: "WIN32", 4: "WIN32_KMT", 8: "FABRIC"}
ALLOCATION_TYPES = {1: "PINNED", 2: "MANAGED"}
ACCESS = {0: "NONE", 1: "READ", 3: "READWRITE"}
FABRIC_BYTES = 64


def dumps(value: Any) -> str:
    """Write a value as JSON that every reader takes: numbers that are none become text."""
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    return json.dumps(value)


# ---- structures


def location(place: tuple[int, int]) -> dict[str, Any]:
    """CUmemLocation: the type in words and the id."""
    return {"type": LOCATIONS.get(place[0], place[0]), "id": place[1]}


def handle_types(bits: int) -> str:
    """CUmemAllocationHandleType bits in words: ``POSIX_FILE_DESCRIPTOR|FABRIC``; NONE without any."""
    words = [name for bit, name in HANDLE_TYPES.items() if bits & bit]
    unknown = bits & ~sum(HANDLE_TYPES)
    return "|".join(words + [hex(unknown)] * bool(unknown)) or "NONE"


def allocation_prop(data: bytes) -> dict[str, Any]:
    """CUmemAllocationProp; fields that are zero and rarely otherwise are left out."""
    prop = AllocationProp.read(data)
    rare = {
        "win32HandleMetaData": prop.win32_handle_meta_data,
        "compressionType": prop.compression_type,
        "gpuDirectRDMACapable": prop.gpu_direct_rdma_capable,
        "usage": prop.usage,
        "reserved": int.from_bytes(prop.reserved, "little"),
    }
    return {
        "type": ALLOCATION_TYPES.get(prop.type, prop.type),
        "requestedHandleTypes": handle_types(prop.requested_handle_types),
        "location": location((prop.location_type, prop.location_id)),
        **{name: value for name, value in rare.items() if value},
    }


def multicast_prop(data: bytes) -> dict[str, Any]:
    """CUmulticastObjectProp."""
    prop = MulticastProp.read(data)
    types = handle_types(prop.handle_types)
    return {"numDevices": prop.num_devices, "size": prop.size, "handleTypes": types, "flags": prop.flags}


def pool_props(data: bytes) -> dict[str, Any]:
    """CUmemPoolProps."""
    prop = PoolProps.read(data)
    return {
        "allocType": ALLOCATION_TYPES.get(prop.alloc_type, prop.alloc_type),
        "handleTypes": handle_types(prop.handle_types),
        "location": location((prop.location_type, prop.location_id)),
        "maxSize": prop.max_size,
    }


def access_descs(data: bytes) -> list[dict[str, Any]]:
    """CUmemAccessDesc array."""
    described = read_access(data)
    return [{"location": location(place), "flags": ACCESS.get(flags, flags)} for place, flags in described]


def words(data: bytes) -> list[int]:
    """Read an array of addresses or sizes."""
    return [word for (word,) in struct.iter_unpack("<Q", data)]


def locations(data: bytes) -> list[dict[str, Any]]:
    """CUmemLocation array."""
    return [location(read_location(data[at : at + 8])) for at in range(0, len(data), 8)]


def uuid(data: bytes) -> str:
    """CUuuid in its usual form."""
    return str(UUID(bytes=data))


def text(data: bytes) -> str:
    """Read characters up to the first NUL."""
    whole = data.split(b"\0", 1)[0].decode(errors="replace")
    return whole if len(whole) <= MOST_TEXT else f"{whole[:MOST_TEXT]}… ({len(whole)} characters)"


def in_hex(data: bytes) -> str:
    """Bytes without fields."""
    whole = data[:MOST_BYTES].hex()
    return whole if len(data) <= MOST_BYTES else f"{whole}… ({len(data)} bytes)"


#: Parameter name and bytes of an element → how it is read. Names that mean two things have the call's family before.
STRUCTURES: dict[tuple[str, int], Callable[[bytes], Any]] = {
    ("cuMulticast prop", 32): multicast_prop,
    ("cuMem prop", 32): allocation_prop,
    ("poolProps", 88): pool_props,
    ("desc", 12): access_descs,
    ("map", 12): access_descs,
    ("location", 8): lambda data: location(read_location(data)),
    ("prefetchLocs", 8): locations,
    ("dptrs", 8): words,
    ("dsts", 8): words,
    ("srcs", 8): words,
    ("sizes", 8): words,
    ("uuid", 16): uuid,
}


def shower(entry: Entry, param: Param) -> Show:
    """Answer the function that writes values of one parameter as JSON text."""
    if param.kind == "bytes":
        return _of_bytes(entry, param)
    if param.kind == "cstr":
        return lambda value: "null" if value is None else dumps(text(value))
    limit, half = 1 << 8 * param.size, 1 << 8 * param.size - 1

    def show(value: Any) -> str:
        if isinstance(value, int):
            if param.kind == "i32":
                return str((value + half) % limit - half)
            return str(value % limit)
        return dumps(value)

    return show


def _of_bytes(entry: Entry, param: Param) -> Show:
    family = "cuMulticast" if entry.base.startswith("cuMulticast") else "cuMem"
    read = STRUCTURES.get((param.name, param.size)) or STRUCTURES.get((f"{family} {param.name}", param.size))
    read = read or (text if param.size == 1 and param.count else in_hex)

    def show(value: Any) -> str:
        if not isinstance(value, bytes):
            return dumps(value)
        return dumps(_cut(read, value, param.size if param.count and param.size > 1 else 0))

    return show


def _cut(read: Callable[[bytes], Any], data: bytes, element: int) -> Any:
    """Read all, or the head of a long array and how long it is."""
    if not element or len(data) <= MOST_ITEMS * element or read is in_hex:
        return read(data)
    return [*read(data[: MOST_ITEMS * element]), f"… ({len(data) // element} elements)"]


# ---- shareable handles: a descriptor by value, a fabric handle by its address


def shared(handle_type: int, word: int) -> str:
    """Write what an import is given: a descriptor, or the 64 bytes of a fabric handle in hex."""
    if handle_type == FABRIC and native.readable(word, FABRIC_BYTES):
        return dumps(native.get(word, FABRIC_BYTES).hex())
    return str(word & 0xFFFF_FFFF if handle_type == POSIX_FILE_DESCRIPTOR else word)


def exported(handle_type: int, address: int) -> str:
    """Write what an export has put at an address."""
    if handle_type == FABRIC:
        return dumps(native.get(address, FABRIC_BYTES).hex())
    return str(int.from_bytes(native.get(address, 4), "little", signed=True))
