"""Votes: every rank says how its step went, and all know what all said."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from cumulticast import driver

from .comm import Comm, CommError, name_of
from .errors import NOT_READY, Failure, TeamError

_MOST_TOLD = 300  # characters


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one rank says of its step.

    Attributes
    ----------
    stage
        The last step that it went through.
    failure
        What failed, if anything did.
    brings
        What the others need of it: handles, facts. Anything that JSON can carry.
    """

    stage: str
    failure: Failure | None = None
    brings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def encode(self) -> bytes:
        """Write it as bytes."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes) -> Ballot:
        """Read what ``encode`` wrote."""
        found = json.loads(data)
        failure = found["failure"]
        return cls(found["stage"], Failure(**failure) if failure else None, found["brings"])


def cast(comm: Comm, mine: Sequence[Ballot], vote: str, timeout: float) -> list[Ballot]:
    """Exchange the ballots of all ranks.

    Parameters
    ----------
    comm
        Between the processes of the team.
    vote
        The name of this vote, the same for ranks that went through their steps and for those that did not.
    mine
        The ballots of the ranks of this process: one, or those of the whole team when it has only this process.
    timeout
        Seconds until all must have come.

    Raises
    ------
    TeamError
        A process ended, left or did not come in time.
    """
    if comm.size == 1:
        return list(mine)
    (ballot,) = mine
    try:
        return [Ballot.decode(said) for said in comm.exchange(ballot.encode(), vote, timeout)]
    except CommError as error:
        raise lost(error) from error


def ballot_of(vote: str, work: Callable[[], Mapping[str, Any]]) -> Ballot:
    """Do something before a vote; answer what to say there: what it brings, or how it failed."""
    try:
        return Ballot(vote, None, work())
    except Exception as error:
        return Ballot(vote, Failure.of(vote, error))


@contextmanager
def before(vote: str, comm: Comm, timeout: float) -> Generator[None]:
    """Tell the other ranks, who will be at that vote, when the driver refuses this one something before it.

    Raises
    ------
    TeamError
        It did; the same on all ranks.
    """
    try:
        yield
    except driver.DriverError as error:
        failure = verdict(cast(comm, [Ballot(vote, Failure.of(vote, error))], vote, timeout))
        assert failure
        raise failure from error


def lost(error: CommError, stage: str | None = None) -> TeamError:
    """Answer the error of a team some of whose ranks do not answer."""
    rank, *others = sorted(error.culprits)
    told = "; ".join([error.culprits[rank], *(f"{name_of(other)}: {error.culprits[other]}" for other in others)])
    return TeamError(rank, stage or error.label, reason=told)


def why_left(error: BaseException) -> str:
    """Say why this rank leaves the others: for them, in one line that is not too long."""
    told = _line_of(error)
    return told if isinstance(error, TeamError) else f"{type(error).__name__} in this rank{told and ': '}{told}"


def _line_of(error: BaseException) -> str:
    try:
        return str(error).partition("\n")[0][:_MOST_TOLD]
    except Exception:  # a user's class may be as it likes; its name is told
        return ""


def verdict(ballots: Sequence[Ballot]) -> TeamError | None:
    """Answer what went wrong, or None when all is well.

    A status that may pass (802) yields to one that does not: trying again would be in vain.
    """
    failed = [(rank, ballot.failure) for rank, ballot in enumerate(ballots) if ballot.failure]
    if not failed:
        return None
    rank, failure = min(failed, key=lambda each: (each[1].status == NOT_READY, each[0]))
    return failure.error(rank, {rank: _state(ballot) for rank, ballot in enumerate(ballots)})


def absent(ballots: Sequence[Ballot], stage: str) -> TeamError | None:
    """Answer the error when a rank tells that another one did not come to a collective."""
    told = [one.brings for one in ballots if "absent" in one.brings]
    return TeamError(told[0]["absent"], stage, reason=told[0]["reason"]) if told else None


def _state(ballot: Ballot) -> tuple[str, str | None, int | None]:
    failure = ballot.failure
    return (failure.stage, failure.call, failure.status) if failure else (ballot.stage, None, None)
