"""What fresh memory holds where memory is adversarial: nothing that a program could take for its own.

Every word of 32 bits is no number as a float of 32 bits, its upper half none of 16 bits, and two of them none of 64
bits. Allocations differ, and seeds do.
"""

from __future__ import annotations

import os
import random

HIGH = 0xFFFF
STRETCH = 1 << 16  # bytes that repeat
LARGEST = 1 << 28  # bytes of an allocation that are filled; the rest, which the host would have to find, stays zero


def pattern(seed: int, number: int) -> bytes:
    """Answer what repeats in the allocation of this number."""
    words = bytearray(random.Random(f"{seed} {number}").randbytes(STRETCH))
    words[2::4] = words[3::4] = bytes([HIGH & 0xFF]) * (STRETCH // 4)
    return bytes(words)


def fill(path: str, offset: int, size: int, stretch: bytes) -> None:
    """Fill a part of the file that an allocation is.

    Raises
    ------
    OSError
        The file system has no room.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for at in range(0, min(size, LARGEST), STRETCH):
            os.pwrite(fd, stretch[: min(STRETCH, size - at)], offset + at)
    finally:
        os.close(fd)
