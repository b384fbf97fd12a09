"""Which bytes lie where: copies through one mapping, multimem through all replicas."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from model_state import DEVICE, READ, READWRITE, Memory, Multicast, State

Span = tuple[Memory, int, int]  # memory, offset, size
COMBINE = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def copy_spans(state: State, ptr: int, size: int, device: int, *, write: bool) -> list[Span] | None:
    """Answer what a copy by `device` touches; None: it is refused (1)."""
    at, spans = ptr, []
    while at < ptr + size:
        mapping = state.mapping_at(at)
        wanted = READWRITE if write else READ
        if mapping is None or mapping.memory is None or mapping.access.get((DEVICE, device), 0) & wanted != wanted:
            return None
        stop = min(mapping.end, ptr + size)
        spans.append((mapping.memory, at - mapping.base, stop - at))
        at = stop
    return spans


def replicas(state: State, ptr: int, size: int, *, write: bool) -> list[list[Span]] | None:
    """Answer what a multimem operation touches, device by device ascending; None: it is refused."""
    mapping = state.mapping_at(ptr)
    if mapping is None or not isinstance(mapping.handle.thing, Multicast) or ptr + size > mapping.end:
        return None
    wanted = READWRITE if write else READ
    if max(mapping.access.values(), default=0) & wanted != wanted:
        return None
    multicast = mapping.handle.thing
    found = [device_spans(multicast, device, ptr - mapping.base, size) for device in sorted(multicast.team)]
    return None if None in found else found


def device_spans(multicast: Multicast, device: int, offset: int, size: int) -> list[Span] | None:
    at, end, spans = offset, offset + size, []
    while at < end:
        here = next((b for b in multicast.binds if b.device == device and b.mc_offset <= at < b.end), None)
        if here is None:
            return None
        stop = min(here.end, end)
        spans.append((here.memory, here.mem_offset + at - here.mc_offset, stop - at))
        at = stop
    return spans


def aliased(found: list[list[Span]]) -> bool:
    """Whether two replicas share bytes: then the order in which they are written would show."""
    spans = sorted(((id(m), at, size) for row in found for m, at, size in row), key=lambda span: span[:2])
    return any(a[0] == b[0] and a[1] + a[2] > b[1] for a, b in pairwise(spans))


def read(spans: list[Span]) -> tuple[np.ndarray, np.ndarray]:
    """Answer the bytes, and which of them are known."""
    data = np.concatenate([m.data[at : at + size] for m, at, size in spans])
    return data, np.concatenate([m.known[at : at + size] for m, at, size in spans])


def write(spans: list[Span], data: np.ndarray, known: np.ndarray | None = None) -> None:
    done = 0
    for memory, at, size in spans:
        memory.data[at : at + size] = data[done : done + size]
        memory.known[at : at + size] = True if known is None else known[done : done + size]
        done += size


def combined(found: list[list[Span]], dtype: str, op: str) -> tuple[np.ndarray, np.ndarray]:
    """Combine all replicas; an element is known where all its bytes are known in all of them."""
    rows = [read(row) for row in found]
    total, known = rows[0][0].view(dtype).copy(), rows[0][1].copy()
    for data, mask in rows[1:]:
        total, known = COMBINE[op](total, data.view(dtype)), known & mask
    return total, known.reshape(len(total), -1).all(axis=1)


def reduce(found: list[list[Span]], array: np.ndarray, op: str) -> None:
    """Combine an array into every replica; what was not known stays so."""
    for row in found:
        data, known = read(row)
        whole = known.reshape(len(array), -1).all(axis=1)
        result = COMBINE[op](data.view(array.dtype), array)
        write(row, result.view(np.uint8), np.repeat(whole, array.itemsize))
