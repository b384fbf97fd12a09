"""cuMemGetHandleForAddressRange: a descriptor of the memory behind a range.

The simulator has no dma-buf devices. The descriptor is one of the file that holds the memory, positioned where
the range begins, so that it can be mapped or read.
"""

from __future__ import annotations

import mmap
import os
import struct

from cumulticast.rules import Refused, Status, range_handles
from cumulticast.sim import raw
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.regions import Region, region_at

DMA_BUF_SUPPORTED = 124  # CUdevice_attribute
INT = struct.Struct("<i")


@entry("cuMemGetHandleForAddressRange")
def mem_get_handle_for_address_range(
    process: Process, handle: int, dptr: int, size: int, handle_type: int, flags: int
) -> None:
    """Write a descriptor for a range of one device's memory. The caller closes it."""
    judge = process.driver.judge
    judge(range_handles.range_handle_type, handle_type)
    judge(range_handles.range_aligned, dptr, size, mmap.PAGESIZE)
    if not size:
        raise Refused(Status.INVALID_VALUE, range_handles.range_aligned, "size is 0")
    raw.check(process, "handle", handle, INT.size, write=True)
    regions = regions_of(process, dptr, size)
    check_alike(process, dptr, regions)
    judge(range_handles.range_flags, flags)
    judge(range_handles.pcie_mapping, flags, False)
    raw.put(process, "handle", handle, INT.pack(descriptor(process, dptr, regions[0])))


def regions_of(process: Process, dptr: int, size: int) -> list[Region]:
    """Answer what the range lies in, without a gap: one plain allocation, or mappings side by side."""
    at, found = dptr, list[Region]()
    while at < dptr + size:
        region = region_at(process, at)
        # Recorded: neither pool nor pinned memory is taken (dma_buf/host, pools/dma_buf).
        usable = region is not None and (region.block is None or region.block.origin == "cuMemAlloc")
        mixed = bool(found) and region is not None and region.block is not found[0].block
        process.driver.judge(range_handles.range_mapped, dptr, size, at if not usable or mixed else None)
        assert region is not None
        process.driver.judge(range_handles.range_not_multicast, dptr, region.multicast)
        found.append(region)
        at = region.end
    return found


def check_alike(process: Process, dptr: int, regions: list[Region]) -> None:
    """Hold the memory behind a range to one device, one set of properties, and dma-buf support."""
    handles = [region.mapping.handle for region in regions if region.mapping is not None]
    owners = tuple(-1 if handle.device is None else handle.device for handle in handles)
    alike = len({handle.properties for handle in handles}) <= 1
    process.driver.judge(range_handles.range_alike, owners, alike)
    supported = all(device.attributes.get(DMA_BUF_SUPPORTED) == 1 for device in process.devices)
    process.driver.judge(range_handles.dma_buf_supported, "DMA_BUF_SUPPORTED", supported)


def descriptor(process: Process, dptr: int, region: Region) -> int:
    """Open the file behind an address, positioned there."""
    physical = region.physical(dptr)
    assert physical is not None
    allocation, offset = physical
    try:
        fd = os.open(process.world.path_of("memory", allocation), os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise process.no_room("another descriptor", error) from error
    os.lseek(fd, offset, os.SEEK_SET)
    return fd
