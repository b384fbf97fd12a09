"""What memory, handles and shareable handles must answer: the statuses a call may have, or none for success."""

from __future__ import annotations

from dataclasses import dataclass

from model_state import DEVICE, FABRIC, GRANULE, HOST, HOST_NUMA, POSIX, Handle, Memory, Multicast, State, Thing

SHAREABLE = POSIX | FABRIC


@dataclass(frozen=True)
class MemoryWish:
    """The arguments of cuMemCreate."""

    size: int
    location: tuple[int, int]
    handle_types: int = 0
    kind: int = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
    flags: int = 0


@dataclass(frozen=True)
class ObjectWish:
    """The arguments of cuMulticastCreate."""

    size: int
    num_devices: int
    handle_types: int = 0
    flags: int = 0


def create_memory(state: State, wish: MemoryWish) -> set[int]:
    kind, number = wish.location
    problems: set[int] = set()
    if wish.flags or wish.kind != 1 or kind not in (DEVICE, HOST, HOST_NUMA):
        problems.add(1)
    if wish.size <= 0 or wish.size % GRANULE or wish.handle_types & ~SHAREABLE:
        problems.add(1)
    if kind == DEVICE and not 0 <= number < state.machine.devices:
        problems.add(101)
    if kind == HOST_NUMA and number not in state.machine.nearest_node:
        problems.add(1)
    if kind == HOST and wish.handle_types:
        problems.add(1)
    return problems


def created_memory(state: State, wish: MemoryWish, value: int) -> Memory:
    location = (HOST, 0) if wish.location[0] == HOST else wish.location
    device = state.index(location[1]) if location[0] == DEVICE else None
    memory = Memory(wish.size, location, wish.handle_types, state.node, device)
    state.world.memories.append(memory)
    add_handle(state, Handle(value, memory))
    return memory


def create_multicast(state: State, wish: ObjectWish) -> set[int]:
    problems: set[int] = set()
    if wish.flags or wish.num_devices in (0, 0xFFFFFFFF) or wish.size <= 0 or wish.size % GRANULE:
        problems.add(1)
    if wish.handle_types & ~SHAREABLE:
        problems |= {1, 801}  # no document says which
    return problems


def created_multicast(state: State, wish: ObjectWish, value: int) -> Multicast:
    multicast = Multicast(wish.size, wish.num_devices, wish.handle_types, state.node)
    state.world.multicasts.append(multicast)
    add_handle(state, Handle(value, multicast))
    return multicast


def add_handle(state: State, handle: Handle) -> None:
    assert handle.value not in state.handles and handle.value not in state.released, "a handle value came twice"
    state.handles[handle.value] = handle


def add_device(state: State, value: int, dev: int) -> set[int]:
    handle, problems = state.usable(value), set()
    if not 0 <= dev < state.machine.devices:
        problems.add(101)
    multicast = handle.thing if handle is not None and isinstance(handle.thing, Multicast) else None
    if multicast is None or multicast.complete or state.index(dev) in multicast.team:
        problems.add(1)
    return problems


def added(state: State, value: int, dev: int) -> None:
    state.handles[value].thing.team.append(state.index(dev))


def release(state: State, value: int) -> set[int]:
    return set() if state.usable(value) else {1}


def released(state: State, value: int) -> None:
    handle = state.handles[value]
    handle.references -= 1
    state.settle()
    if value not in state.handles:
        state.released.append(value)


def retain(state: State, address: int) -> set[int]:
    return set() if state.mapping_at(address) else {1}


def properties(state: State, value: int) -> set[int]:
    handle = state.usable(value)
    if handle is None:
        return {1}
    return {0, 1} if isinstance(handle.thing, Multicast) else set()  # of objects: nothing documented


def export(state: State, value: int, handle_type: int, flags: int) -> set[int]:
    handle, problems = state.usable(value), set()
    if flags or handle is None or handle_type not in (1, 2, 4, 8):
        problems.add(1)
    if handle is not None and (handle.imported or not handle_type & handle.thing.handle_types):
        problems |= {1, 801}
    return problems


def exported(state: State, value: int, descriptor: int) -> None:
    state.descriptors[descriptor] = state.handles[value].thing


def closed(state: State, descriptor: int) -> None:
    del state.descriptors[descriptor]
    state.settle()


def import_descriptor(state: State, descriptor: int, handle_type: int) -> set[int]:
    if handle_type != POSIX:
        return {1} if not handle_type else {801}  # recorded: import.type0, import.type2
    return set() if state.descriptors[descriptor].node == state.node else {1, 999}  # descriptors stay on their node


def import_fabric(state: State, thing: Thing) -> set[int]:
    return set() if state.world.lives(thing) or isinstance(thing, Multicast) else {1, 999}


def renewed(state: State, thing: Multicast) -> Multicast:
    """Make an object whose last reference went before a fabric import anew, without devices, as hardware does."""
    world, made = state.world, Multicast(thing.size, thing.num_devices, thing.handle_types, state.node, thing.id)
    made.former = [*thing.vanished, *thing.former]
    world.multicasts.append(made)
    world.fabric = [(shared, made if it is thing else it) for shared, it in world.fabric]
    return made


def imported(state: State, thing: Thing, value: int) -> None:
    add_handle(state, Handle(value, thing, imported=True))
