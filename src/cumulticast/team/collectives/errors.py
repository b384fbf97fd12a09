"""What goes wrong with a collective."""

from __future__ import annotations


class KernelsUnavailable(RuntimeError):
    """The kernels cannot be compiled here: a package is missing, or the device is too old. The message says which."""


class CollectiveTimeout(RuntimeError):
    """A rank did not come to a collective within the team's time limit.

    The collective and all that were queued behind it did nothing more, and the arrays hold anything. The team is of
    no more use for collectives: close it and make a new one.

    Attributes
    ----------
    rank
        Who is missing: the same on all ranks that have waited.
    collective
        What it was, as ``all_reduce``.
    number
        How many collectives the team had carried out before it.
    gone
        Whether the time limit was not waited for, because the rank is gone. Then the collective is not known.
    """

    def __init__(self, rank: int, collective: str, number: int, timeout: float, *, gone: bool = False) -> None:
        late = f"did not come to {collective} (number {number}) within {timeout:g} s"
        super().__init__(f"rank {rank} {'is gone' if gone else late}")
        self.rank = rank
        self.collective = collective
        self.number = number
        self.gone = gone
