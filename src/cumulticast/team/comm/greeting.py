"""How a rank says to a hub who it is, at one address where the hub may be."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, field
from errno import EINPROGRESS

from cumulticast.team.comm.frames import ANSWER_LIMIT, VERSION, Frame, FrameError, FrameReader
from cumulticast.team.comm.names import Names
from cumulticast.team.comm.sockets import BLOCKED, at_once, close_on_fork
from cumulticast.team.comm.who import process_name, process_token

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1  # seconds between attempts at one address: twice as long each time
READ = 1 << 16
LAST_WORDS = ("fail", "refused")
Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Greeted:
    """A connection to a hub that knows who is at its other end.

    Attributes
    ----------
    sock, reader
        The connection, and what has been read of its stream so far.
    frames
        Messages that came behind the hub's greeting.
    """

    sock: socket.socket
    reader: FrameReader
    frames: tuple[Frame, ...] = ()


def hello(job: str, rank: int, size: int, limit: float, deadline: float) -> Frame:
    """Say who this rank is.

    Parameters
    ----------
    job
        What tells the job from others.
    limit
        The rank's time limit in seconds.
    deadline
        When it is over, on the clock of `time.monotonic`.
    """
    remaining = max(0.0, deadline - time.monotonic())
    who = {"rank": rank, "size": size, "token": process_token(), "name": process_name()}
    return Frame({"do": "hello", "version": VERSION, "job": job, "limit": limit, "remaining": remaining, **who})


@dataclass(eq=False)
class Attempt:
    """One address, tried again and again.

    Attributes
    ----------
    sock
        The connection in progress.
    due
        When to try next, on the clock of `time.monotonic`.
    why
        What became of the last attempt, in words.
    """

    address: Address
    sock: socket.socket | None = None
    reader: FrameReader = field(default_factory=lambda: FrameReader(ANSWER_LIMIT))
    due: float = 0.0
    turn: int = 0  # which of the name's addresses is next
    pause: float = FIRST_PAUSE
    said: bool = False
    why: str = "no answer"

    def start(self, names: Names) -> None:
        """Begin to connect, to one of the name's addresses after the other."""
        self.reader, self.said = FrameReader(ANSWER_LIMIT), False
        try:
            found = names.find(*self.address)
        except OSError as error:
            return self.fail(error.strerror or str(error))
        if not found:
            return self.fail("its name is being looked up")
        family, kind, protocol, _, place = found[self.turn % len(found)]
        self.turn += 1
        self.sock = socket.socket(family, kind, protocol)
        close_on_fork(self.sock)
        self.sock.setblocking(False)
        if (number := self.sock.connect_ex(place)) not in (0, EINPROGRESS):
            self.fail(os.strerror(number))

    def say(self, greeting: Frame) -> None:
        """Send the greeting, the connection being made; OSError if it is not."""
        assert self.sock
        if number := self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(number, os.strerror(number))
        at_once(self.sock)
        message = greeting.encode()
        if self.sock.send(message) < len(message):
            raise OSError("it does not take a greeting")
        self.said, self.why = True, "connected, no answer"

    def hear(self) -> list[Frame]:
        """Answer what the other side says, its welcome first.

        Raises
        ------
        OSError, FrameError
            It is no hub of this job.
        """
        assert self.sock
        try:
            received = self.sock.recv(READ)
        except BLOCKED:
            return []
        if not received:
            raise OSError("it closed the connection without an answer")
        frames = list(self.reader.feed(received))
        if frames and frames[0].text("do") != "welcome":
            raise FrameError(frames[0].text("why"))
        return frames

    def fail(self, why: str) -> None:
        """Note why, and try again later."""
        if self.sock:
            self.sock.close()
        self.sock, self.why = None, why
        self.due = time.monotonic() + self.pause
        self.pause = min(2 * self.pause, LONGEST_PAUSE)


def knock(address: Address, greeting: Frame, seconds: float) -> list[Frame]:
    """Answer what a server says to a greeting until its last word or the end of the time; nothing if it is no hub.

    Parameters
    ----------
    address
        Where it listens.
    greeting
        What to say.
    seconds
        How long to listen at most.
    """
    deadline, frames, reader = time.monotonic() + seconds, list[Frame](), FrameReader(ANSWER_LIMIT)
    try:
        with socket.create_connection(address, timeout=seconds) as sock:
            sock.sendall(greeting.encode())
            while (left := deadline - time.monotonic()) > 0 and not (frames and frames[-1].text("do") in LAST_WORDS):
                sock.settimeout(left)
                if not (received := sock.recv(READ)):
                    break
                frames += reader.feed(received)
    except (OSError, FrameError):
        return frames
    return frames
