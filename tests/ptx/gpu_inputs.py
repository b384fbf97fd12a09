"""Inputs that come from a name, by integer arithmetic alone: no version of a library draws them differently."""

from __future__ import annotations

import zlib

import numpy as np


class Stream:
    """Inputs drawn from a name: SplitMix64 (Steele, Lea and Flood, 2014) over a counter."""

    def __init__(self, name: str) -> None:
        self.state = zlib.crc32(name.encode())

    def bits(self, n: int) -> np.ndarray:
        """Answer n words of 64 bits."""
        counter = np.arange(n, dtype=np.uint64) + np.uint64(self.state << 20)
        self.state += n
        z = counter * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return z ^ z >> np.uint64(31)

    def ints(self, n: int, low: int, high: int, kind: type = np.int32) -> np.ndarray:
        """Answer n integers from low up to but not including high."""
        return ((self.bits(n) % np.uint64(high - low)).astype(np.int64) + low).astype(kind)

    def floats(self, n: int, size: float, kind: type = np.float32) -> np.ndarray:
        """Answer n numbers between -size and size: multiples of size / 2^23, which every step here holds exactly."""
        return ((self.bits(n) >> np.uint64(40)).astype(np.float64) * (size * 2.0**-23) - size).astype(kind)

    def edges(self, n: int, kind: type, special: tuple[int, ...]) -> np.ndarray:
        """Answer bits of any number, every fourth one of the special ones."""
        found, width = self.bits(n), np.dtype(kind).itemsize * 8
        chosen = np.array(special, np.uint64)[(found >> np.uint64(8)) % np.uint64(len(special))]
        drawn = np.where(found % np.uint64(4) == 0, chosen, found if width == 64 else found >> np.uint64(64 - width))
        return drawn.astype({16: np.uint16, 32: np.uint32, 64: np.uint64}[width]).view(kind)


F16 = (0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7BFF, 0x0001, 0x03FF, 0x0400, 0x4200, 0xC500)
BF16 = (0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0x0001, 0x007F, 0x0080, 0x4040, 0xC0A0)
F32 = (*(x << 16 for x in BF16), 0x7F7FFFFF, 1, 0x007FFFFF, 0x34000000, 0x4B000000, 0xCB7FFFFF, 0x40490FDB)
F64 = (*(x << 32 for x in F32), 0x3FF0 << 48, 0xBFF8 << 48, 0x7FF0 << 48, 0x4340 << 48, 0x400921FB54442D18, 1)
