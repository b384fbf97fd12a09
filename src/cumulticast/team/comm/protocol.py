"""What ranks need to talk to each other: one all-gather with a time limit, and an error that says who failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

NO_RANK = -1  # a culprit that is no rank of this comm: the process that carries the messages, in a split without it


class CommError(RuntimeError):
    """Say which ranks made an exchange fail, and how. It is the same on every rank that is alive.

    The comm is over: every later exchange on it raises this again. To go on, close it, and open another one, or split
    the ranks that are left off it.

    Attributes
    ----------
    culprits
        Rank → what happened: ``"its process ended"``, ``"did not come to 'bind' within 30.0 s"``, ``"is at 'map' where
        others are at 'bind'"``, ``"left: no memory"``. The rank −1 stands for the process that carries the messages
        (rank 0 of the comm that was opened) where that is no rank of this comm.
    label
        The exchange that failed.
    """

    def __init__(self, culprits: Mapping[int, str], label: str) -> None:
        self.culprits = dict(culprits)
        self.label = label
        super().__init__(self.culprits, label)  # the arguments: so it survives pickling

    def __str__(self) -> str:
        """Name each culprit."""
        told = "; ".join(f"{name_of(rank)}: {what}" for rank, what in sorted(self.culprits.items()))
        return f"{told} (at {self.label!r})"


def name_of(rank: int) -> str:
    """Say who a culprit is."""
    return "the process of rank 0 of the whole job" if rank == NO_RANK else f"rank {rank}"


class Comm(Protocol):
    """How ranks talk. Any object with these members will do; `cumulticast.team.comm.open_comm` makes one."""

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        ...

    @property
    def size(self) -> int:
        """How many ranks there are."""
        ...

    def exchange(self, payload: bytes, label: str, timeout: float) -> list[bytes]:
        """Give every rank what every rank brought, in the order of ranks (an all-gather, so a barrier too).

        Parameters
        ----------
        payload
            What this rank brings, at most `frames.PART_LIMIT` bytes.
        label
            The name of the step. Ranks at different steps are told so.
        timeout
            Seconds from the first rank's arrival to the last one's.

        Raises
        ------
        CommError
            A rank ended, left, did not come in time or is at another step.
        """
        ...

    def split(self, ranks: Sequence[int]) -> Comm:
        """Make a comm of some of the ranks. All of these call it, in the same order; no other rank takes part.

        Parameters
        ----------
        ranks
            Ranks of this comm; the order gives the new numbers.
        """
        ...

    def close(self, reason: str = "") -> None:
        """Leave. The other ranks learn that, and why, at their next exchange."""
        ...
