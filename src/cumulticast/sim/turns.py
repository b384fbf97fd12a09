"""Turns: who may change the world now. SQLite alone would let writers sleep and try again; this lets them queue.

POSIX locks: a kill releases them, a forked child does not inherit them, and the kernel wakes the next in line at once.
It does not keep the lock for the one it wakes, though: whoever gives it up can take it again and again before the other
comes to run, for as long as the scheduler lets it, which with eight writers on two processors is tens of milliseconds.
So who finds the turn taken, or others waiting, draws a ticket: it locks the byte of the present time (in nanoseconds),
then waits for all bytes before that. Byte 0 is the turn itself. Passing it on after every change would keep the
processors waiting for each other (measured: a third of the throughput); whoever had to wait may come back for a spell.
Inside a process a re-entrant lock keeps the threads apart. Turns are a matter of fairness: SQLite's own lock keeps
changes whole, so a process that is alone in its world need not ask.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from cumulticast.sim.lives import is_locked

TURN, FIRST = 0, 1  # bytes of the file: the turn, and where tickets begin
SPELL = 0.0018  # seconds; with it 99 % of 8 writers on 2 processors wait less than 17 ms


class Turns:
    """``with turns:`` around each change."""

    __slots__ = ("_alone", "_depth", "_fd", "_held", "_spell", "local")

    def __init__(self, path: Path, alone: Callable[[], bool]) -> None:
        self._alone = alone
        self._held = False
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.local = threading.RLock()
        self._depth = 0
        self._spell = 0.0  # until when this process need not look whether others wait (time.monotonic)

    def __enter__(self) -> None:
        self.local.acquire()
        self._depth += 1
        if self._depth == 1:
            try:
                self._take()
            except BaseException:
                self.__exit__()
                raise

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._give_up()
        self.local.release()

    def _take(self) -> None:
        if self._alone():
            return
        self._held = True
        others_wait = time.monotonic() >= self._spell and is_locked(self._fd, FIRST, 0)
        if not others_wait and self._is_free():
            return
        ticket = time.monotonic_ns()
        self._lock(ticket, 1)
        self._lock(FIRST, ticket - FIRST)  # the tickets before; so only one waits for the turn, and is woken when it is
        self._lock(TURN, 1)  # given up between two changes of a spell
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 0, FIRST)
        self._spell = time.monotonic() + SPELL

    def _is_free(self) -> bool:
        """Take the turn if nobody has it."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, TURN)
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, POSIX says
            return False
        return True

    def _lock(self, start: int, length: int) -> None:
        while True:
            try:
                return fcntl.lockf(self._fd, fcntl.LOCK_EX, length, start)
            except OSError as error:
                # To the kernel a process is one: two threads of it that use the world apart can look like a circle.
                if error.errno != errno.EDEADLK:
                    raise
                time.sleep(0.001)

    def _give_up(self) -> None:
        if self._held:
            self._held = False
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 0, TURN)

    def recover(self) -> None:
        """Give up this thread's turn, however deep and however far given up; the caller holds `local`."""
        self._depth, self._held = 0, True  # a strike between taking and noting it, too
        self._give_up()
        with contextlib.suppress(RuntimeError):  # raised when nothing is left
            while True:
                self.local.release()

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
