"""The best partition of few arrays into objects, by dynamic programming over their subsets.

The earliest end of a set of arrays is the least over which one is last: placing an array is monotone in where the ones
before it end. The best partition of a set is the least over the part that holds its lowest array. Both together look
at each pair of a set and a subset once: 3 to the power n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cumulticast.layout.packing import Bin, Item
from cumulticast.layout.sizes import up

MOST = 10  # arrays

#: What is to be least: compared in order.
Key = tuple[int, int]


def best_partition(items: Sequence[Item], cost: Callable[[int], Key], most: int) -> list[Bin]:
    """Return the bins whose keys have the least sum.

    Parameters
    ----------
    items
        At most `MOST` arrays.
    cost
        The key of a bin, from its end.
    most
        No bin with several arrays ends beyond this.
    """
    ends, lasts = _ends(items)
    whole = (1 << len(items)) - 1
    best: list[Key] = [(0, 0)] * (whole + 1)
    chosen = [0] * (whole + 1)
    keys = [cost(end) if end <= most or not subset & (subset - 1) else None for subset, end in enumerate(ends)]
    for subset in range(1, whole + 1):
        best[subset], chosen[subset] = _best_first_part(subset, keys, best)
    bins: list[Bin] = []
    while whole:
        bins.append(_bin(chosen[whole], items, lasts))
        whole ^= chosen[whole]
    return bins


def _best_first_part(subset: int, keys: list[Key | None], best: list[Key]) -> tuple[Key, int]:
    """Return the least key of a set, and the part with its lowest array that belongs to it."""
    lowest = subset & -subset
    rest = subset ^ lowest
    part, found = rest, None
    while True:
        key = keys[part | lowest]
        if key is not None:
            other = best[rest ^ part]
            total = (key[0] + other[0], key[1] + other[1])
            if found is None or total < found[0]:
                found = total, part | lowest
        if not part:
            break
        part = (part - 1) & rest
    assert found is not None  # an array alone always has a key
    return found


def _ends(items: Sequence[Item]) -> tuple[list[int], list[int]]:
    """Return the earliest end of every subset, and which array comes last then."""
    ends, lasts = [0] * (1 << len(items)), [0] * (1 << len(items))
    for subset in range(1, len(ends)):
        ends[subset], lasts[subset] = min(
            (up(ends[subset ^ (1 << number)], alignment) + nbytes, number)
            for number, (nbytes, alignment) in enumerate(items)
            if subset >> number & 1
        )
    return ends, lasts


def _bin(subset: int, items: Sequence[Item], lasts: list[int]) -> Bin:
    order: list[int] = []
    while subset:
        order.append(lasts[subset])
        subset ^= 1 << lasts[subset]
    places: list[tuple[int, int]] = []
    end = 0
    for number in reversed(order):
        offset = up(end, items[number][1])
        places.append((number, offset))
        end = offset + items[number][0]
    return Bin(tuple(places), end)
