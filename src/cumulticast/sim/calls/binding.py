"""The binds and the unbind: physical memory comes under a multicast address, and goes."""

from __future__ import annotations

from dataclasses import dataclass

from cumulticast.rules import Refused, binding, bound_memory, rubin, team_waits, unbinding
from cumulticast.sim import objects
from cumulticast.sim.entry import entry
from cumulticast.sim.handles import Handle
from cumulticast.sim.lookup import device_of, memory_behind, memory_handle, multicast_handle
from cumulticast.sim.machine import Device
from cumulticast.sim.objects import Bound
from cumulticast.sim.process import Process
from cumulticast.sim.structs import DEVICE, HOST_NUMA, LOCATIONS


@dataclass(frozen=True, slots=True)
class Piece:
    """What is to be bound, after it was found: a range of an allocation, as a handle or an address named it."""

    handle: Handle
    mem_offset: int
    size: int
    address: int | None = None
    end: int = 0


@entry("cuMulticastBindMem")
def multicast_bind_mem(
    process: Process, thread: int, mc: int, mc_offset: int, mem: int, mem_offset: int, size: int, flags: int
) -> None:
    """Bind a range of physical memory for the device that owns it."""
    process.driver.judge(binding.bind_flags, flags)
    target = multicast_handle(process, mc)
    piece = Piece(memory_handle(process, mem, bound_memory.memory_handle), mem_offset, size)
    bind(process, thread, target, mc_offset, piece, owner(process, piece))


@entry("cuMulticastBindMem_v2")
def multicast_bind_mem_v2(
    process: Process, thread: int, mc: int, dev: int, mc_offset: int, mem: int, mem_offset: int, size: int, flags: int
) -> None:
    """Bind a range of physical memory for ``dev``: memory of the device itself, or of its nearest NUMA node."""
    process.driver.judge(binding.bind_flags, flags)
    target, device = multicast_handle(process, mc), device_of(process, dev)
    piece = Piece(memory_handle(process, mem, bound_memory.memory_handle), mem_offset, size)
    bind(process, thread, target, mc_offset, piece, named(process, piece, device))


@entry("cuMulticastBindAddr")
def multicast_bind_addr(
    process: Process, thread: int, mc: int, mc_offset: int, memptr: int, size: int, flags: int
) -> None:
    """Bind mapped memory, named by its address, for the device that owns it."""
    process.driver.judge(binding.bind_flags, flags)
    target = multicast_handle(process, mc)
    piece = mapped_piece(process, memptr, size)
    bind(process, thread, target, mc_offset, piece, owner(process, piece))


@entry("cuMulticastBindAddr_v2")
def multicast_bind_addr_v2(
    process: Process, thread: int, mc: int, dev: int, mc_offset: int, memptr: int, size: int, flags: int
) -> None:
    """Bind mapped memory, named by its address, for ``dev``."""
    process.driver.judge(binding.bind_flags, flags)
    target, device = multicast_handle(process, mc), device_of(process, dev)
    piece = mapped_piece(process, memptr, size)
    bind(process, thread, target, mc_offset, piece, named(process, piece, device))


# ---- what is bound, and for whom


def mapped_piece(process: Process, memptr: int, size: int) -> Piece:
    """Find the memory behind an address."""
    found = memory_behind(process, memptr)
    process.driver.judge(bound_memory.memory_address, memptr, found.origin)
    assert found.handle is not None
    return Piece(found.handle, found.offset, size, memptr, found.end)


def owner(process: Process, piece: Piece) -> int:
    """Answer the device that the forms without a device bind for: the owner of the memory."""
    where = LOCATIONS[piece.handle.location[0]]
    process.driver.judge(bound_memory.host_numa_needs_v2, where)
    process.driver.judge(bound_memory.memory_location, where)
    assert piece.handle.device is not None
    return piece.handle.device


def named(process: Process, piece: Piece, device: Device) -> int:
    """Check that memory suits the device that the ``_v2`` forms name."""
    judge, handle = process.driver.judge, piece.handle
    kind, number = handle.location
    if kind == HOST_NUMA:
        judge(bound_memory.memory_on_nearest_node, device.ordinal, number, process.host_numa_id(device))
    elif kind != DEVICE:
        judge(bound_memory.memory_location, LOCATIONS[kind])
    elif handle.device is not None:
        judge(bound_memory.memory_on_device, device.index, handle.device)
    return device.index


# ---- binding


def bind(process: Process, thread: int, target: Handle, mc_offset: int, piece: Piece, device: int) -> None:
    """Check everything a caller can get wrong, wait for the team, then bind in one step."""
    check_values(process, target, mc_offset, piece)
    judge = process.driver.judge
    shareable = bool(piece.handle.handle_types) or piece.handle.imported
    judge(bound_memory.shareable_memory, bool(target.handle_types), target.imported, shareable)
    process.await_team(thread, target)
    process.require_system()
    headroom = process.machine.multicast_granularity if unaligned(process, piece) else 0
    bound = Bound(device, mc_offset, piece.size, piece.handle.obj, piece.mem_offset, headroom)
    try:
        enter(process, target, piece, bound)
    except Refused as refused:
        if refused.rule not in (team_waits.slot_free, rubin.unaligned_stock) or not process.sweep():
            raise
        enter(process, target, piece, bound)  # the dead, or closed descriptors, had held them
    try:
        process.windows.refresh(target.obj)
    except OSError as error:
        leave(process, target, bound)
        raise process.no_room(f"the replicas of {bound.size} bytes", error) from error


def unaligned(process: Process, piece: Piece) -> bool:
    """Tell a bind that only SM_107 machines allow: its memory begins off the granularity."""
    start = piece.mem_offset if piece.address is None else piece.address
    return start % process.machine.multicast_granularity != 0


def check_values(process: Process, target: Handle, mc_offset: int, piece: Piece) -> None:
    """Hold sizes and offsets to the granularity and to both ends."""
    judge, machine, size = process.driver.judge, process.machine, piece.size
    step = machine.multicast_granularity
    judge(binding.size_positive, size)
    judge(binding.size_granularity, size, step)
    judge(binding.mc_offset_granularity, mc_offset, step)
    relaxed = machine.bind_memory_granularity < step
    if piece.address is None:
        if relaxed:
            judge(rubin.mem_offset_relaxed, piece.mem_offset)
        else:
            judge(binding.mem_offset_granularity, piece.mem_offset, step)
        judge(binding.within_memory, piece.mem_offset, size, piece.handle.size)
    else:
        if relaxed:
            judge(rubin.memptr_relaxed, piece.address)
        else:
            judge(binding.memptr_granularity, piece.address, step)
        judge(binding.within_mapping, piece.address, size, piece.end)
    judge(binding.within_object, mc_offset, size, target.size)
    judge(binding.within_extent, mc_offset, size, process.extent(target))
    if unaligned(process, piece):
        judge(rubin.headroom, mc_offset, size, step, process.extent(target))
    judge(binding.bind_recommended, size, mc_offset, machine.recommended_granularity(target.size))


def enter(process: Process, target: Handle, piece: Piece, bound: Bound) -> None:
    """Bind, or refuse for what only the state of the object can tell."""
    judge, machine = process.driver.judge, process.machine
    with process.world.transaction() as db:
        known = objects.read_object(db, target.obj)
        if process.driver.call.endswith("_v2"):
            judge(bound_memory.device_in_team, bound.device, known.team)
        else:
            judge(bound_memory.owner_in_team, bound.device, known.team)
        end = bound.end + bound.headroom
        other = objects.overlapping(db, target.obj, bound.device, bound.mc_offset, end)
        if other is not None:
            place = (bound.mc_offset, other.mc_offset, other.size)
            if other.headroom and bound.mc_offset >= other.end:
                judge(rubin.behind_headroom, *place, machine.multicast_granularity)
            judge(binding.disjoint, bound.device, bound.mc_offset, end - bound.mc_offset, other.mc_offset, other.size)
        twice = objects.bound_twice(db, target.obj, bound.allocation, bound.mem_offset, bound.mem_offset + bound.size)
        if twice is not None:
            judge(bound_memory.memory_bound_once, bound.mem_offset, bound.size, twice.mem_offset, twice.size)
        if not known.slot:
            taken = objects.slots_taken(db) + (process.driver.faults.number("slots") or 0)
            judge(team_waits.slot_free, taken, machine.multicast_slots)
        if bound.headroom:
            stock = process.driver.faults.number("unaligned")
            stock = machine.unaligned_binds if stock is None else stock
            judge(rubin.unaligned_stock, objects.unaligned_used(db, bound.device), stock)
        objects.bind(db, target.obj, bound)
        process.world.changed(target.obj)
    process.detached.forget((target.obj, bound.device, bound.mc_offset), bound.size)
    process.world.changed(target.obj)


def leave(process: Process, target: Handle, bound: Bound) -> None:
    """Take a bind back."""
    with process.world.transaction() as db:
        objects.unbind(db, target.obj, bound)
        process.world.changed(target.obj)
    process.world.changed(target.obj)


@entry("cuMulticastUnbind")
def multicast_unbind(process: Process, mc: int, dev: int, mc_offset: int, size: int) -> None:
    """Take memory out from under a multicast address, exactly as it was bound."""
    judge, machine = process.driver.judge, process.machine
    target, device = multicast_handle(process, mc), device_of(process, dev)
    judge(unbinding.unbind_size_positive, size)
    judge(unbinding.unbind_size_granularity, size, machine.multicast_granularity)
    judge(unbinding.unbind_offset_granularity, mc_offset, machine.multicast_granularity)
    judge(unbinding.unbind_within_object, mc_offset, size, target.size)
    judge(unbinding.unbind_within_extent, mc_offset, size, process.extent(target))
    with process.world.transaction() as db:
        known = objects.read_object(db, target.obj)
        judge(unbinding.unbind_device_in_team, device.index, known.team)
        bound = objects.bound_at(db, target.obj, device.index, mc_offset)
        if bound is None and (place := (target.obj, device.index, mc_offset)) in process.detached:
            judge(unbinding.unbound_before_freed, device.index, mc_offset, False)
            process.detached.forget(place)
            return
        if bound is None:
            judge(unbinding.bound_here, device.index, mc_offset, objects.bound_offsets(db, target.obj, device.index))
        assert bound is not None
        judge(unbinding.unbind_exact, mc_offset, size, bound.size)
        objects.unbind(db, target.obj, bound)
        process.world.changed(target.obj)
    process.world.changed(target.obj)
    process.windows.refresh(target.obj)
