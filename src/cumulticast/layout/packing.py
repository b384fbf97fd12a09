"""Arrays into bins: what an object holds, and at which offsets.

First fit decreasing is the baseline. Best fit decreasing, and for the recommended granularity bins that fill whole
steps of 512 MiB, are tried beside it; which of them is taken, `team.py` decides.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from cumulticast.layout.sizes import up

#: Bytes and alignment of an array.
Item = tuple[int, int]
#: How large the bin may be that is opened for an array: (bins there are, bytes of the array) -> bytes.
Capacity = Callable[[int, int], int]


@dataclass(frozen=True, slots=True)
class Bin:
    """Arrays that share an object: (number of the item, offset) each, and the end of the last."""

    places: tuple[tuple[int, int], ...]
    end: int


class Rooms(Protocol):
    """Which open bin an array goes to."""

    def find(self, nbytes: int, alignment: int) -> int | None:
        """Return a bin with room for it."""
        ...

    def put(self, number: int, end: int, size: int) -> None:
        """Set where the arrays of a bin end, and where the bin does; a new bin has the next number."""
        ...


class FirstRoom:
    """The lowest bin that has room: a tree of maxima over the bins."""

    def __init__(self) -> None:
        self._width = 1
        self._tree = [-1, -1]
        self._ends: list[int] = []

    def find(self, nbytes: int, alignment: int) -> int | None:
        """Return the lowest bin with room for `nbytes` behind what alignment skips, or None."""
        tree, node = self._tree, 1
        if tree[1] < nbytes:
            return None
        while True:
            while node < self._width:
                node *= 2
                if tree[node] < nbytes:
                    node += 1
            if -self._ends[node - self._width] % alignment + nbytes <= tree[node]:
                return node - self._width
            while node > 1 and (node & 1 or tree[node + 1] < nbytes):  # to the next with as much room, to the right
                node //= 2
            if node == 1:
                return None
            node += 1

    def put(self, number: int, end: int, size: int) -> None:
        """Set the end and size of a bin."""
        if number == len(self._ends):
            self._ends.append(end)
        self._ends[number] = end
        while number >= self._width:
            self._grow()
        tree, node = self._tree, self._width + number
        tree[node] = size - end
        while node > 1:
            most = max(tree[node], tree[node ^ 1])
            node //= 2
            if tree[node] == most:
                return
            tree[node] = most

    def _grow(self) -> None:
        leaves = self._tree[self._width :]
        self._width *= 2
        self._tree = [-1] * self._width + leaves + [-1] * len(leaves)
        for node in range(self._width - 1, 0, -1):
            self._tree[node] = max(self._tree[2 * node], self._tree[2 * node + 1])


class TightestRoom:
    """The bin that is left with the least room, counted from the coarsest alignment on: right for every array."""

    def __init__(self, alignment: int) -> None:
        self._step = alignment
        self._sorted: list[tuple[int, int]] = []
        self._room: dict[int, int] = {}

    def find(self, nbytes: int, alignment: int) -> int | None:
        """Return the bin with the least room that holds `nbytes`, or None."""
        place = bisect_left(self._sorted, (nbytes, -1))
        return self._sorted[place][1] if place < len(self._sorted) else None

    def put(self, number: int, end: int, size: int) -> None:
        """Set the end and size of a bin."""
        if number in self._room:
            del self._sorted[bisect_left(self._sorted, (self._room[number], number))]
        room = self._room[number] = size - up(end, self._step)
        insort(self._sorted, (room, number))


def decreasing(items: Sequence[Item], capacity: Capacity, rooms: Rooms) -> list[Bin]:
    """Place items by descending size into the bin that `rooms` names, or a new one. An item too large gets its own."""
    order = sorted(range(len(items)), key=lambda number: -items[number][0])
    places: list[list[tuple[int, int]]] = []
    sizes: list[int] = []
    ends: list[int] = []
    for number in order:
        nbytes, alignment = items[number]
        found = rooms.find(nbytes, alignment)
        if found is None:
            found = len(places)
            places.append([])
            sizes.append(capacity(found, nbytes))
            ends.append(0)
        offset = -(-ends[found] // alignment) * alignment
        places[found].append((number, offset))
        end = ends[found] = offset + nbytes
        rooms.put(found, end, sizes[found])
    return [Bin(tuple(inside), end) for inside, end in zip(places, ends, strict=True)]


def tightened(bin_: Bin, items: Sequence[Item]) -> Bin:
    """Place the arrays of a bin again, coarse alignments first, later ones into the gaps; keep what is better."""
    order = sorted((number for number, _ in bin_.places), key=lambda number: (-items[number][1], -items[number][0]))
    gaps: list[tuple[int, int]] = []  # (start, stop)
    places: list[tuple[int, int]] = []
    end = 0
    for alignment, group in groupby(order, key=lambda number: items[number][1]):
        end, gaps = _place_group(_loosest_last(list(group), items), items, alignment, end, gaps, places)
    return Bin(tuple(places), end) if end < bin_.end else bin_


def _place_group(
    group: list[int],
    items: Sequence[Item],
    alignment: int,
    end: int,
    gaps: list[tuple[int, int]],
    places: list[tuple[int, int]],
) -> tuple[int, list[tuple[int, int]]]:
    """Place arrays of one alignment into the smallest gap that holds them, or at the end; return end and gaps left."""
    usable = sorted(
        (stop - up(start, alignment), up(start, alignment)) for start, stop in gaps if up(start, alignment) < stop
    )
    left = [(start, min(up(start, alignment), stop)) for start, stop in gaps if start % alignment]
    for number in group:
        nbytes = items[number][0]
        place = bisect_left(usable, (nbytes, -1))
        if place == len(usable):
            offset = up(end, alignment)
            if end < offset:
                left.append((end, offset))
            end = offset + nbytes
        else:
            room, offset = usable.pop(place)
            after = up(offset + nbytes, alignment)
            left.append((offset + nbytes, min(after, offset + room)))
            if after < offset + room:
                insort(usable, (offset + room - after, after))
        places.append((number, offset))
    return end, [gap for gap in left if gap[0] < gap[1]] + [(start, start + room) for room, start in usable]


def _loosest_last(group: list[int], items: Sequence[Item]) -> list[int]:
    """Put the array last behind which alignment would waste most: at the end it wastes nothing."""
    last = max(range(len(group)), key=lambda place: -items[group[place]][0] % items[group[place]][1])
    return [*group[:last], *group[last + 1 :], group[last]]
