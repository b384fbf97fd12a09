"""The books of a world, a SQLite database: how they are begun, and changed whole or not at all; and its words."""

from __future__ import annotations

import gc
import mmap
import os
import sqlite3
from pathlib import Path

from cumulticast.sim import room
from cumulticast.sim.machine import Machine
from cumulticast.sim.schema import TABLES_SQL
from cumulticast.sim.turns import Turns

WORDS = 1 << 16


def write_books(path: Path, machine: Machine, values: dict[str, int | float | str]) -> None:
    """Make the database of a new world."""
    connection = sqlite3.connect(path / "world.db", isolation_level=None)
    try:
        connection.executescript(f"pragma journal_mode=off; pragma synchronous=off; begin; {TABLES_SQL}")
        connection.executemany("insert into world values(?, ?)", values.items())
        totals = [(index, machine.total_memory) for index in range(machine.device_count)]
        connection.executemany("insert into device(id, total) values(?, ?)", totals)
        connection.execute("commit")
        room.set_aside_pages(connection)
        connection.execute("pragma journal_mode=wal")
    finally:
        connection.close()


class Transaction:
    """``with world.transaction() as db``: all of it, or nothing.

    Nothing is collected meanwhile: destructors of garbage may call the driver. Within a call the door sees to that
    (python.c), but pictures are taken outside of one.
    """

    __slots__ = ("_collects", "_connection", "_turns")

    def __init__(self, connection: sqlite3.Connection, turns: Turns) -> None:
        self._connection = connection
        self._turns = turns
        self._collects = gc.isenabled()

    def __enter__(self) -> sqlite3.Connection:
        gc.disable()
        try:
            return self._begin()
        except BaseException:
            self._collect_again()
            raise

    def _begin(self) -> sqlite3.Connection:
        self._turns.__enter__()
        try:
            self._connection.execute("begin immediate")
        except BaseException:  # a signal handler's, too, when it has begun already
            self._undo()
            self._turns.__exit__()
            raise
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._connection.execute("rollback" if kind else "commit")
        except BaseException:  # a full file system can refuse the commit, and a signal handler come before it
            self._undo()
            raise
        finally:
            self._turns.__exit__()
            self._collect_again()

    def _collect_again(self) -> None:
        if self._collects:
            gc.enable()

    def _undo(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")


def map_words(path: Path) -> mmap.mmap:
    """Map the futex words of a world, which its processes share."""
    fd = os.open(path / "words", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if os.fstat(fd).st_size != WORDS * 4:
            raise ValueError(f"{path / 'words'} has {os.fstat(fd).st_size} bytes, not {WORDS * 4}")
        return mmap.mmap(fd, WORDS * 4)
    finally:
        os.close(fd)


# ---- reading and changing
