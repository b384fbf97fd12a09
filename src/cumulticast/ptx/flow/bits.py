"""Sets of registers as integers: analyses go over them again and again."""

from __future__ import annotations

from collections.abc import Iterable


class Bits:
    """A number for each name, and sets of names as integers."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(dict.fromkeys(names))
        self._bit = {name: 1 << n for n, name in enumerate(self._names)}

    def __contains__(self, name: str) -> bool:
        return name in self._bit

    def of(self, names: Iterable[str]) -> int:
        """Answer a set of known names."""
        found = 0
        for name in names:
            found |= self._bit[name]
        return found

    def names(self, bits: int) -> frozenset[str]:
        """Answer the names in a set."""
        found: list[str] = []
        while bits:
            low = bits & -bits
            found.append(self._names[low.bit_length() - 1])
            bits ^= low
        return frozenset(found)
