"""What becomes an object: the new arrays in it, and the windows on memory that exists."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cumulticast.layout.existing import Window
from cumulticast.layout.packing import Bin
from cumulticast.layout.request import Request


@dataclass(slots=True)
class Assembly:
    """An object in the making.

    Attributes
    ----------
    team
        Its devices.
    arrays
        (request, offset) of new arrays.
    load, memory
        Where the last of them ends, and the bytes of memory for them on each device.
    windows
        Existing memory, behind the new.
    size
        Bytes of the object so far, headroom included.
    """

    team: tuple[int, ...]
    arrays: list[tuple[Request, int]] = field(default_factory=list[tuple[Request, int]])
    load: int = 0
    memory: int = 0
    windows: list[Window] = field(default_factory=list[Window])
    size: int = 0
    separate: bool = False
    _bound: dict[tuple[str, int], list[tuple[int, int]]] = field(
        default_factory=dict[tuple[str, int], list[tuple[int, int]]]
    )

    @property
    def slack(self) -> int:
        """Bytes of memory on each device behind the last array."""
        return self.memory - self.load

    @property
    def alignment(self) -> int:
        """The coarsest alignment of its new arrays."""
        return max((request.alignment for request, _ in self.arrays), default=1)

    def add(self, window: Window, granularity: int) -> None:
        """Show existing memory behind what is there."""
        self.windows.append(window)
        self.size += window.span(granularity)
        for device, offset in zip(self.team, window.offsets, strict=True):
            insort(self._bound.setdefault((window.memory, device), []), (offset, offset + window.size))

    def shows(self, window: Window) -> bool:
        """Whether a byte of the window is bound here already: binding it twice in one object is undescribed (MC329)."""
        for device, offset in zip(self.team, window.offsets, strict=True):
            bound = self._bound.get((window.memory, device), [])
            place = bisect_left(bound, (offset + window.size, 0))
            if place and bound[place - 1][1] > offset:
                return True
        return False


def of_bin(team: tuple[int, ...], bin_: Bin, requests: Sequence[Request], memory: int) -> Assembly:
    """Make an assembly of packed arrays; the bin numbers them as `requests` does."""
    arrays = [(requests[number], offset) for number, offset in sorted(bin_.places, key=lambda place: place[1])]
    return Assembly(team, arrays, bin_.end, memory, size=memory)


def place_windows(
    team: tuple[int, ...],
    windows: Iterable[Window],
    homes: Sequence[Assembly],
    granularity: int,
    most: int | None,
) -> list[Assembly]:
    """Put windows into the first object of the team that has room and does not show them yet; return new objects."""
    made: list[Assembly] = []
    for window in windows:
        for home in (*homes, *made):
            if (most is None or home.size + window.span(granularity) <= most) and not home.shows(window):
                break
        else:
            home = Assembly(team)
            made.append(home)
        home.add(window, granularity)
    return made
