"""Memory that exists: which range of it a bind has to show so that an array is seen.

A bind shows whole granules. An array that begins inside of one is bound from the granule below, and lies at the rest in
the object: that needs nothing special, but the rest must be the same on every device, because at one offset of the
object all replicas of an array meet. Where it differs, some devices need a bind that begins inside a granule: SM_107,
one granule of headroom in the object, and one of the device's stock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cumulticast.layout.machines import Limits
from cumulticast.layout.request import Request, RequestError
from cumulticast.layout.sizes import up
from cumulticast.rules.text import listed


@dataclass(frozen=True, slots=True)
class Window:
    """A range of existing memory, bound on every device of a team.

    Attributes
    ----------
    memory, memory_size
        The allocation's name, and its bytes.
    offsets
        Where the range begins in it, for each device of the team.
    size
        Bytes bound, a multiple of the granularity.
    arrays
        (request, offset in the range) each.
    """

    memory: str
    memory_size: int
    offsets: tuple[int, ...]
    size: int
    arrays: tuple[tuple[Request, int], ...]

    def unaligned(self, granularity: int) -> int:
        """Count the devices on which it begins inside a granule."""
        return sum(offset % granularity != 0 for offset in self.offsets)

    def span(self, granularity: int) -> int:
        """Return the bytes of the object that it takes, headroom included."""
        return self.size + (granularity if self.unaligned(granularity) else 0)


def memory_sizes(requests: Iterable[Request], granularity: int) -> dict[str, int]:
    """Return the size of every named allocation: what was said, or the granules that its arrays take.

    Raises
    ------
    RequestError
        Two sizes were said of one allocation, or one that is no multiple of the granularity.
    """
    said: dict[str, int] = {}
    taken: dict[str, int] = {}
    for request in requests:
        existing = request.existing
        if existing is None:
            continue
        name, size = existing.memory, existing.size
        if size is not None and said.setdefault(name, size) != size:
            raise RequestError(request.name, f"memory {name} has {size} bytes here and {said[name]} elsewhere")
        if size is not None and size % granularity:
            near = up(size, granularity)
            raise RequestError(request.name, f"memory size {size} is no multiple of {granularity}; nearest {near}")
        end = max(_offsets(request, 1)) + request.nbytes
        taken[name] = max(taken.get(name, 0), up(end, granularity))
    return {**taken, **said}


def _offsets(request: Request, devices: int) -> tuple[int, ...]:
    assert request.existing is not None
    offset = request.existing.offset
    return offset if isinstance(offset, tuple) else (offset,) * devices


def window(request: Request, team: Sequence[int], limits: Limits, memory_size: int) -> Window | str:
    """Return the range to bind for an array, with the fewest unaligned binds, or why no bind shows it.

    Raises
    ------
    RequestError
        The number of offsets is not that of the devices.
    """
    assert request.existing is not None
    offsets = _offsets(request, len(team))
    if len(offsets) != len(team):
        text = f"{len(offsets)} offsets for a team of {len(team)} devices; give one, or one for each device"
        raise RequestError(request.name, text)
    granularity = limits.granularity
    found: list[tuple[int, int, Window]] = []
    for rest in sorted({0, *(offset % granularity for offset in offsets)}):
        starts = tuple(offset - rest for offset in offsets)
        size = up(rest + request.nbytes, granularity)
        good = all(s >= 0 and s % limits.offset_step == 0 and s + size <= memory_size for s in starts)
        if good:
            one = Window(request.existing.memory, memory_size, starts, size, ((request, rest),))
            found.append((one.unaligned(granularity), size, one))
    return min(found, key=lambda entry: entry[:2])[2] if found else _why_none(request, offsets, limits, memory_size)


def _why_none(request: Request, offsets: tuple[int, ...], limits: Limits, memory_size: int) -> str:
    end = max(offsets) + request.nbytes
    if end > memory_size:
        return f"{request.name} ends at {end}, beyond its memory of {memory_size} bytes (MC311)"
    rests = tuple(sorted({offset % limits.granularity for offset in offsets}))
    shown = f"{request.name} begins {listed(rests)} bytes into a granule on different devices"
    if not limits.relaxed:
        return f"{shown}; {limits.machine} binds whole granules only, so these must be equal (MC307)"
    if len({rest % limits.offset_step for rest in rests}) > 1:
        return f"{shown}; they must differ by multiples of {limits.offset_step} (MC361)"
    return f"{shown}; no range of whole size around it lies inside of its memory of {memory_size} bytes (MC311)"


def merged(windows: Iterable[Window], granularity: int) -> list[Window]:
    """Join windows of one team that overlap or touch on all devices alike: no byte is bound twice in an object."""

    def shape(one: Window) -> tuple[str, tuple[int, ...]]:
        return one.memory, tuple(offset - one.offsets[0] for offset in one.offsets)

    done: list[Window] = []
    for one in sorted(windows, key=lambda one: (shape(one), one.offsets[0], -one.size)):
        joined = _joined(done[-1], one, granularity) if done and shape(done[-1]) == shape(one) else None
        if joined is None:
            done.append(one)
        else:
            done[-1] = joined
    return done


def _joined(low: Window, high: Window, granularity: int) -> Window | None:
    distance = high.offsets[0] - low.offsets[0]
    size = max(low.size, up(distance + high.size, granularity))
    if distance > low.size or max(low.offsets) + size > low.memory_size:
        return None
    moved = tuple((request, offset + distance) for request, offset in high.arrays)
    return replace(low, size=size, arrays=(*low.arrays, *moved))
