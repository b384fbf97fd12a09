"""What collectives need of a team, and of the memory that they work on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

#: How many ranks a kernel's parameters have room for: the devices of the largest NVLink domain there is.
MOST_RANKS = 72
#: How many blocks a kernel has at most. All must be resident at once, next to those of the user's kernels: they wait.
MOST_BLOCKS = 32
#: Threads of a block, and vectors that each of them has on its way at a time: 1 MiB in 32 blocks, about what a link of
#: NVLink's speed moves in the time that an answer takes (450 GB/s, 2 us).
THREADS, UNROLL = 512, 4
#: Where the flags of the device barrier begin in a pad. What lies before is `struct Pad` of kernels/barrier.h.
FLAGS, FLAG_BYTES = 256, 8
#: Where in a pad the word lies that lets all kernels of its rank go, when it is not 0.
BROKEN = 16
#: Symmetric memory that a team sets aside for each rank, zeroed: for the device barrier, and for staging.
PAD_BYTES = 32 << 10
SCRATCH_BYTES = 1 << 20
#: One-shot collectives take turns with two halves.
HALF = SCRATCH_BYTES // 2
#: Kernels move vectors of so many bytes, so replicas have to begin at a multiple.
VECTOR = 16

assert FLAGS + MOST_BLOCKS * MOST_RANKS * FLAG_BYTES <= PAD_BYTES


class Region(Protocol):
    """Memory that every rank has a replica of."""

    @property
    def nbytes(self) -> int:
        """Size of one replica in bytes."""
        ...

    @property
    def multicast_ptr(self) -> int:
        """Address of all replicas, 0 without multicast."""
        ...

    def peer(self, rank: int) -> int:
        """Answer the address of a rank's replica, valid in this process."""
        ...


class Array(Region, Protocol):
    """A region whose content has a shape and a type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis."""
        ...

    @property
    def dtype(self) -> Any:
        """The numpy dtype."""
        ...


class Seats(Protocol):
    """The ranks of a team that this process drives.

    Attributes
    ----------
    size
        How many ranks the team has.
    mine
        Those whose devices this process drives.
    devices
        The ordinal of the device of each of `mine`.
    has_multicast
        Whether regions have a multicast address.
    timeout
        Seconds that a kernel waits for a rank that does not come.
    pad, scratch
        PAD_BYTES and SCRATCH_BYTES for each rank; the pad is zero at first, and nobody else's.
    """

    @property
    def size(self) -> int: ...
    @property
    def mine(self) -> Sequence[int]: ...
    @property
    def devices(self) -> Sequence[int]: ...
    @property
    def has_multicast(self) -> bool: ...
    @property
    def timeout(self) -> float: ...
    @property
    def pad(self) -> Region: ...
    @property
    def scratch(self) -> Region: ...
