"""Memory, or a multicast object, at an address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cumulticast import driver

from .resource import Resource


class Mapping(Resource):
    """A range of addresses behind which memory or a multicast object lies, until ``close``.

    The mapping keeps what it shows alive, handle or no handle (cuMemRelease: "memory is freed when all outstanding
    mappings to the memory are unmapped").

    Attributes
    ----------
    ptr
        The address.
    size
        In bytes.
    """

    def __init__(self, ptr: int, size: int) -> None:
        super().__init__()
        self.ptr = ptr
        self.size = size

    def __repr__(self) -> str:
        """Show the range."""
        return f"Mapping(ptr={self.ptr:#x}, size={self.size})"


def map_handles(handles: Sequence[int], each: int, devices: Iterable[int], alignment: int = 0) -> Mapping:
    """Map allocations one after the other into one range of addresses, and grant devices access to all of it.

    Parameters
    ----------
    handles
        Of memory, or of one multicast object.
    each
        Bytes that are mapped of each.
    devices
        Who may read and write.
    alignment
        Of the range, in bytes; 0 leaves it to the driver.
    """
    size = each * len(handles)
    mapping = Mapping(driver.mem_address_reserve(size, alignment, 0, 0), size)
    with mapping.building():
        mapping.undo(driver.mem_address_free, mapping.ptr, size)
        for index, handle in enumerate(handles):
            at = mapping.ptr + index * each
            driver.mem_map(at, each, 0, handle, 0)
            mapping.undo(driver.mem_unmap, at, each)
        grant_access(mapping.ptr, size, devices)
    return mapping


def grant_access(ptr: int, size: int, devices: Iterable[int]) -> None:
    """Let devices read and write a mapped range."""
    ordinals = list(dict.fromkeys(devices))
    grants = driver.MemAccessDesc_v1(len(ordinals))
    for index, ordinal in enumerate(ordinals):
        location = driver.MemLocation_v1()
        location.type, location.id = int(driver.MemLocationType.DEVICE), ordinal
        grants[index].location = location
        grants[index].flags_ = int(driver.MemAccessFlags.READWRITE)
    driver.mem_set_access(ptr, size, grants, len(ordinals))
