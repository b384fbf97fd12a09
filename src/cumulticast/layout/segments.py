"""What lies at each place of an object, and how much of it a drawing can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cumulticast.layout.planned import Array, PlannedObject

Kind = Literal["array", "existing", "many", "hole", "padding", "beside", "headroom"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A range of an object that is one thing: arrays (by name), or what no array covers."""

    kind: Kind
    start: int
    stop: int
    arrays: tuple[str, ...] = ()


def segments(planned: PlannedObject) -> list[Segment]:
    """Return the whole address range of an object, in ascending order, without gaps."""
    first = planned.team[0]
    found: list[Segment] = []
    at = 0
    inside = sorted(planned.arrays, key=lambda array: (array.offset, array.nbytes))
    place = 0
    for bind in sorted((b for b in planned.binds if b.device == first), key=lambda bind: bind.mc_offset):
        if at < bind.mc_offset:
            found.append(Segment("headroom", at, bind.mc_offset))
        stop = at = bind.mc_offset + bind.size
        begin = place
        while place < len(inside) and inside[place].offset < stop:
            place += 1
        found += _in_bind(inside[begin:place], bind.mc_offset, stop, bind.created)
    if at < planned.size:
        found.append(Segment("headroom", at, planned.size))
    return found


def _in_bind(arrays: Sequence[Array], start: int, stop: int, created: bool) -> Iterator[Segment]:
    """Yield arrays and what is between them; existing arrays may overlap: the rest of the later one shows."""
    at = start
    for array in arrays:
        if at < array.offset:
            yield Segment("hole" if created else "beside", at, array.offset)
        end = array.offset + array.nbytes
        if max(at, array.offset) < end:
            yield Segment("array" if created else "existing", max(at, array.offset), end, (array.name,))
        at = max(at, end)
    if at < stop:
        yield Segment("padding" if created else "beside", at, stop)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is drawn, and what is too thin for that."""

    segments: tuple[Segment, ...]
    together: int
    hidden: int


def thick(all_segments: Sequence[Segment], least: float) -> Shown:
    """Join neighbours that are thinner than `least` bytes until they are not.

    Returns
    -------
    Shown
        The segments; how many arrays are drawn together with others; the bytes of holes and rests too thin to be drawn.
    """
    drawn: list[Segment] = []
    thin: list[Segment] = []
    together = hidden = 0

    def flush() -> None:
        nonlocal together, hidden
        names = tuple(name for one in thin for name in one.arrays)
        if len(names) > 1:
            together += len(names)
            drawn.append(Segment("many", thin[0].start, thin[-1].stop, names))
        elif names:
            drawn.append(next(one for one in thin if one.arrays))
        hidden += sum(one.stop - one.start for one in thin if not one.arrays)
        thin.clear()

    for one in all_segments:
        if one.stop - one.start >= least:
            flush()
            drawn.append(one)
            continue
        thin.append(one)
        if one.stop - thin[0].start >= least:
            flush()
    flush()
    return Shown(tuple(drawn), together, hidden)
