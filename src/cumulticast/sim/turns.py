"""Turns: who may change the world now. SQLite alone would let writers sleep and try again; this lets them queue.

A POSIX lock on one byte: it wakes the next in line at once, a kill releases it, and a forked child does not inherit it.
Inside a process a re-entrant lock keeps the threads apart.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from pathlib import Path


class Turns:
    """``with turns:`` around each change."""

    __slots__ = ("_depth", "_fd", "local")

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.local = threading.RLock()
        self._depth = 0

    def __enter__(self) -> None:
        self.local.acquire()
        self._depth += 1
        if self._depth == 1:
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, 0)
            except BaseException:
                self.__exit__()
                raise

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, 0)
        self.local.release()

    def recover(self) -> None:
        """Give up this thread's turn, however deep and however far given up; the caller holds `local`."""
        self._depth = 0
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, 0)
        with contextlib.suppress(RuntimeError):  # raised when nothing is left
            while True:
                self.local.release()

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
