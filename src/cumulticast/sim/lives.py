"""Who lives: each process of a world holds a lock on a byte of one file; the kernel drops it when the process dies.

POSIX locks belong to the process: a forked child does not inherit them, a kill -9 releases them, and they work across
pid namespaces, where a pid means nothing. Their price: closing any descriptor of the file drops all of a process's
locks on it. So a process opens the file once for each world, and closes it when nobody in the process uses the world
any more.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from pathlib import Path

OWNER = 0  # the byte of whoever made the world and removes it

_FLOCK = struct.Struct("@hhqqi4x")  # struct flock: type, whence, start, length, pid
_open_files: dict[str, list[int]] = {}  # path → [descriptor, users, pid]
_guard = threading.Lock()


class Lives:
    """The lock file of one world."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._mine: set[int] = set()
        with _guard:
            entry = _open_files.get(self._path)
            if entry is None or entry[2] != os.getpid():
                entry = [os.open(self._path, os.O_RDWR | os.O_CLOEXEC), 0, os.getpid()]
                _open_files[self._path] = entry
            entry[1] += 1
            self._fd = entry[0]

    def hold(self, number: int) -> None:
        """Be alive as ``number`` from now on."""
        fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        self._mine.add(number)

    def let_go(self, number: int) -> None:
        """Be alive as ``number`` no more."""
        if number in self._mine:
            self._mine.discard(number)
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, number)

    def alive(self, number: int) -> bool:
        """Tell whether the process with this number lives."""
        if number in self._mine:
            return True
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
        kind = _FLOCK.unpack(fcntl.fcntl(self._fd, fcntl.F_GETLK, asked))[0]
        return kind != fcntl.F_UNLCK

    def close(self) -> None:
        """Let go of everything; the file is closed with its last user in this process."""
        for number in list(self._mine):
            self.let_go(number)
        with _guard:
            entry = _open_files.get(self._path)
            if entry is not None and entry[0] == self._fd:
                entry[1] -= 1
                if not entry[1]:
                    os.close(self._fd)
                    del _open_files[self._path]
