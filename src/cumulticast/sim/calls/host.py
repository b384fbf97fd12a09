"""Pinned and registered host memory. All devices see it at its own address."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, general, host_memory
from cumulticast.sim import native
from cumulticast.sim.blocks import Block
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.streams import await_context

PORTABLE, DEVICEMAP, WRITECOMBINED = 1, 2, 4  # CU_MEMHOSTALLOC_…
REGISTER_PORTABLE, IOMEMORY, READ_ONLY = 1, 4, 8  # CU_MEMHOSTREGISTER_…


@entry("cuMemAllocHost_v2")
def mem_alloc_host(process: Process, context: Context, size: int) -> int:
    """Allocate pinned host memory."""
    return mem_host_alloc(process, context, size, 0)


@entry("cuMemHostAlloc")
def mem_host_alloc(process: Process, context: Context, size: int, flags: int) -> int:
    """Allocate pinned host memory; no bytes are address 0 (recorded)."""
    if flags & ~(PORTABLE | DEVICEMAP | WRITECOMBINED):
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x} has bits beyond 0x7")
    if not size:
        return 0
    kept = DEVICEMAP | flags & WRITECOMBINED
    return process.heap.allocate_pages(context, size, "cuMemAllocHost", kept).base


@entry("cuMemFreeHost")
def mem_free_host(process: Process, thread: int, p: int) -> None:
    """Free pinned host memory, after all work of its context; 0 is nothing."""
    if not p:
        return
    block = process.heap.beginning_at(p)
    process.driver.judge(host_memory.host_allocated, p, block is not None and block.origin == "cuMemAllocHost")
    assert block is not None
    assert block.context is not None
    await_context(process, thread, block.context)
    process.heap.forget_pages(block)


def host_block(process: Process, p: int) -> Block:
    """Answer the host memory that contains an address, or refuse (1)."""
    block = process.heap.at(p)
    if block is None or not block.on_host:
        raise Refused(Status.INVALID_VALUE, None, f"p {p:#x} is neither allocated nor registered host memory")
    return block


@entry("cuMemHostGetDevicePointer_v2")
def mem_host_get_device_pointer(process: Process, context: Context, p: int, flags: int) -> int:
    """Answer the address for devices: the same one."""
    if flags:
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x} must be 0")
    host_block(process, p)
    return p


@entry("cuMemHostGetFlags")
def mem_host_get_flags(process: Process, p: int) -> int:
    """Answer the flags that count: DEVICEMAP always, PORTABLE only of registered memory (recorded)."""
    return host_block(process, p).flags


@entry("cuMemHostRegister", "cuMemHostRegister_v2")
def mem_host_register(process: Process, context: Context, p: int, size: int, flags: int) -> None:
    """Let devices see a piece of the caller's memory."""
    process.driver.judge(general.pointer_given, "p", p)
    check_registration(process, p, size, flags)
    process.heap.register_host(context, p, size, DEVICEMAP | flags & REGISTER_PORTABLE)


def check_registration(process: Process, p: int, size: int, flags: int) -> None:
    """Refuse as recorded: sizes and flags 1, memory that is registered already 712, memory that is none 1."""
    if not size:
        raise Refused(Status.INVALID_VALUE, None, "bytesize is 0")
    if flags & ~(REGISTER_PORTABLE | DEVICEMAP | IOMEMORY | READ_ONLY):
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x} has bits beyond 0xf")
    if flags & IOMEMORY:
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x}: {p:#x} is no memory of an I/O device")
    if process.space.mappings.within(p, size):
        raise Refused(Status.INVALID_VALUE, None, f"[{p:#x}, {p + size:#x}) holds mapped device memory")
    for other in process.heap.blocks.within(p, size)[:1]:
        process.driver.judge(host_memory.host_registered_once, p, size, other.base, other.size)
    if p + size > 1 << 64 or not (native.readable if flags & READ_ONLY else native.writable)(p, size):
        raise Refused(Status.INVALID_VALUE, None, f"[{p:#x}, {p + size:#x}) is not memory of this process")


@entry("cuMemHostUnregister")
def mem_host_unregister(process: Process, context: Context, thread: int, p: int) -> None:
    """Undo a registration, named by its beginning, after all work of its context."""
    block = process.heap.at(p)
    process.driver.judge(host_memory.host_registered, p, block is not None)
    assert block is not None
    known = block.origin == "cuMemHostRegister" and block.base == p
    process.driver.judge(host_memory.host_allocated, p, known)
    assert block.context is not None
    await_context(process, thread, block.context)
    process.heap.forget_pages(block)
