"""The calls as cuda.bindings makes them, through its first interface or its second; each answers (status, value)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as first
from cuda.bindings._v2 import driver as second
from expect_addresses import MapWish
from expect_binds import BindWish
from expect_memory import MemoryWish, ObjectWish

Answer = tuple[int, Any]
TYPES = {number: first.CUmemAllocationHandleType(number) for number in (0, 1, 2, 4, 8)}


@dataclass(frozen=True)
class Bindings:
    """One of the two interfaces."""

    v2: bool

    def call(self, c_name: str, v2_name: str, *arguments: Any) -> Answer:
        """Call by C name (first interface) or Python name (second) with the same arguments."""
        if self.v2:
            return raising(getattr(second, v2_name), *arguments)
        status, *values = getattr(first, c_name)(*arguments)
        return int(status), values[0] if values else None

    # ---- structures: those of the first interface are filled from the second's bytes

    def _struct(self, filled: Any, of_first: Callable[[], Any], size: int) -> Any:
        if self.v2:
            return filled
        target = of_first()
        ctypes.memmove(target.getPtr(), filled.ptr, size)
        return target

    def memory_prop(self, kind: int, location: tuple[int, int], types: int) -> Any:
        prop = second.MemAllocationProp_v1()
        prop.type, prop.requested_handle_types = kind, types
        prop.location.type, prop.location.id = location
        return self._struct(prop, first.CUmemAllocationProp, 32)

    def object_prop(self, wish: ObjectWish) -> Any:
        prop = second.MulticastObjectProp_v1()
        prop.size_, prop.num_devices = wish.size, wish.num_devices
        prop.handle_types, prop.flags_ = wish.handle_types, wish.flags
        return self._struct(prop, first.CUmulticastObjectProp, 32)

    def location(self, location: tuple[int, int]) -> Any:
        made = second.MemLocation_v1()
        made.type, made.id = location
        return self._struct(made, first.CUmemLocation, 8)

    # ---- calls

    def multicast_granularity(self, wish: ObjectWish, option: int) -> Answer:
        return self.call("cuMulticastGetGranularity", "multicast_get_granularity", self.object_prop(wish), option)

    def memory_granularity(self, location: tuple[int, int], option: int) -> Answer:
        names = "cuMemGetAllocationGranularity", "mem_get_allocation_granularity"
        return self.call(*names, self.memory_prop(1, location, 0), option)

    def mem_create(self, wish: MemoryWish) -> Answer:
        prop = self.memory_prop(wish.kind, wish.location, wish.handle_types)
        return self.call("cuMemCreate", "mem_create", wish.size, prop, wish.flags)

    def multicast_create(self, wish: ObjectWish) -> Answer:
        return self.call("cuMulticastCreate", "multicast_create", self.object_prop(wish))

    def bind(self, wish: BindWish) -> Answer:
        suffix = "" if wish.dev is None else "_v2"
        head = (wish.mc,) if wish.dev is None else (wish.mc, wish.dev)
        if wish.by_address:
            names = f"cuMulticastBindAddr{suffix}", f"multicast_bind_addr{suffix}"
            return self.call(*names, *head, wish.mc_offset, wish.mem, wish.size, wish.flags)
        names = f"cuMulticastBindMem{suffix}", f"multicast_bind_mem{suffix}"
        return self.call(*names, *head, wish.mc_offset, wish.mem, wish.mem_offset, wish.size, wish.flags)

    def map(self, wish: MapWish) -> Answer:
        return self.call("cuMemMap", "mem_map", wish.ptr, wish.size, wish.offset, wish.handle, wish.flags)

    def mem_set_access(self, ptr: int, size: int, grants: list[tuple[tuple[int, int], int]]) -> Answer:
        descs = second.MemAccessDesc_v1(max(len(grants), 1))
        for desc, (location, flags) in zip(descs, grants, strict=False):
            desc.location.type, desc.location.id = location
            desc.flags_ = flags
        if self.v2:
            return self.call("", "mem_set_access", ptr, size, descs, len(grants))
        several = [first.CUmemAccessDesc() for _ in grants]
        for i, target in enumerate(several):
            ctypes.memmove(target.getPtr(), descs.ptr + 12 * i, 12)
        return self.call("cuMemSetAccess", "", ptr, size, several, len(grants))

    def mem_get_access(self, location: tuple[int, int], ptr: int) -> Answer:
        return self.call("cuMemGetAccess", "mem_get_access", self.location(location), ptr)

    def export(self, handle: int, handle_type: int, flags: int) -> Answer:
        kind = handle_type if self.v2 else TYPES[handle_type]
        status, value = self.call("cuMemExportToShareableHandle", "mem_export_to_shareable_handle", handle, kind, flags)
        if status or handle_type != 8:
            return status, value
        return status, bytes(value.data_) if self.v2 else bytes(value.data)

    def import_descriptor(self, descriptor: int, handle_type: int) -> Answer:
        kind = handle_type if self.v2 else TYPES[handle_type]
        return self.call("cuMemImportFromShareableHandle", "mem_import_from_shareable_handle", descriptor, kind)

    def import_fabric(self, handle: bytes) -> Answer:
        buffer = ctypes.create_string_buffer(handle, 64)
        if self.v2:
            return self.call("", "mem_import_from_shareable_handle", ctypes.addressof(buffer), 8)
        return self.call("cuMemImportFromShareableHandle", "", handle, TYPES[8])

    def import_foreign(self, descriptor: int | None) -> Answer:
        """Import a descriptor that is none, or that of /dev/null."""
        null = os.open(os.devnull, os.O_RDONLY)
        try:
            return self.import_descriptor(null if descriptor is None else descriptor, 1)
        finally:
            os.close(null)

    def close(self, descriptor: int) -> None:
        """Close a descriptor; the driver is not told of that."""
        os.close(descriptor)

    def properties(self, handle: int) -> Answer:
        names = "cuMemGetAllocationPropertiesFromHandle", "mem_get_allocation_properties_from_handle"
        status, prop = self.call(*names, handle)
        if status:
            return status, None
        return status, ctypes.string_at(prop.ptr if self.v2 else prop.getPtr(), 32)


def raising(function: Callable[..., Any], *arguments: Any) -> Answer:
    """Call a function of the second interface and answer the status it raises."""
    try:
        return 0, function(*arguments)
    except second.DriverError as error:
        return error.status, None
