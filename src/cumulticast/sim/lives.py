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
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakSet

OWNER = 0  # the byte of whoever made the world and removes it

_FLOCK = struct.Struct("@hhqqi4x")  # struct flock: type, whence, start, length, pid
_guard = threading.Lock()


def is_locked(fd: int, start: int, length: int = 1) -> bool:
    """Tell whether another process holds a lock on a byte of the range (length 0: all from there)."""
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    kind = _FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked))[0]
    return kind != fcntl.F_UNLCK


@dataclass(slots=True)
class _Open:
    """The one descriptor that a process has of a lock file, its users, and the bytes that they hold.

    A user that a signal handler struck before it was closed is forgotten with it.
    """

    fd: int
    pid: int
    users: WeakSet[Lives] = field(default_factory=lambda: WeakSet[Lives]())
    held: set[int] = field(default_factory=set[int])


_open_files: dict[str, _Open] = {}


class Lives:
    """The lock file of one world."""

    def __init__(self, path: Path) -> None:
        self._path = f"{os.path.realpath(path.parent)}/{path.name}"  # the directory may have other names
        self._mine: set[int] = set()
        with _guard:
            entry = _open_files.get(self._path)
            if entry is None or entry.pid != os.getpid():
                entry = _Open(os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW), os.getpid())
                _open_files[self._path] = entry
            self._open = entry
            entry.users.add(self)

    def hold(self, number: int) -> None:
        """Be alive as ``number`` from now on."""
        fcntl.lockf(self._open.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        self._mine.add(number)
        self._open.held.add(number)

    def let_go(self, number: int) -> None:
        """Be alive as ``number`` no more."""
        if number in self._mine:
            self._mine.discard(number)
            self._open.held.discard(number)
            fcntl.lockf(self._open.fd, fcntl.LOCK_UN, 1, number)

    def alive(self, number: int) -> bool:
        """Tell whether the process with this number lives."""
        return self._locked(number, 1)

    def anybody(self) -> bool:
        """Tell whether anybody lives here: the owner, or a process."""
        return self._locked(0, 0)

    def _locked(self, start: int, length: int) -> bool:
        """Tell whether a byte of the range (length 0: all from there) is held; the kernel names only others' locks."""
        if any(start <= number and (not length or number < start + length) for number in self._open.held):
            return True
        return is_locked(self._open.fd, start, length)

    def close(self) -> None:
        """Let go of everything; the file is closed with its last user in this process."""
        for number in list(self._mine):
            self.let_go(number)
        with _guard:
            entry = self._open
            entry.users.discard(self)
            if not entry.users and entry.pid == os.getpid():
                os.close(entry.fd)
                if _open_files.get(self._path) is entry:
                    del _open_files[self._path]
