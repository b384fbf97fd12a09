"""What binds and unbinds must answer, and what multimem operations find."""

from __future__ import annotations

from dataclasses import dataclass

from model_state import DEVICE, GRANULE, HOST_NUMA, Bind, Memory, Multicast, State

FINE = 256  # SM_107


@dataclass(frozen=True)
class BindWish:
    """The arguments of a bind: `mem` is a handle of the memory forms, an address of the address forms."""

    mc: int
    mc_offset: int
    mem: int
    mem_offset: int
    size: int
    flags: int = 0
    dev: int | None = None  # given in the _v2 forms only
    by_address: bool = False


@dataclass(frozen=True)
class Source:
    """The memory that a bind names."""

    memory: Memory
    imported: bool
    offset: int
    room: int  # bytes from there to the end of the allocation, or of the mapping
    aligned_to: int  # what the granularity is asked of


def source_of(state: State, wish: BindWish) -> Source | None:
    if not wish.by_address:
        handle = state.usable(wish.mem)
        if handle is None or isinstance(handle.thing, Multicast):
            return None
        return Source(
            handle.thing, handle.imported, wish.mem_offset, handle.thing.size - wish.mem_offset, wish.mem_offset
        )
    mapping = state.mapping_at(wish.mem)
    if mapping is None or mapping.memory is None:
        return None
    return Source(mapping.memory, mapping.handle.imported, wish.mem - mapping.base, mapping.end - wish.mem, wish.mem)


def bind(state: State, wish: BindWish) -> set[int]:
    handle, source, problems = state.usable(wish.mc), source_of(state, wish), set()
    multicast = handle.thing if handle is not None and isinstance(handle.thing, Multicast) else None
    if wish.flags or multicast is None or source is None or wish.size <= 0:
        problems.add(1)
    if wish.size % GRANULE or wish.mc_offset % GRANULE:
        problems.add(1)
    if wish.dev is not None and not 0 <= wish.dev < state.machine.devices:
        problems.add(101)
    if source is not None:
        problems |= bind_source(state, wish, source)
    if multicast is not None:
        problems |= bind_target(state, wish, multicast, device_of(state, wish, source), bool(headroom(source)))
    if multicast is not None and source is not None:
        shareable = source.memory.handle_types or source.imported
        if (multicast.handle_types or handle.imported) and not shareable:
            problems.add(1)
        if state.strict and shown_already(multicast, source, wish.size):
            problems.add(1)
        if not problems and source.memory.location[0] == HOST_NUMA and source.memory.node != state.node:
            return {0, 1}  # no document says whose nearest node another node's memory is
    return problems


def bind_source(state: State, wish: BindWish, source: Source) -> set[int]:
    problems, memory = set(), source.memory
    if source.aligned_to % (FINE if state.machine.finer_binds else GRANULE) or wish.size > source.room:
        problems.add(1)
    if wish.dev is None:
        return problems if memory.device is not None else problems | {1, 801}  # host memory has no owner
    if memory.location[0] == DEVICE and memory.device != state.index(wish.dev):
        problems |= {1, 101}
    elif memory.location[0] == HOST_NUMA:
        known = 0 <= wish.dev < state.machine.devices
        if not known or state.machine.nearest_node[wish.dev] != memory.location[1]:
            problems.add(1)
    elif memory.location[0] != DEVICE:
        problems |= {1, 801}
    return problems


def device_of(state: State, wish: BindWish, source: Source | None) -> int | None:
    if wish.dev is not None:
        return state.index(wish.dev)
    return None if source is None else source.memory.device


def headroom(source: Source | None) -> int:
    return GRANULE if source is not None and source.aligned_to % GRANULE else 0


def bind_target(state: State, wish: BindWish, multicast: Multicast, device: int | None, unaligned: bool) -> set[int]:
    problems: set[int] = set()
    room = GRANULE if unaligned else 0
    end = wish.mc_offset + wish.size + room
    if end > state.world.extent(multicast):
        problems.add(1)
    if not multicast.complete:
        problems.add(909)
    elif device is not None and device not in multicast.team:
        problems.add(101)
    for other in multicast.binds:
        if other.device == device and other.mc_offset < end and wish.mc_offset < other.end + other.headroom:
            problems.add(1)
    return problems


def shown_already(multicast: Multicast, source: Source, size: int) -> bool:
    """Memory that the object shows already: undescribed; strict refuses."""
    return any(
        b.memory is source.memory and b.mem_offset < source.offset + size and source.offset < b.mem_offset + b.size
        for b in multicast.binds
    )


def bound(state: State, wish: BindWish) -> None:
    source = source_of(state, wish)
    device = device_of(state, wish, source)
    multicast = state.handles[wish.mc].thing
    multicast.slot = True
    made = Bind(device, wish.mc_offset, wish.size, source.memory, source.offset, headroom(source))
    multicast.binds.append(made)
    if len(state.world.processes) == 1:  # what others had there before, they may still unbind
        multicast.vanished = [b for b in multicast.vanished if (b.device, b.mc_offset) != (device, wish.mc_offset)]


def unbind(state: State, mc: int, dev: int, mc_offset: int, size: int) -> set[int]:
    handle, problems = state.usable(mc), set()
    if handle is None or not isinstance(handle.thing, Multicast) or size <= 0 or size % GRANULE or mc_offset % GRANULE:
        problems.add(1)
    if not 0 <= dev < state.machine.devices:
        problems.add(101)
    if handle is None or not isinstance(handle.thing, Multicast):
        return problems
    multicast = handle.thing
    if mc_offset + size > state.world.extent(multicast):
        problems.add(1)
    if state.index(dev) not in multicast.team:
        problems.add(101)
    return problems | unbind_piece(state, multicast, state.index(dev), mc_offset, size)


def unbind_piece(state: State, multicast: Multicast, device: int, mc_offset: int, size: int) -> set[int]:
    here = find_bind(multicast, device, mc_offset)
    if here is not None:
        return {1} if state.strict and here.size != size else set()  # the kernel module looks at the offset only
    gone = any((b.device, b.mc_offset) == (device, mc_offset) for b in multicast.vanished)
    return {0, 1} if gone else {1}  # its memory was freed: answers differ


def find_bind(multicast: Multicast, device: int, mc_offset: int) -> Bind | None:
    return next((b for b in multicast.binds if (b.device, b.mc_offset) == (device, mc_offset)), None)


def unbound(state: State, mc: int, dev: int, mc_offset: int) -> None:
    multicast, device = state.handles[mc].thing, state.index(dev)
    here = find_bind(multicast, device, mc_offset)
    if here is not None:
        multicast.binds.remove(here)
    else:
        gone = next(b for b in multicast.vanished if (b.device, b.mc_offset) == (device, mc_offset))
        multicast.vanished.remove(gone)
    state.settle()
