"""The new arrays of one team: which of them share an object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cumulticast.layout.exact import MOST, Key, best_partition
from cumulticast.layout.machines import Granularity, Limits
from cumulticast.layout.packing import Bin, Capacity, FirstRoom, Item, TightestRoom, decreasing, tightened
from cumulticast.layout.sizes import up

ENDLESS = 1 << 62  # bytes
MANY = 20_000  # arrays; with more, nothing is tried only to save objects once nothing more can be saved of memory


@dataclass(slots=True)
class Effort:
    """How many steps exact searches may still take, over all teams: a bound that is the same on every machine."""

    left: int = 400_000

    def spend(self, steps: int) -> bool:
        """Take steps, if as many are left."""
        if steps > self.left:
            return False
        self.left -= steps
        return True


@dataclass(frozen=True, slots=True)
class Choice:
    """Bins for one team with the least waste, and those with the fewest objects: often the same."""

    least: list[Bin]
    fewest: list[Bin]


def pack(items: Sequence[Item], limits: Limits, policy: Granularity, most: int | None, effort: Effort) -> Choice:
    """Pack the arrays of one team.

    Parameters
    ----------
    items
        Bytes and alignment of each.
    most
        Bytes that an object may have; None: as many as it takes.
    effort
        What exact searches may cost; taken from.
    """
    if not items:
        return Choice([], [])

    def rounded(size: int) -> int:
        return limits.rounded(size, policy)

    def key(bins: list[Bin]) -> Key:
        return sum(rounded(one.end) for one in bins), len(bins)

    limit = ENDLESS if most is None else most
    bound = _bound(items, limit, rounded, lambda size: limits.rounded(size, "minimum"))
    tries: list[list[Bin]] = []
    for bins in _tries(items, limits, policy, limit):
        tries.append(bins)
        if key(bins) == bound or (len(items) > MANY and key(bins)[0] == bound[0]):
            break
    least = min(tries, key=key)
    fewest = min(tries, key=lambda bins: key(bins)[::-1])
    if key(least) > bound and len(items) <= MOST and effort.spend(2 * 3 ** len(items)):
        least = best_partition(items, lambda end: (rounded(end), 1), limit)
        fewest = best_partition(items, lambda end: (1, rounded(end)), limit)
    return Choice(least, fewest)


def _bound(items: Sequence[Item], most: int, rounded: Callable[[int], int], granules: Callable[[int], int]) -> Key:
    """Return a key that no packing is below.

    In an object each array but the last takes whole steps of the finest alignment. The sum of these, rounded to
    granules, bounds several objects too: one behind another, from a granule on, they are one of no more granules.
    """
    step = min(alignment for _, alignment in items)
    whole = sum(up(nbytes, step) for nbytes, _ in items)
    end = whole - max(-nbytes % step for nbytes, _ in items)
    padded = rounded(end) > granules(end)  # then one object cannot do
    fits = all(nbytes <= most for nbytes, _ in items)
    return granules(end), max(2 if padded else 1, -(-whole // up(most, step)) if fits else 1)


def _tries(items: Sequence[Item], limits: Limits, policy: Granularity, most: int) -> Iterator[list[Bin]]:
    """Yield packings; the first is first fit decreasing."""
    coarsest = max(alignment for _, alignment in items)
    capacities: list[Capacity] = [lambda bins, nbytes: most]
    if policy == "recommended" and most > limits.recommended:
        capacities = [*capacities, *_whole_steps(items, limits.recommended, most)]
    for capacity in capacities:
        bins = decreasing(items, capacity, FirstRoom())
        yield bins
        if any(_loose(one, items, limits, policy) for one in bins):
            yield [tightened(one, items) for one in bins]
        if len(bins) > 1:
            yield [tightened(one, items) for one in decreasing(items, capacity, TightestRoom(coarsest))]


def _loose(bin_: Bin, items: Sequence[Item], limits: Limits, policy: Granularity) -> bool:
    """Whether less alignment between its arrays could make a bin smaller."""
    return limits.rounded(bin_.end, policy) > limits.rounded(sum(items[number][0] for number, _ in bin_.places), policy)


def _whole_steps(items: Sequence[Item], step: int, most: int) -> list[Capacity]:
    """Return capacities of whole recommended steps: what nearly fills them, or ends below the first, rounds to little.

    One makes a large object of all the full steps and puts the rest apart; one makes objects of a step each.
    """
    total = sum(nbytes for nbytes, _ in items)

    def steps_of(nbytes: int) -> int:
        return min(most, max(-(-nbytes // step) * step, step))

    def large_first(bins: int, nbytes: int) -> int:
        return min(most, max(total // step * step, step)) if bins == 0 else steps_of(nbytes)

    return [large_first, lambda bins, nbytes: steps_of(nbytes)]
