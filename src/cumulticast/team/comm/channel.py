"""One group of ranks at the hub: who has come to the exchange, who is missing, who is to blame. No sockets here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

ENDED = "its process ended"
JOIN = "join"  # the first exchange of a session: that all ranks have come


def left(reason: str) -> str:
    """Say that a rank closed its comm."""
    return f"left: {reason}" if reason else "left"


def late(label: str, limit: float) -> str:
    """Say that a rank did not come in time.

    Parameters
    ----------
    label
        The exchange.
    limit
        Its time limit in seconds.
    """
    return f"did not come within {limit:.1f} s" if label == JOIN else f"did not come to {label!r} within {limit:.1f} s"


@dataclass(frozen=True, slots=True)
class Part:
    """What one rank brought to an exchange.

    Attributes
    ----------
    label
        The step this rank is at.
    payload
        Its bytes.
    limit
        Its time limit in seconds, as it is told in errors.
    deadline
        When it will have waited long enough, on the clock of `time.monotonic`.
    """

    label: str
    payload: bytes
    limit: float
    deadline: float


@dataclass(frozen=True, slots=True)
class Answer:
    """Every rank's payload, in the order of ranks."""

    sequence: int
    payloads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the channel is over.

    Attributes
    ----------
    culprits
        Rank of the channel → what happened.
    label
        The exchange that failed; None if no rank had come to it yet.
    """

    culprits: Mapping[int, str]
    label: str | None


class Channel:
    """The exchanges of one group of ranks, one after the other, until the first that fails.

    Parameters
    ----------
    key
        Its name within the session.
    members
        Ranks of the session; the place in this tuple is the rank in the channel.
    """

    def __init__(self, key: str, members: tuple[int, ...]) -> None:
        self.key = key
        self.members = members
        self.opened: set[int] = set()  # ranks of the session that have ever been in it
        self.sequence = 0
        self.failure: Failure | None = None
        self._parts: dict[int, Part] = {}  # rank in the channel → its part of the exchange in progress
        self._withdrawn: dict[int, str] = {}  # rank in the channel → why its arrival was taken back

    @property
    def deadline(self) -> float | None:
        """When the exchange in progress fails, on the clock of `time.monotonic`; None without one."""
        if self.failure or not self._parts:
            return None
        return min(part.deadline for part in self._parts.values())

    def waits(self, rank: int) -> bool:
        """Tell whether a rank has come to the exchange in progress."""
        return rank in self._parts

    def arrive(self, rank: int, part: Part) -> Answer | Failure | None:
        """Note a rank's arrival; the answer, if it was the last one."""
        self._parts[rank] = part
        if len(self._parts) < len(self.members):
            return None
        if culprits := self._elsewhere():
            return self.fail(culprits)
        payloads = tuple(self._parts[rank].payload for rank in range(len(self.members)))
        answer = Answer(self.sequence, payloads)
        self.sequence += 1
        self._parts.clear()
        return answer

    def withdraw(self, rank: int, what: str) -> None:
        """Take back a rank's arrival: another process may still come in its place.

        Parameters
        ----------
        rank
            The rank in the channel.
        what
            What became of it.
        """
        self._parts.pop(rank, None)
        self._withdrawn[rank] = what

    def expire(self, now: float) -> Failure | None:
        """Fail if the time of the exchange in progress is over.

        Parameters
        ----------
        now
            On the clock of `time.monotonic`.
        """
        if self.deadline is None or self.deadline > now:
            return None
        first = min(self._parts.values(), key=lambda part: part.deadline)
        missing = [rank for rank in range(len(self.members)) if rank not in self._parts]
        return self.fail(self._elsewhere() | {rank: self._late(rank, first) for rank in missing})

    def fail(self, culprits: Mapping[int, str]) -> Failure:
        """End the channel.

        Parameters
        ----------
        culprits
            Rank of the channel → what happened.
        """
        self.failure = Failure(dict(culprits), self._parts[min(self._parts)].label if self._parts else None)
        self._parts.clear()
        return self.failure

    def _late(self, rank: int, first: Part) -> str:
        what = late(first.label, first.limit)
        return f"{self._withdrawn[rank]}, and another one {what}" if rank in self._withdrawn else what

    def _elsewhere(self) -> dict[int, str]:
        """Answer the ranks that are at another step than most; in a tie, than the lowest one of them."""
        labels = Counter(self._parts[rank].label for rank in sorted(self._parts))  # keeps the order of ranks
        most = labels.most_common(1)[0][0]
        return {
            rank: f"is at {part.label!r} where others are at {most!r}"
            for rank, part in sorted(self._parts.items())
            if part.label != most
        }
