"""What NVML tells of a world: read from its books, without becoming a part of it.

A program may ask NVML without ever calling CUDA; so nothing here registers a process, takes a lock or waits.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cumulticast.sim.injection import Fault, parse
from cumulticast.sim.lives import Lives
from cumulticast.sim.rights import connect_reader


@dataclass(frozen=True, slots=True)
class Holder:
    """A process with memory on a device: its pid, the device's number in the world, and bytes."""

    pid: int
    device: int
    used: int


@dataclass(frozen=True, slots=True)
class Books:
    """A world at one moment.

    Attributes
    ----------
    used
        Bytes allocated of each device.
    holders
        Living processes that made memory which still exists.
    faults
        The fault specifications in force, and since when (time.monotonic).
    """

    used: Mapping[int, int] = field(default_factory=dict[int, int])
    holders: tuple[Holder, ...] = ()
    faults: Mapping[str, float] = field(default_factory=dict[str, float])

    def fault(self, kind: str) -> Fault | None:
        """Answer the state fault of a kind, if one is in force."""
        return next((fault for fault in map(parse, self.faults) if fault.kind == kind), None)

    def left(self, kind: str) -> float:
        """Answer how many of its seconds a state fault still has; 0 when it has none, or is over."""
        for spec, since in self.faults.items():
            fault = parse(spec)
            if fault.kind == kind and fault.argument:
                return max(0.0, float(fault.argument) - (time.monotonic() - since))
        return 0.0


def read(path: Path) -> Books:
    """Read the books of the world in ``path``.

    Raises
    ------
    OSError, sqlite3.Error
        It is gone, or damaged.
    """
    with closing(Lives(path / "lives")) as lives, closing(connect_reader(path, Reader)) as db:
        db.execute("begin")
        faults = db.execute("select value from world where key = 'faults'").fetchone()[0]
        return Books(
            dict(db.execute("select id, used from device")), tuple(_holders(db, lives)), json.loads(str(faults))
        )


def _holders(db: sqlite3.Connection, lives: Lives) -> list[Holder]:
    query = (
        "select process.id, pid, device, sum(size) from allocation join process on process = process.id "
        "where device is not null group by process.id, device order by pid"
    )
    rows: list[tuple[int, int, int, int]] = db.execute(query).fetchall()
    return [Holder(pid, device, used) for number, pid, device, used in rows if lives.alive(number)]


# ---- what a signal handler strikes


class _Open(threading.local):
    """The readers of this thread that are not closed."""

    def __init__(self) -> None:
        self.readers: set[Reader] = set()


_open = _Open()


class Reader(sqlite3.Connection):
    """A connection that `recover` finds: sqlite3 keeps one not closed in a cycle until garbage is collected."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        _open.readers.add(self)
        super().__init__(*arguments, **options)

    def close(self) -> None:
        """Close it; again does nothing."""
        super().close()
        _open.readers.discard(self)


def recover() -> None:
    """Close what this thread has open, after a signal handler raised between two lines of `read`."""
    for reader in tuple(_open.readers):
        with suppress(sqlite3.ProgrammingError):  # struck before it had opened anything
            reader.close()
    _open.readers.clear()
