"""Address ranges that do not overlap, found by address."""

from __future__ import annotations

from bisect import bisect_right, insort_right
from collections import deque
from collections.abc import Iterator
from operator import attrgetter
from typing import Generic, Protocol, TypeVar


class Range(Protocol):
    """Anything with a first address and a size in bytes."""

    @property
    def base(self) -> int: ...
    @property
    def size(self) -> int: ...


R = TypeVar("R", bound=Range)
BASE = attrgetter("base")
GONE = 256  # how many that were taken out are remembered


class Ranges(Generic[R]):
    """A set of disjoint ranges in address order.

    One list, which one call changes: an exception of a signal handler finds a change made, or not begun.
    """

    def __init__(self) -> None:
        self._ranges: list[R] = []
        self._gone: deque[R] = deque(maxlen=GONE)
        self.changes = 0  # how often it changed: who has looked can tell whether to look again

    def __iter__(self) -> Iterator[R]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def add(self, item: R) -> None:
        """Put a range in; it must not overlap another."""
        self.changes += 1
        insort_right(self._ranges, item, key=BASE)

    def remove(self, item: R) -> None:
        """Take out the range that begins where ``item`` does."""
        at = bisect_right(self._ranges, item.base, key=BASE) - 1
        if at < 0 or self._ranges[at] is not item:
            raise KeyError(hex(item.base))
        self.changes += 1
        self._gone.append(item)
        del self._ranges[at]

    def at(self, address: int) -> R | None:
        """Answer the range that contains ``address``."""
        at = bisect_right(self._ranges, address, key=BASE) - 1
        if at < 0:
            return None
        found = self._ranges[at]
        return found if address < found.base + found.size else None

    def gone_at(self, address: int) -> R | None:
        """Answer the range that contained ``address`` last and was taken out, if that was not too long ago."""
        return next((item for item in reversed(self._gone) if item.base <= address < item.base + item.size), None)

    def within(self, base: int, size: int) -> list[R]:
        """Answer the ranges that share a byte with ``[base, base + size)``, in address order."""
        at = max(bisect_right(self._ranges, base, key=BASE) - 1, 0)
        found: list[R] = []
        while at < len(self._ranges) and self._ranges[at].base < base + size:  # no slice: it would copy the rest
            if self._ranges[at].base + self._ranges[at].size > base:
                found.append(self._ranges[at])
            at += 1
        return found
