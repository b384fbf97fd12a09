"""What reservations, mappings and access rights must answer."""

from __future__ import annotations

from dataclasses import dataclass
from mmap import PAGESIZE

from model_state import DEVICE, GRANULE, HOST, HOST_NUMA, Mapping, Multicast, Reservation, State


def reserve(state: State, size: int, alignment: int, addr: int, flags: int) -> set[int]:
    step = PAGESIZE if state.strict else GRANULE  # documented: host pages; recorded: 2 MiB
    wrong = flags or size <= 0 or size % step or addr % step or alignment & (alignment - 1)
    return {1} if wrong else set()


def free(state: State, ptr: int, size: int) -> set[int]:
    found = next((r for r in state.reservations if r.base == ptr), None)
    return {1} if found is None or found.size != size or state.touching(ptr, size) else set()


def freed(state: State, ptr: int) -> None:
    state.reservations = [r for r in state.reservations if r.base != ptr]


def reserved(state: State, base: int, size: int, alignment: int) -> None:
    assert base and base % max(alignment, PAGESIZE) == 0
    for other in state.reservations:
        assert base + size <= other.base or other.base + other.size <= base, "reservations overlap"
    state.reservations.append(Reservation(base, size))


@dataclass(frozen=True)
class MapWish:
    """The arguments of cuMemMap."""

    ptr: int
    size: int
    offset: int
    handle: int
    flags: int = 0


def map_range(state: State, wish: MapWish) -> set[int]:
    problems, handle = set(), state.usable(wish.handle)
    reservation = state.reservation_at(wish.ptr)
    if wish.flags or wish.size <= 0 or wish.ptr % GRANULE or handle is None or reservation is None:
        problems.add(1)
    if state.touching(wish.ptr, wish.size):
        problems.add(1)
    beyond = reservation is not None and wish.ptr + wish.size > reservation.base + reservation.size
    if beyond and state.strict:
        problems.add(1)
    if wish.offset:
        problems |= {1, 801}
    if handle is not None:
        problems |= map_thing(state, wish, handle.thing)
    if beyond and not problems:
        problems = {0, 1}  # hardware takes it as far as it can (recorded), nobody says how far that is
    return problems


def map_thing(state: State, wish: MapWish, thing: object) -> set[int]:
    problems: set[int] = set()
    if isinstance(thing, Multicast):
        if wish.size % GRANULE or wish.offset + wish.size > state.world.extent(thing):
            problems.add(1)
        return problems if thing.complete else problems | {909}  # it would wait; the test has set a limit
    if state.strict and (wish.size % GRANULE or wish.offset + wish.size > thing.size):
        problems.add(1)
    if not state.strict and wish.size != thing.size:
        problems |= {1, 801}  # recorded: only whole allocations
    return problems


def mapped(state: State, wish: MapWish) -> None:
    state.mappings.append(Mapping(wish.ptr, wish.size, state.handles[wish.handle]))


def unmap(state: State, ptr: int, size: int) -> set[int]:
    inside = state.touching(ptr, size)
    split = any(m.base < ptr or m.end > ptr + size for m in inside)
    if split or size <= 0 or state.reservation_at(ptr) is None:
        return {1}
    exact = len(inside) == 1 and inside[0].size == size
    if exact or not state.strict:
        return set()  # recorded: more than the mapping, and nothing at all, are fine
    return {1} if sum(m.size for m in inside) != size else {0, 1}  # several whole mappings: either reading


def unmapped(state: State, ptr: int, size: int) -> None:
    for mapping in state.touching(ptr, size):
        state.mappings.remove(mapping)
        if not mapping.handle.references:
            state.settle()
            if mapping.handle.value not in state.handles:
                state.released.append(mapping.handle.value)
    state.settle()


def set_access(state: State, ptr: int, size: int, grants: list[tuple[tuple[int, int], int]]) -> set[int]:
    inside, problems, at = state.touching(ptr, size), set(), ptr
    for mapping in inside:
        if mapping.base > at:
            break
        at = mapping.end
    if size <= 0 or size % GRANULE or not grants or at < ptr + size:
        problems.add(1)
    if any(m.base < ptr or m.end > ptr + size for m in inside):
        problems.add(1)
    for location, flags in grants:
        if flags not in (0, 1, 3) or location[0] not in (DEVICE, HOST, HOST_NUMA):
            problems.add(1)
        if location[0] == DEVICE and not 0 <= location[1] < state.machine.devices:
            problems |= {1, 101}
        for mapping in inside:
            problems |= grant(state, mapping, location)
    return problems


def grant(state: State, mapping: Mapping, location: tuple[int, int]) -> set[int]:
    if mapping.memory is None:
        if location[0] != DEVICE:
            return {1, 801}
        if state.index(location[1]) in mapping.handle.thing.team:
            return set()
        return {101} if state.strict else {401}  # the documented list has no 401, but hardware was seen to answer it
    return {801} if location[0] != DEVICE and mapping.memory.device is not None else set()


def granted(state: State, ptr: int, size: int, grants: list[tuple[tuple[int, int], int]]) -> None:
    for mapping in state.touching(ptr, size):
        mapping.access |= dict(grants)


def get_access(state: State, location: tuple[int, int], ptr: int) -> set[int]:
    problems = set() if state.mapping_at(ptr) else {1}
    if location[0] == DEVICE and not 0 <= location[1] < state.machine.devices:
        problems |= {1, 101}
    return problems
