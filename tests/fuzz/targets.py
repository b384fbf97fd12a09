"""Places that pointers point to: good ones with a guard behind them, and every kind of bad one."""

from __future__ import annotations

import ctypes
import mmap
import random
from dataclasses import dataclass, field

PAGE = mmap.PAGESIZE
CANARY = 0xC5
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def pages(count: int, protection: int) -> int:
    """Map pages of our own between two that nobody may touch; answer the first address."""
    base = LIBC.mmap(None, (count + 2) * PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert base not in (None, ctypes.c_void_p(-1).value)
    assert LIBC.mprotect(base + PAGE, count * PAGE, protection) == 0
    return base + PAGE


@dataclass
class Targets:
    """All places of one process."""

    rng: random.Random
    slots: list[int] = field(init=False)  # outputs: one page each, all canary
    host: int = field(init=False)  # what copies may read and write

    def __post_init__(self) -> None:
        both = mmap.PROT_READ | mmap.PROT_WRITE
        self.slots = [pages(1, both) for _ in range(12)]
        self.inputs = [pages(1, both) for _ in range(12)]
        self.host = pages(16, both)
        self.readonly = pages(1, mmap.PROT_READ)
        self.nothing = pages(1, 0)
        gone = pages(1, both)
        assert LIBC.munmap(gone - PAGE, 3 * PAGE) == 0
        self.unreadable = [
            self.nothing, self.nothing + 8, gone, gone + 12, self.host + 16 * PAGE, self.host + 16 * PAGE - 3,
            1, 8, 4095, 0x1_0000, 0x8000_0000_0000, 0xFFFF_8000_0000_0000, 0xFFFF_FFFF_FFFF_F000, (1 << 64) - 8,
            (1 << 64) - 1, 0x0123_4567_89AB_CDEF,
        ]  # fmt: skip

    def canaries(self) -> None:
        for slot in self.slots:
            ctypes.memset(slot, CANARY, PAGE)

    def bad(self, *, for_output: bool) -> int:
        """Draw a pointer that cannot be used: null, wild, or read-only for outputs."""
        return self.rng.choice([0, *self.unreadable, *([self.readonly] * 3 if for_output else [])])

    def changed(self, slot: int) -> list[int]:
        """Answer which bytes of an output's page are no canaries any more."""
        data = ctypes.string_at(slot, PAGE)
        return [] if data == bytes([CANARY]) * PAGE else [at for at, byte in enumerate(data) if byte != CANARY]
