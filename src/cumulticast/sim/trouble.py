"""What the world's files can do to a call: a full file system is an answer (2), damage is one, too (999)."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from cumulticast.rules import Refused, Status, team_waits
from cumulticast.sim.rights import room_text

FULL = {errno.ENOSPC, errno.EDQUOT}
NO_ROOM = {*FULL, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EOVERFLOW}
SQLITE_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
SQLITE_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def refusal(error: BaseException, world: Path) -> Refused | None:
    """Answer what a call answers after this error; None: the error says nothing about the world's files."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the details of an I/O error
        if code in SQLITE_NO_ROOM:
            return no_room(f"the books of {world}", str(error), world, full=True)
        if code in SQLITE_DAMAGED:
            return Refused(Status.UNKNOWN, None, f"{world / 'world.db'} is damaged: {error}")
    if isinstance(error, MemoryError):
        return no_room("what the call needs", "the interpreter has no memory", world, full=False)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        name = f"{error.filename}" if error.filename else f"what the call needs in {world}"
        return no_room(name, str(error.strerror), world, full=error.errno in FULL)
    return None


def no_room(what: str, why: str, world: Path, *, full: bool) -> Refused:
    """Make the refusal (2) for a thing that the host has no room for; a full file system is described."""
    rule = team_waits.host_room
    assert rule.status is not None
    advice = f"; {room_text(world)}" if full else ""
    return Refused(rule.status, rule, f"the host has no room for {what}: {why}{advice}")
