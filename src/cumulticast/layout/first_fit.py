"""First fit: arrays into one block of memory, and out again.

The same calls give the same offsets, on every rank: the lowest place that holds the request, always. So ranks that
allocate in the same order agree on every offset without a word exchanged.
"""

from bisect import bisect_left

from cumulticast.layout.holes import Holes
from cumulticast.layout.sizes import nearest_power


class FirstFit:
    """An allocator over `size` bytes whose freed ranges join with their neighbours.

    Parameters
    ----------
    size
        Bytes to give out, from offset 0.

    Raises
    ------
    ValueError
        If `size` is less than 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"size {size} is not positive; the smallest is 1")
        self.size = size
        self._holes = Holes()
        self._holes.give(0, size)
        self._live: dict[int, int] = {}
        self._used = 0

    def allocate(self, nbytes: int, alignment: int = 256) -> int | None:
        """Return the lowest offset at which `nbytes` are free, or None where no free range holds them.

        Parameters
        ----------
        nbytes
            Bytes wanted, at least 1.
        alignment
            The offset is a multiple of this: a power of two.

        Raises
        ------
        ValueError
            If `nbytes` is less than 1, or `alignment` no power of two.
        """
        if nbytes < 1:
            raise ValueError(f"nbytes {nbytes} is not positive; the smallest is 1")
        if alignment < 1 or alignment & (alignment - 1):
            raise ValueError(f"alignment {alignment} is not a power of two; the nearest is {nearest_power(alignment)}")
        found = self._holes.find(nbytes, alignment)
        if found is None:
            return None
        hole, offset = found
        self._holes.take(hole, offset, offset + nbytes)
        self._live[offset] = nbytes
        self._used += nbytes
        return offset

    def free(self, offset: int) -> None:
        """Take back what `allocate` returned.

        Raises
        ------
        ValueError
            If nothing lives at `offset`: it was never given out, or was freed before.
        """
        nbytes = self._live.pop(offset, None)
        if nbytes is None:
            raise ValueError(f"offset {offset} is not allocated; {self._nearest(offset)}")
        self._used -= nbytes
        self._holes.give(offset, offset + nbytes)

    @property
    def used(self) -> int:
        """Bytes that live, without what alignment leaves between them."""
        return self._used

    @property
    def free_bytes(self) -> int:
        """Bytes that are free, in however many pieces."""
        return self.size - self._used

    @property
    def largest(self) -> int:
        """Bytes of the largest free range."""
        return self._holes.largest

    def _nearest(self, offset: int) -> str:
        live = sorted(self._live)
        if not live:
            return "nothing is"
        place = bisect_left(live, offset)
        return f"the nearest is {min(live[max(place - 1, 0) : place + 1], key=lambda other: abs(other - offset))}"
