"""Memory pools and stream-ordered allocation. Export and import of pools are not simulated (801)."""

from __future__ import annotations

from functools import partial

from cumulticast.rules import Refused, Status, general, graph_nodes, pools
from cumulticast.sim import captures
from cumulticast.sim.blocks import Block
from cumulticast.sim.calls.heap import free
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.entry import entry
from cumulticast.sim.pools import Pool
from cumulticast.sim.process import Process
from cumulticast.sim.streams import Stream, enqueue
from cumulticast.sim.structs import (
    DEVICE,
    HOST,
    HOST_NUMA,
    LOCATIONS,
    SHAREABLE,
    PoolProps,
    read_access,
    read_location,
)

PINNED = 1
NONE, READWRITE = 0, 3


def pool_of(process: Process, value: int) -> Pool:
    """Answer the pool behind a handle, or refuse (1)."""
    pool = process.pools.find(value)
    process.driver.judge(pools.pool_valid, value, pool is not None)
    assert pool is not None
    return pool


# ---- allocation


@entry("cuMemAllocAsync")
def mem_alloc_async(process: Process, thread: int, call: str, size: int, stream: int) -> int:
    """Allocate from the current pool of the stream's device; no bytes are address 0 (recorded)."""
    where = ordered(process, thread, stream, call, "MEM_ALLOC")
    return allocate(process, process.pools.current((DEVICE, where.context.ordinal)), size, where)


@entry("cuMemAllocFromPoolAsync")
def mem_alloc_from_pool_async(process: Process, thread: int, call: str, size: int, pool: int, stream: int) -> int:
    """Allocate from a pool."""
    found = pool_of(process, pool)
    where = ordered(process, thread, stream, call, "MEM_ALLOC")
    return allocate(process, found, size, where)


def ordered(process: Process, thread: int, stream: int, call: str, kind: str) -> Stream:
    """Answer a stream that does not capture (801: no node does this here), in a thread that may allocate (900)."""
    where = stream_of(process, thread, stream, call)
    if where.capture is not None:
        captures.refuse(process, [where.capture], graph_nodes.node_simulated, kind, False)
    captures.forbid_unsafe(process, thread)
    return where


def allocate(process: Process, pool: Pool, size: int, where: Stream) -> int:
    """Cut a block out of a pool, within its maximum."""
    if not size:
        return 0
    if pool.max_size and pool.used + size > pool.max_size:
        reason = f"bytesize {size} and {pool.used} in use exceed the pool's max_size {pool.max_size}"
        raise Refused(Status.OUT_OF_MEMORY, None, reason)
    block = process.pools.allocate(pool, size)
    if process.adversary is not None:
        enqueue(process, where, partial(process.adversary.fill_block, block))  # what had it before may still be used
    return block.base


@entry("cuMemFreeAsync")
def mem_free_async(process: Process, thread: int, call: str, dptr: int, stream: int) -> None:
    """Free memory in stream order; 0 is nothing."""
    where = ordered(process, thread, stream, call, "MEM_FREE")
    if not dptr:
        return
    block = process.heap.beginning_at(dptr)
    process.driver.judge(pools.free_allocated, dptr, block is not None and block.can_be_freed)
    assert block is not None
    block.leaving = True
    enqueue(process, where, lambda: free_later(process, block))


def free_later(process: Process, block: Block) -> None:
    """Free a block whose turn in a stream has come."""
    with process.driver.lock:
        process.require_open()
        free(process, block)


# ---- pools


@entry("cuMemPoolCreate")
def mem_pool_create(process: Process, properties: bytes) -> int:
    """Make a pool of device or host memory; nothing is reserved yet."""
    props = PoolProps.read(properties)
    kind, number = props.location_type, props.location_id
    check_props(process, props)
    types = props.handle_types
    process.driver.judge(pools.host_pool_not_shareable, LOCATIONS.get(kind, str(kind)), types)
    legal = tuple(bits for bits in range(SHAREABLE + 1) if not bits & ~SHAREABLE)
    process.driver.judge(pools.pool_properties, "handle_types", types, legal)
    return process.pools.create((kind, 0 if kind == HOST else number), types, props.max_size).value


def check_props(process: Process, props: PoolProps) -> None:
    """Refuse kinds of memory and places that do not exist; no such device is 1 here, not 101 (recorded)."""
    process.driver.judge(pools.pool_properties, "alloc_type", props.alloc_type, (PINNED,))
    check_place(process, props.location_type, props.location_id)


def check_place(process: Process, kind: int, number: int) -> None:
    """Refuse a location (1) that does not exist."""
    places = {DEVICE: range(len(process.devices)), HOST_NUMA: process.machine.host_numa_nodes, HOST: (number,)}
    process.driver.judge(pools.pool_properties, "location.type", kind, tuple(places))
    process.driver.judge(pools.pool_properties, "location.id", number, tuple(places[kind]))


@entry("cuMemPoolDestroy")
def mem_pool_destroy(process: Process, pool: int) -> None:
    """End a pool; memory from it stays until it is freed."""
    found = pool_of(process, pool)
    process.driver.judge(pools.pool_not_default, pool, found.default_of is not None)
    process.pools.destroy(found)


@entry("cuMemPoolTrimTo")
def mem_pool_trim_to(process: Process, pool: int, keep: int) -> None:
    """Give unused memory back to the device until no more than ``keep`` bytes are reserved."""
    pool_of(process, pool).arena.trim(keep)


# ---- access


@entry("cuMemPoolSetAccess")
def mem_pool_set_access(process: Process, pool: int, table: bytes, count: int) -> None:
    """Let other devices touch a pool's memory, or no longer; all of the table or nothing."""
    found = pool_of(process, pool)
    grants = read_access(table or b"")
    for location, flags in grants:
        check_grant(process, found, location, flags)
    process.moves.settle()
    found.access.update(grants)
    process.reach.changed()


def check_grant(process: Process, pool: Pool, location: tuple[int, int], flags: int) -> None:
    """Refuse read-only access (801), places that there are not, and taking away the owner's own (101)."""
    judge, (kind, number) = process.driver.judge, location
    judge(pools.pool_access_flags, flags)
    if flags not in (NONE, READWRITE):
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags} is neither 0 (NONE) nor 3 (READWRITE)")
    if kind == DEVICE:
        judge(general.device_exists, number, len(process.devices))
        judge(pools.pool_owner_access, number, pool.location[1] if pool.location[0] == DEVICE else -1, flags)
    elif kind not in (HOST, HOST_NUMA):
        judge(pools.pool_properties, "location.type", kind, (DEVICE, HOST, HOST_NUMA))


@entry("cuMemPoolGetAccess")
def mem_pool_get_access(process: Process, pool: int, place: bytes) -> int:
    """Answer what a location may do with a pool's memory."""
    found, location = pool_of(process, pool), read_location(place)
    if location[0] == DEVICE:
        process.driver.judge(general.device_exists, location[1], len(process.devices))
    return found.access.get(location, NONE)
