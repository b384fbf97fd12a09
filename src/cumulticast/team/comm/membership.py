"""One rank's place in a session: its connection, and what has come for each channel it is in."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cumulticast.team.comm.channel import ENDED, Failure
from cumulticast.team.comm.frames import Frame, FrameError
from cumulticast.team.comm.greeting import Greeted
from cumulticast.team.comm.link import GOODBYE, Link
from cumulticast.team.comm.protocol import NO_RANK

MARGIN = 2.0  # seconds that the hub gets beyond a time limit, to say itself who was late
_LONG = 60.0  # seconds of one look at a channel that fails some time or never
SILENT = "does not answer: it is stopped, or its host is out of reach"


@dataclass(slots=True)
class Box:
    """What has come for one channel.

    Attributes
    ----------
    number
        The channel's number on this connection.
    hub
        Rank of the hub's process in the channel.
    answers
        Sequence → every rank's payload.
    failure
        Why the channel is over.
    again
        The hub went away before the session had started: another one has to be found.
    """

    number: int
    hub: int
    answers: dict[int, list[bytes]] = field(default_factory=dict[int, "list[bytes]"])
    failure: Failure | None = None
    again: bool = False


class Membership:
    """A rank among others of a session.

    Parameters
    ----------
    greeted
        A connection on which the hub knows this rank. The membership closes it.
    rank
        The rank in the session.
    """

    def __init__(self, greeted: Greeted, rank: int) -> None:
        self.rank = rank
        self.root = Box(0, 0)
        self._boxes = {0: self.root}
        self._numbers = itertools.count(1)
        self._link = Link(greeted.sock, greeted.reader, self._take)
        for frame in greeted.frames:
            self._take(frame)

    def join(self, deadline: float) -> bool:
        """Wait until all ranks have come; False if `root.failure` or `root.again` says why not.

        Parameters
        ----------
        deadline
            On the clock of `time.monotonic`.
        """
        return self._await(self.root, 0, deadline) is not None

    def open(self, key: str, members: tuple[int, ...]) -> Box:
        """Take part in a channel.

        Parameters
        ----------
        key
            Its name, the same on all members.
        members
            Ranks of the session.
        """
        box = Box(next(self._numbers), members.index(0) if 0 in members else NO_RANK)
        self._boxes[box.number] = box
        self._send({"do": "open", "channel": box.number, "key": key, "members": list(members)})
        return box

    def exchange(self, box: Box, sequence: int, label: str, payload: bytes, timeout: float) -> list[bytes] | None:
        """Bring this rank's part and wait for all of them; None if `box.failure` says why not.

        Parameters
        ----------
        box, sequence
            The channel, and the number of the exchange in it.
        label, payload, timeout
            As of `Comm.exchange`.
        """
        deadline = time.monotonic() + timeout + MARGIN
        header = {"do": "part", "channel": box.number, "sequence": sequence, "label": label, "limit": timeout}
        if not (box.failure or self._link.send(Frame(header, payload), deadline) or box.failure):
            self._give_up(box)
        return self._await(box, sequence, deadline)

    def await_failure(self, box: Box, stopped: Callable[[], bool]) -> bool:
        """Wait until a channel is over; False if ``stopped`` says to wait no more. `wake` has it look again."""
        while not (stopped() or box.failure):
            if not self._link.wait(lambda: stopped() or box.failure, time.monotonic() + _LONG) and self._link.lost:
                self._give_up(box)
        return box.failure is not None and not stopped()

    def wake(self) -> None:
        """Let those who wait look at their conditions again."""
        self._link.wake()

    def leave(self, box: Box, reason: str, culprits: Mapping[int, str] | None = None) -> None:
        """Leave a channel, and with the last one the session.

        Parameters
        ----------
        box
            The channel.
        reason
            In words, for the others.
        culprits
            Who is to blame, if not this rank.
        """
        if self._boxes.pop(box.number, None) is None:
            return
        blame = {} if culprits is None else {"culprits": dict(culprits)}
        self._send({"do": "leave", "channel": box.number, "reason": reason, **blame})
        if not self._boxes:
            self._link.close()

    def _await(self, box: Box, sequence: int, deadline: float) -> list[bytes] | None:
        if not self._link.wait(lambda: sequence in box.answers or box.failure or box.again, deadline):
            self._give_up(box)
        return box.answers.pop(sequence, None)

    def _give_up(self, box: Box) -> None:
        """Blame the hub's process, and tell it so: should it go on, it learns what the others were told."""
        if box.failure is None:
            box.failure = Failure({box.hub: ENDED if self._link.lost else SILENT}, None)
            self.leave(box, "", box.failure.culprits)

    def _send(self, header: Mapping[str, object]) -> None:
        """Send what gets no answer; if the hub is gone, the next exchange tells."""
        self._link.send(Frame(header), time.monotonic() + GOODBYE)

    def _take(self, frame: Frame) -> None:
        kind = frame.text("do")
        if kind == "welcome":
            return
        if kind == "again":
            self.root.again = True
            return
        box = self._boxes.get(frame.number("channel"))
        if box is None:
            return  # this rank has left it
        if kind == "answer":
            box.answers[frame.number("sequence")] = _cut(frame)
        elif kind == "fail":
            label = frame.header.get("label")
            box.failure = box.failure or Failure(frame.culprits(), None if label is None else frame.text("label"))
        else:
            raise FrameError(f"the hub says {kind!r}")


def _cut(frame: Frame) -> list[bytes]:
    """Answer every rank's payload."""
    ends = list(itertools.accumulate(frame.numbers("sizes"), initial=0))
    if ends[-1] != len(frame.payload):
        raise FrameError(f"payloads of {ends[-1]} bytes in {len(frame.payload)}")
    return [frame.payload[start:end] for start, end in itertools.pairwise(ends)]
