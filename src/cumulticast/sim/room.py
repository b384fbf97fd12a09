"""Room set aside in a world, so that what gives memory back still works on a full file system.

SQLite writes to its log also when rows are deleted, and copies the log to the database from time to time. Both find
their room allocated: the log as far as it grows between two copies, the database as pages that are free in it. What
makes the world larger asks first (`require`), and so never takes the last of it.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

PAGE = 4096  # of SQLite
LOG_PAGES = 500  # after so many the log is copied, and begins again
LOG_SIZE = (LOG_PAGES + 100) * (PAGE + 24)  # a page has a header there; a change may run over
SPARE = 1 << 19  # free pages in the database, in bytes
LEAST = 1 << 17  # what is left free for SQLite's own files


def allocate(path: Path, size: int) -> None:
    """Give a file its size, with memory behind all of it.

    Raises
    ------
    OSError
        The file system has no room.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, size)
    finally:
        os.close(fd)


def set_aside_log(path: Path) -> None:
    """Allocate the log of a world whose books are open. SQLite takes zeros at its end for no entries."""
    allocate(path / "world.db-wal", LOG_SIZE)


def set_aside_pages(connection: sqlite3.Connection) -> None:
    """Leave free pages in the database."""
    connection.execute("insert into world values('spare', zeroblob(?))", (SPARE,))
    connection.execute("delete from world where key = 'spare'")


def require(path: str) -> None:
    """Refuse to make a world larger when its file system is nearly full.

    Raises
    ------
    OSError
        ENOSPC.
    """
    found = os.statvfs(path)
    if found.f_bavail * found.f_frsize < LEAST and found.f_blocks:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
