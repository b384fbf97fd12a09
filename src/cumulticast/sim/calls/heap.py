"""cuMemAlloc and its kin."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, pointers, pools
from cumulticast.sim.blocks import Block
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.objects import used_memory
from cumulticast.sim.process import Process
from cumulticast.sim.regions import access_at, region_at
from cumulticast.sim.streams import await_context

PITCH = 512  # recorded
ELEMENTS = (4, 8, 16)
GLOBAL, HOST_ONLY = 1, 2  # CU_MEM_ATTACH_…


@entry("cuMemGetInfo_v2")
def mem_get_info(process: Process, context: Context) -> tuple[int, int]:
    """Answer free and total bytes of the current device; all processes share them."""
    device = process.devices[context.ordinal].index
    process.sweep()
    left = process.driver.faults.number("memory")
    total = process.machine.total_memory
    free = total - used_memory(process.world, device) if left is None else left
    return max(free, 0), total


@entry("cuMemAlloc_v2")
def mem_alloc(process: Process, context: Context, size: int) -> int:
    """Allocate device memory of the current context."""
    process.driver.judge(pools.alloc_size, size)
    return fresh(process, context, size).base


@entry("cuMemAllocPitch_v2")
def mem_alloc_pitch(process: Process, context: Context, width: int, height: int, element: int) -> tuple[int, int]:
    """Allocate rows, each beginning at a multiple of 512 bytes."""
    if element not in ELEMENTS:
        raise Refused(Status.INVALID_VALUE, None, f"element_size_bytes {element} is none of 4, 8, 16")
    process.driver.judge(pools.alloc_size, width * height)
    pitch = -(-width // PITCH) * PITCH
    return fresh(process, context, pitch * height).base, pitch


def fresh(process: Process, context: Context, size: int) -> Block:
    """Allocate memory that nobody has written to; where memory is adversarial, that shows."""
    block = process.heap.allocate(context, size)
    if process.adversary is not None:
        try:
            process.adversary.fill_block(block)
        except Refused:
            process.heap.free(block)
            raise
    return block


@entry("cuMemFree_v2")
def mem_free(process: Process, thread: int, dptr: int) -> None:
    """Free memory of cuMemAlloc or of a pool; 0 is nothing, and no context is needed (recorded: threads).

    Memory of a context is freed after all work of that; of a pool at once (documented).
    """
    if not dptr:
        return
    block = process.heap.beginning_at(dptr)
    process.driver.judge(pools.free_allocated, dptr, block is not None and block.can_be_freed)
    assert block is not None
    if block.context is not None:
        await_context(process, thread, block.context)
    free(process, block)


def free(process: Process, block: Block) -> None:
    """Give a block back to where it came from."""
    if block.pool:
        process.pools.free(block)
    elif block.chunk is not None:
        process.heap.free(block)
    else:
        process.heap.forget_pages(block)


@entry("cuMemAllocManaged")
def mem_alloc_managed(process: Process, context: Context, size: int, flags: int) -> int:
    """Allocate memory that the host and all devices touch at one address. Nothing migrates: it lies with the host."""
    process.driver.judge(pools.alloc_size, size)
    if flags not in (GLOBAL, HOST_ONLY):
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x} is neither 1 (GLOBAL) nor 2 (HOST)")
    return process.heap.allocate_pages(context, size, "cuMemAllocManaged", flags).base


@entry("cuMemGetAddressRange_v2")
def mem_get_address_range(process: Process, context: Context, dptr: int) -> tuple[int, int]:
    """Answer base and size of the allocation or mapping, as far as the current device can see it."""
    region = region_at(process, dptr)
    # Recorded (h200-580.159-peer.json, before.free): another device's memory is not found without peer access.
    visible = region is not None and (region.mapped or access_at(process, context, region) > 0)
    process.driver.judge(pointers.range_known, dptr, visible)
    assert region is not None
    return region.base, region.size
