"""The hub's end of one rank's connection: what has come, and what still has to go. It never waits."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.team.comm.channel import ENDED
from cumulticast.team.comm.frames import Frame, FrameReader
from cumulticast.team.comm.sockets import BLOCKED, close_on_fork

if TYPE_CHECKING:
    from cumulticast.team.comm.session import Session

GONE = {errno.ECONNRESET, errno.EPIPE, errno.ESHUTDOWN}  # the other side is closed: what an ended process leaves
READ = 1 << 18


class PeerLost(Exception):
    """The connection is over; the text says how."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who says to be a rank.

    Attributes
    ----------
    rank
        The rank, from 0.
    token
        The same for all connections of one process.
    name
        The process in words: "process 12 on host-a".
    """

    rank: int
    token: str
    name: str


@dataclass(eq=False)
class Peer:
    """One connection.

    Attributes
    ----------
    own
        It is the one of the hub's own process.
    greet_by
        When it must have said who it is, on the clock of `time.monotonic`.
    who
        The rank at the other end, once it has said so.
    session
        Where this rank belongs; None before it has been seated, and after its session failed to start.
    channels
        Its number of each channel that it is in → the session's key of the channel.
    """

    sock: socket.socket
    own: bool
    greet_by: float
    who: Identity | None = None
    session: Session | None = None
    channels: dict[int, str] = field(default_factory=dict[int, str])
    reader: FrameReader = field(default_factory=lambda: FrameReader(0))
    parting: str = ""  # why it left the last channel it was in
    dropped: bool = False  # the hub has closed it
    _unsent: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.sock.setblocking(False)
        close_on_fork(self.sock)

    @property
    def unsent(self) -> bool:
        """Whether bytes still have to go."""
        return bool(self._unsent)

    def receive(self) -> list[Frame]:
        """Answer the messages that have come.

        Raises
        ------
        PeerLost
            The connection is over.
        FrameError
            What came is no message.
        """
        try:
            received = self.sock.recv(READ)
        except BLOCKED:
            return []
        except OSError as error:
            raise PeerLost(_how(error)) from error
        if not received:
            raise PeerLost(ENDED)
        return list(self.reader.feed(received))

    def send(self, message: bytes) -> None:
        """Send what the connection takes now, keep the rest; PeerLost when it is over."""
        sent = 0 if self._unsent else self._send(message)
        if sent < len(message):
            self._unsent += message[sent:]

    def flush(self) -> None:
        """Send more of what is left; PeerLost when the connection is over."""
        del self._unsent[: self._send(self._unsent)]

    def _send(self, message: bytes | bytearray) -> int:
        try:
            return self.sock.send(message)
        except BLOCKED:
            return 0
        except OSError as error:
            raise PeerLost(_how(error)) from error


def _how(error: OSError) -> str:
    number = error.errno or 0
    return ENDED if number in GONE else f"its connection broke ({os.strerror(number)})"
