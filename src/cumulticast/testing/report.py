"""How the ranks ended, and what is shown when one of them failed."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

TAIL = 40  # lines of a rank's output that a report shows


@dataclass(frozen=True, slots=True)
class Waiting:
    """A blocked call.

    Attributes
    ----------
    call
        Its C name.
    object
        The multicast object's number in the world.
    missing
        How many devices had yet to be added.
    seconds
        How long it had been waiting.
    """

    call: str
    object: int
    missing: int
    seconds: float

    def __str__(self) -> str:
        devices = f"{self.missing} more device{'s' * (self.missing != 1)} of multicast object {self.object}"
        return f"{self.call} was waiting for {devices}, for {self.seconds:.1f} s"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one rank ended.

    Attributes
    ----------
    rank, node, pid
        Which process it was.
    returncode
        Its exit status; -N when signal N ended it.
    value
        What the function returned; of a program, what it wrote to stdout. None if it failed.
    stdout, stderr
        All that it wrote.
    log
        Its CUDA error log: why calls were refused. Empty where CUDA_LOG_FILE leads elsewhere.
    waiting
        What it was waiting for when the ranks were stopped.
    stopped
        It did not end by itself.
    problem
        Why there is no value although it ended well.
    """

    rank: int
    node: int
    pid: int
    returncode: int
    value: Any
    stdout: str
    stderr: str
    log: str = ""
    waiting: tuple[Waiting, ...] = ()
    stopped: bool = False
    problem: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no value of it."""
        return self.stopped or self.returncode != 0 or bool(self.problem)

    def how(self) -> str:
        """Say how it ended."""
        if self.stopped:
            return "did not end and was stopped"
        if self.returncode < 0:
            return f"was ended by {signal.Signals(-self.returncode).name}"
        return self.problem or f"ended with exit status {self.returncode}"


class RanksFailed(AssertionError):
    """Not every rank did its work.

    Attributes
    ----------
    ranks : tuple of Outcome
        How each rank ended, in rank order; also of those that did well.
    """

    def __init__(self, what: str, why: str, ranks: Sequence[Outcome]) -> None:
        self.ranks = tuple(ranks)
        super().__init__("\n".join(_lines(what, why, self.ranks)))


def _lines(what: str, why: str, ranks: Sequence[Outcome]) -> Iterator[str]:
    failed = [str(outcome.rank) for outcome in ranks if outcome.failed]
    yield f"{what}: {len(failed)} of {len(ranks)} ranks failed ({', '.join(failed)}){why}"
    for outcome in ranks:
        place = f"rank {outcome.rank} (node {outcome.node}, pid {outcome.pid})"
        yield f"{place} {outcome.how() if outcome.failed else 'did its work'}"
        yield from (f"    {wait}" for wait in outcome.waiting)
        yield from _tail("stdout", outcome.stdout)
        yield from _tail("stderr", outcome.stderr)
        yield from _tail("CUDA error log", outcome.log)


def _tail(name: str, text: str) -> Iterator[str]:
    """Show the last lines of what a rank wrote."""
    lines = text.splitlines()
    if lines:
        yield f"  {name}{f', last {TAIL} of {len(lines)} lines' if len(lines) > TAIL else ''}:"
    yield from (f"    {line}" for line in lines[-TAIL:])
