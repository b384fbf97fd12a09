"""Shadow windows: where the replicas behind a mapped multicast address lie in this process.

A multicast address itself is PROT_NONE: ordinary loads and stores there are undefined on hardware, too. Behind it, once
per object and process, lies a window in which replica i of the team (ascending device order) begins ``i * stride``
bytes from the base; each bound piece is mapped at its mc_offset, and an unbound hole faults. So address → replicas is
arithmetic. The stride is the extent plus an odd number of pages: with strides of a power of two all replicas fall into
the same cache sets, and the same loop ran 4 to 25 times slower.
"""

from __future__ import annotations

import contextlib
import mmap
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

from cumulticast.sim import native
from cumulticast.sim.address_space import map_memory
from cumulticast.sim.moves import Moves
from cumulticast.sim.shared import World

PADDING_PAGES = 17
PAGE = mmap.PAGESIZE

Backing = tuple[int, int, int]  # size, allocation, mem_offset


def stride_of(extent: int) -> int:
    """Answer the distance of two replicas of an object of ``extent`` bytes."""
    return extent + PADDING_PAGES * PAGE


@dataclass(slots=True)
class Window:
    """The replicas of one multicast object, ``len(devices)`` of them.

    Attributes
    ----------
    base, stride, extent
        Replica i is ``[base + i * stride, base + i * stride + extent)``.
    devices
        World indices of the team's devices, ascending.
    pieces
        What is mapped, by device: mc_offset → (size, allocation, mem_offset).
    generation
        The object's generation that the pieces agree with.
    """

    base: int
    stride: int
    extent: int
    devices: tuple[int, ...]
    generation: int = -1
    pieces: dict[int, dict[int, Backing]] = field(default_factory=dict[int, dict[int, Backing]])
    order: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    def place(self, device: int, offset: int) -> int:
        """Answer where a device's replica has its page for ``offset``."""
        return self.base + self.devices.index(device) * self.stride + offset

    def piece_at(self, device: int, offset: int) -> tuple[int, Backing] | None:
        """Answer the bound piece (mc_offset, backing) of a device that holds ``offset``."""
        order = self.order.get(device, [])
        at = bisect_right(order, offset) - 1
        if at < 0:
            return None
        start = order[at]
        backing = self.pieces[device][start]
        return (start, backing) if offset < start + backing[0] else None

    def hole(self, device: int, offset: int, end: int) -> int:
        """Answer where the hole of a device that begins at ``offset`` ends, at most ``end``."""
        order = self.order.get(device, [])
        at = bisect_right(order, offset)
        return min(order[at], end) if at < len(order) else end

    def segments(self, offset: int, size: int) -> list[Segment]:
        """Split ``[offset, offset + size)`` into stretches in which every replica is one stretch of memory.

        Raises
        ------
        Unbound
            A device has nothing bound to a part of the range.
        """
        segments: list[Segment] = []
        at, end = offset, offset + size
        while at < end:
            stop, addresses = end, list[int]()
            for index, device in enumerate(self.devices):
                piece = self.piece_at(device, at)
                if piece is None:
                    raise Unbound(device, at, self.hole(device, at, end))
                start, (length, _, mem_offset) = piece
                skew = mem_offset % PAGE
                stop = stop if not skew and self._smooth(device, start + length) else min(stop, start + length)
                addresses.append(self.base + index * self.stride + at + skew)
            stop = self._bound_until(at, stop)
            segments.append(Segment(at, stop - at, tuple(addresses)))
            at = stop
        return segments

    def _smooth(self, device: int, offset: int) -> bool:
        """Tell whether the next piece continues this one without a skew, so that both are one stretch."""
        backing = self.pieces.get(device, {}).get(offset)
        return backing is not None and not backing[2] % PAGE

    def _bound_until(self, at: int, stop: int) -> int:
        """Shorten a stretch to where some device's chain of unskewed pieces ends."""
        for device in self.devices:
            here = at
            while here < stop:
                piece = self.piece_at(device, here)
                if piece is None or (here > at and piece[1][2] % PAGE):
                    break
                here = piece[0] + piece[1][0]
            stop = min(stop, here)
        return stop


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a multicast range: ``size`` bytes at ``offset``, and where each replica of it lies."""

    offset: int
    size: int
    addresses: tuple[int, ...]

    @property
    def stride(self) -> int | None:
        """The distance of the replicas when it is the same for all, else None."""
        if len(self.addresses) < 2:
            return 0
        stride = self.addresses[1] - self.addresses[0]
        even = all(b - a == stride for a, b in pairwise(self.addresses))
        return stride if even else None


class Unbound(Exception):
    """A device has nothing bound to ``[start, end)`` of the object."""

    def __init__(self, device: int, start: int, end: int) -> None:
        super().__init__(device, start, end)
        self.device = device
        self.start = start
        self.end = end


class Windows:
    """The windows of a process; each is made when its object is first mapped."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._moves = moves
        self._windows: dict[int, Window] = {}

    def open(self, obj: int, extent: int) -> Window:
        """Answer the up-to-date window of an object whose team is complete."""
        if obj not in self._windows:
            devices = tuple(d for (d,) in self._world.rows("select device from team where multicast = ?", obj))
            stride = stride_of(extent)
            base = native.map_none(0, stride * len(devices), 0)
            self._windows[obj] = Window(base, stride, extent, tuple(sorted(devices)))
        return self._refresh(self._windows[obj], obj)

    def refresh(self, obj: int) -> None:
        """Bring a window up to date after a bind or unbind; nothing to do when the object is not mapped here."""
        if obj in self._windows:
            self._refresh(self._windows[obj], obj)

    def distrust(self, obj: int) -> None:
        """Look at everything anew with the next use: memory of a piece is gone, whether or not its owner said so."""
        self._windows[obj].generation = -1

    def _refresh(self, window: Window, obj: int) -> Window:
        if window.generation == self._world.generation(obj):
            return window
        with self._world.settled():
            generation, bound = self._world.generation(obj), self._bound(obj)
        self._moves.settle()
        for device in window.devices:
            old, new = window.pieces.setdefault(device, {}), bound.get(device, {})
            for at in [at for at, backing in old.items() if new.get(at) != backing]:
                native.map_back(window.place(device, at), _pages(old.pop(at)))
            for at, backing in new.items():
                if at not in old:
                    with contextlib.suppress(FileNotFoundError):  # freed since: its owner is about to say so
                        map_piece(self._world, window, device, at, backing)
                        old[at] = backing
            window.order[device] = sorted(old)
        window.generation = generation
        return window

    def _bound(self, obj: int) -> dict[int, dict[int, Backing]]:
        query = "select device, mc_offset, size, allocation, mem_offset from binding where multicast = ?"
        bound: dict[int, dict[int, Backing]] = {}
        for device, at, size, memory, offset in self._world.rows(query, obj):
            bound.setdefault(device, {})[at] = (size, memory, offset)
        return bound

    def close(self, obj: int) -> None:
        """Take a window away."""
        window = self._windows.pop(obj, None)
        if window is not None:
            self._moves.settle()
            native.unmap(window.base, window.stride * len(window.devices))

    def close_all(self) -> None:
        """Take all windows away."""
        for obj in list(self._windows):
            self.close(obj)


def _pages(backing: Backing) -> int:
    """Answer the bytes a piece takes in the window: a skewed one begins inside its first page and needs one more."""
    return backing[0] + (PAGE if backing[2] % PAGE else 0)


def map_piece(world: World, window: Window, device: int, mc_offset: int, backing: Backing) -> None:
    """Map one bound piece of memory at its place.

    A mem_offset that is no multiple of the page size (256-byte offsets on SM_107 machines) leaves the piece skewed: its
    first byte lies ``mem_offset % PAGE`` into the page. The granule of headroom behind such a bind has room for it.
    """
    _, memory, mem_offset = backing
    skew = mem_offset % PAGE
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    map_memory(world, memory, window.place(device, mc_offset), _pages(backing), mem_offset - skew, protection)
