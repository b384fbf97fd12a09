"""Free ranges of an address space, in ascending order, with the first that holds a request found fast.

The ranges lie in buckets of at most 128. Each bucket knows its largest range, so a search looks at one number a bucket
and then into few buckets: a dozen microseconds with thousands of ranges. Ranges never touch: whoever adds one joins it
with its neighbours first, which two dictionaries (by start, by stop) answer.
"""

from bisect import bisect_left, bisect_right

_BUCKET = 128


class Holes:
    """A sorted set of disjoint ranges that never touch."""

    def __init__(self) -> None:
        self._buckets: list[list[int]] = []
        self._largest: list[int] = []
        self._stop_of: dict[int, int] = {}
        self._start_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._stop_of)

    def ranges(self) -> list[tuple[int, int]]:
        """Return every range as (start, stop), ascending."""
        return [(start, self._stop_of[start]) for bucket in self._buckets for start in bucket]

    @property
    def largest(self) -> int:
        """Bytes of the largest range; 0 without any."""
        return max(self._largest, default=0)

    def find(self, nbytes: int, alignment: int) -> tuple[int, int] | None:
        """Return (start of the range, aligned offset in it) of the lowest range that holds `nbytes`, or None."""
        for bucket, largest in zip(self._buckets, self._largest, strict=True):
            if largest < nbytes:
                continue
            for start in bucket:
                offset = -(-start // alignment) * alignment
                if offset + nbytes <= self._stop_of[start]:
                    return start, offset
        return None

    def take(self, hole: int, start: int, stop: int) -> None:
        """Cut start..stop out of the range that begins at `hole`; what is left on either side stays."""
        end = self._stop_of[hole]
        self._remove(hole)
        if hole < start:
            self._insert(hole, start)
        if stop < end:
            self._insert(stop, end)

    def give(self, start: int, stop: int) -> None:
        """Add start..stop, which overlaps no range, and join it with the ranges that it touches."""
        before, after = self._start_of.get(start), self._stop_of.get(stop)
        if before is not None:
            self._remove(before)
            start = before
        if after is not None:
            self._remove(stop)
            stop = after
        self._insert(start, stop)

    def _place(self, start: int) -> int:
        """Return the bucket in which a range with this start is, or belongs."""
        return max(bisect_right(self._buckets, start, key=_first) - 1, 0)

    def _insert(self, start: int, stop: int) -> None:
        self._stop_of[start] = stop
        self._start_of[stop] = start
        if not self._buckets:
            self._buckets.append([start])
            self._largest.append(stop - start)
            return
        place = self._place(start)
        bucket = self._buckets[place]
        bucket.insert(bisect_left(bucket, start), start)
        self._largest[place] = max(self._largest[place], stop - start)
        if len(bucket) > _BUCKET:
            self._split(place)

    def _split(self, place: int) -> None:
        bucket = self._buckets[place]
        middle = len(bucket) // 2
        self._buckets[place : place + 1] = [bucket[:middle], bucket[middle:]]
        self._largest.insert(place, 0)
        self._measure(place)
        self._measure(place + 1)

    def _remove(self, start: int) -> None:
        stop = self._stop_of.pop(start)
        del self._start_of[stop]
        place = self._place(start)
        bucket = self._buckets[place]
        del bucket[bisect_left(bucket, start)]
        if not bucket:
            del self._buckets[place], self._largest[place]
        elif stop - start == self._largest[place]:
            self._measure(place)

    def _measure(self, place: int) -> None:
        self._largest[place] = max(self._stop_of[start] - start for start in self._buckets[place])


def _first(bucket: list[int]) -> int:
    return bucket[0]
