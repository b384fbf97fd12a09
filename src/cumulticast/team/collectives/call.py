"""The parameters of a kernel: `struct Call` of kernels/, and the word by which a kernel tells why it gave up."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Self

from .protocol import MOST_RANKS, VECTOR, Region

#: A collective's number in a kernel's parameters.
NAMES = ("barrier", "broadcast", "all_reduce", "reduce_scatter", "all_gather")
#: `mine` of a rank that has no part.
NOBODY = 0xFFFFFFFF
#: In a failure word: the host let the kernels go, since the rank is gone. It does not know which collective they were.
GONE = 1 << 63
_LONG, _INT = ctypes.c_uint64, ctypes.c_uint32


class Call(ctypes.Structure):
    """What a kernel is told; kernels/ says what each field is."""

    _fields_ = (
        ("data", _LONG * MOST_RANKS),
        ("pad", _LONG * MOST_RANKS),
        *((name, _LONG) for name in ("data_mc", "pad_mc", "own", "told", "timeout", "first", "bytes", "chunk")),
        *((name, _INT) for name in ("chunks", "mine", "rank", "size", "source", "everywhere", "name")),
    )


@dataclass(frozen=True, slots=True)
class Why:
    """Why a kernel gave up.

    Attributes
    ----------
    rank
        Who is missing.
    name
        Which collective, by its place in NAMES.
    number
        How many the team had carried out before.
    gone
        Whether the host let the kernels go; then name and number tell nothing.
    """

    rank: int
    name: int
    number: int
    gone: bool

    @classmethod
    def of(cls, word: int) -> Self:
        """Read it from a failure word."""
        return cls((word & 0xFF) - 1, word >> 8 & 0xFF, (word & ~GONE) >> 16, bool(word & GONE))


def replica(region: Region, rank: int) -> int:
    """Answer where a rank's replica of a region lies.

    Raises
    ------
    ValueError
        This process cannot reach it, or it does not begin where vectors may.
    """
    address = region.peer(rank)
    if not address:
        raise ValueError(f"this process has no access to the memory of rank {rank}: collectives need it")
    if address % VECTOR:
        raise ValueError(f"the replica of rank {rank} begins at {address:#x}, which is no multiple of {VECTOR}")
    return address


def replicas(region: Region, size: int) -> list[int]:
    """Answer where the replicas of all ranks lie; see `replica`."""
    return [replica(region, rank) for rank in range(size)]
