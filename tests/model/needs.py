"""What a process must have for a step to make sense."""

from __future__ import annotations

from model_state import Bind, Handle, Multicast, State


def objects(state: State) -> bool:
    return any(isinstance(h.thing, Multicast) for h in state.handles.values())


def binds_of(handle: Handle) -> list[Bind]:
    return handle.thing.binds if isinstance(handle.thing, Multicast) else []


def binds(state: State) -> bool:
    return any(h.references and binds_of(h) for h in state.handles.values())


def handles(state: State) -> bool:
    return bool(state.handles)


def something(state: State) -> bool:
    return bool(state.mappings) or any(h.references for h in state.handles.values())


def descriptors(state: State) -> bool:
    return bool(state.descriptors)


def fabric(state: State) -> bool:
    return bool(state.world.fabric)


def reservations(state: State) -> bool:
    return bool(state.reservations)


def mappings(state: State) -> bool:
    return bool(state.mappings)


def mapped_objects(state: State) -> bool:
    return any(isinstance(m.handle.thing, Multicast) for m in state.mappings)
