"""Who may open a world, and whether its files are what they should be: only its owner, and files of the owner's."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

from cumulticast.sim.schema import TABLES_SQL, VERSION

FILES = ("world.db", "words", "lives", "turn")
VALUES = ("schema", "machine", "devices", "nodes", "profile", "faults", "identity", "began")
Values = dict[str, int | float | str]


class WorldError(RuntimeError):
    """A world directory cannot be used; the text says which and why. Name another one in CUMULTICAST_WORLD."""


def check(path: Path) -> None:
    """Refuse a directory that is not this user's alone, or whose files are not.

    Raises
    ------
    WorldError
        The text names the file.
    """
    check_directory(path)
    for name in FILES:
        found = _status(path / name, f"{path} is not a world: it has no file {name}")
        if not stat.S_ISREG(found.st_mode):
            raise WorldError(f"{path / name} is {_kind(found.st_mode)}, not a file; {path} is damaged")
        _check_owner(path / name, found)


def check_directory(path: Path) -> None:
    """Refuse what is no directory of this user's alone."""
    found = _status(path, f"{path} is not a world: there is no such directory")
    if not stat.S_ISDIR(found.st_mode):
        raise WorldError(f"{path} is not a world: it is {_kind(found.st_mode)}, not a directory")
    _check_owner(path, found)
    if found.st_mode & 0o077:
        raise WorldError(f"{path} is open to others (mode {stat.S_IMODE(found.st_mode):04o}); make it 0700")


def _status(path: Path, missing: str) -> os.stat_result:
    try:
        return path.lstat()
    except FileNotFoundError:
        raise WorldError(missing) from None
    except OSError as error:
        raise WorldError(f"{path} is not a world: {error.strerror}") from error


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise WorldError(f"{path} belongs to user {found.st_uid}, and this is user {os.geteuid()}")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(mode), "a special file")


def read_values(path: Path) -> Values:
    """Read a world's own values without becoming a part of it, and see whether its books are whole.

    Raises
    ------
    WorldError
        world.db is damaged, or of another version.
    """
    database = path / "world.db"
    connection = connect_reader(path)
    try:
        values: Values = dict(connection.execute("select key, value from world"))
        if values.get("schema") != VERSION:
            raise WorldError(f"{database} has schema {values.get('schema')}, this version reads {VERSION}")
        _check_books(connection, database, values)
    except sqlite3.Error as error:
        raise WorldError(f"{database} cannot be read: {error}") from error
    finally:
        connection.close()
    return values


def connect_reader(path: Path, factory: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """Connect to a world's books for reading: it changes nothing, takes no turn and lets no writer wait."""
    place = f"file:{quote(str(path / 'world.db'))}?mode=ro"
    return sqlite3.connect(place, uri=True, isolation_level=None, timeout=5, factory=factory)


def _check_books(connection: sqlite3.Connection, database: Path, values: Values) -> None:
    found = connection.execute("pragma quick_check(1)").fetchone()[0]
    if found != "ok":
        raise WorldError(f"{database} is damaged: {found}")
    if missing := [key for key in VALUES if key not in values]:
        raise WorldError(f"{database} is damaged: it has no {missing[0]}")
    made = sqlite3.connect(":memory:")
    try:
        made.executescript(TABLES_SQL)
        query = "select name, sql from sqlite_master order by name"
        if made.execute(query).fetchall() != connection.execute(query).fetchall():
            raise WorldError(f"{database} is damaged: its tables are not those of a world")
    finally:
        made.close()


def room_text(path: Path) -> str:
    """Say how much room a world's file system has, and what to do about it."""
    place = next(p for p in (path, *path.parents) if p.exists())
    free, total = shutil.disk_usage(place).free, shutil.disk_usage(place).total
    return (
        f"{free} of {total} bytes are free in {place}; containers often have 64 MiB of /dev/shm: more of it "
        "(docker run --shm-size), or CUMULTICAST_WORLD naming a directory elsewhere, would do"
    )
