"""A rank's end of its connection to the hub. Every wait has a time limit, and lets signals through."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from cumulticast.team.comm.frames import Frame, FrameError, FrameReader
from cumulticast.team.comm.sockets import BLOCKED, close_on_fork

READ = 1 << 18
GOODBYE = 1.0  # seconds that the end of a connection waits for the hub to have heard the last words


class Link:
    """The connection that all channels of one rank share; threads may be in different channels at the same time.

    Parameters
    ----------
    sock
        The connected socket. The link closes it.
    reader
        What has been read of the stream so far.
    take
        Called for each message, by whichever thread reads it.
    """

    def __init__(self, sock: socket.socket, reader: FrameReader, take: Callable[[Frame], None]) -> None:
        sock.setblocking(False)
        close_on_fork(sock)
        self.lost = False
        self._sock = sock
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._bell, self._ring = socket.socketpair()  # wakes whoever polls
        self._bell.setblocking(False)
        self._ring.setblocking(False)
        self._poll.register(self._bell, select.POLLIN)
        self._take = take
        self._reader = reader
        self._turns = threading.Condition()  # who reads; guards what `take` notes down, too
        self._reading = False
        self._sending = threading.Lock()

    def send(self, frame: Frame, deadline: float) -> bool:
        """Send a message; False if the hub is gone or takes nothing until the deadline.

        Parameters
        ----------
        deadline
            On the clock of `time.monotonic`.
        """
        message = left = memoryview(frame.encode())
        if not self._sending.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return False
        try:
            while left and not self.lost and time.monotonic() < deadline:
                left = left[self._send_some(left, deadline) :]
            return not left
        finally:
            if left and len(left) < len(message):  # half of a message cannot be taken back
                self._end()
            self._sending.release()

    def wait(self, ready: Callable[[], object], deadline: float) -> bool:
        """Read messages until a condition holds; False if it does not by the deadline or when the hub is gone.

        Parameters
        ----------
        ready
            The condition, on what `take` noted down.
        deadline
            On the clock of `time.monotonic`.
        """
        while True:
            left = deadline - time.monotonic()
            with self._turns:
                if ready() or self.lost or left <= 0:
                    return bool(ready())
                if self._reading:
                    self._turns.wait(left)
                    continue
                self._reading = True
            self._read(left)

    def wake(self) -> None:
        """Let those who wait look at their conditions again."""
        with suppress(OSError):  # closed: nobody waits; full: it rings already
            self._ring.send(b"\0")

    def close(self) -> None:
        """End the connection once the hub has heard what was sent: unread bytes would make the end an error to it."""
        deadline = time.monotonic() + GOODBYE
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
            self.wait(lambda: False, deadline)
        self._end()

    def _read(self, seconds: float) -> None:
        """Read once, as the one thread that does, and give the turn to another."""
        try:
            if self._sock.fileno() < 0 or self._poll.poll(seconds * 1000):  # closed: reading tells
                with suppress(OSError):  # it did not ring
                    self._bell.recv(READ)
                self._receive()
        finally:
            with self._turns:
                self._reading = False
                self._turns.notify_all()

    def _receive(self) -> None:
        try:
            received = self._sock.recv(READ)
            with self._turns:
                for frame in self._reader.feed(received):
                    self._take(frame)
        except BLOCKED:
            return
        except (OSError, FrameError):
            received = b""
        if not received:
            self._end()

    def _send_some(self, message: memoryview, deadline: float) -> int:
        try:
            return self._sock.send(message)
        except BLOCKED:
            _ready(self._sock, select.POLLOUT, deadline - time.monotonic())
        except OSError:
            self.wait(lambda: False, deadline)  # the last words of a hub that is gone
        return 0

    def _end(self) -> None:
        self.lost = True
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes a thread that polls; closing alone does not
        self._sock.close()
        self._bell.close()
        self._ring.close()


def _ready(sock: socket.socket, event: int, seconds: float) -> bool:
    """Wait until a socket can be used; true, too, if it is closed meanwhile: using it tells."""
    poll = select.poll()
    try:
        poll.register(sock, event)
    except ValueError:
        return True
    return bool(poll.poll(max(0.0, seconds) * 1000))
