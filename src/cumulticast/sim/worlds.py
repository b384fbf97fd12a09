"""All worlds of this user: where a new one goes, which there are, and the end of those whose people are dead."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cumulticast.sim.lives import Lives
from cumulticast.sim.picture import Picture, read
from cumulticast.sim.rights import FILES, WorldError, check, check_directory, connect_reader, read_values
from cumulticast.sim.schema import KINDS
from cumulticast.sim.shared import LINKS, PREFIX, default_root, usual_root

CONTENTS = {*FILES, *KINDS, *LINKS, "world.db-wal", "world.db-shm"}
LOOKS, PAUSE = 5, 0.1  # how often, after so many seconds
UNFINISHED = 60.0  # seconds after which a directory that never became a world is taken for a dead one's


@dataclass(frozen=True, slots=True)
class Damaged:
    """A directory that should be a world and cannot be read; ``why`` names the file."""

    path: Path
    why: str


def place() -> Path | None:
    """Answer where a new world is wanted: what CUMULTICAST_WORLD names, unless a living world is there.

    None: in a directory of its own, in `default_root`. A dead one's world makes room.

    Raises
    ------
    WorldError
        Something else is there.
    """
    name = os.environ.get("CUMULTICAST_WORLD")
    path = Path(name).absolute() if name else None
    if path is None or not os.path.lexists(path):
        return path
    check_directory(path)
    if not any(path.iterdir()) or prune(path):
        return path
    if not (path / "world.db").exists():
        raise WorldError(f"{path} is neither empty nor a world; let CUMULTICAST_WORLD name a new directory")
    return None


def find() -> list[Path]:
    """Answer this user's directories that are, or should be, worlds: on tmpfs, beside CUMULTICAST_WORLD, and that."""
    roots = {usual_root(), default_root()}
    found = {path for root in roots for path in root.glob(PREFIX + "*") if _mine(path) and not _foreign(path)}
    name = os.environ.get("CUMULTICAST_WORLD")
    if name and os.path.lexists(name):
        found.add(Path(name).absolute())
    return sorted(found)


def _mine(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:  # it went this moment
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _foreign(path: Path) -> bool:
    """Tell whether a directory holds what no world has: somebody's checkout may be called cumulticast-something."""
    try:
        return bool(set(os.listdir(path)) - CONTENTS)
    except OSError:
        return True


def look(path: Path) -> Picture | Damaged | None:
    """Take a picture of somebody's world without touching it: no lock, no write, nobody waits for us.

    None: the world went away meanwhile. One that cannot be read may be in the making: a young one is
    looked at again.
    """
    found = _look(path)
    for _ in range(LOOKS):
        if not isinstance(found, Damaged) or _old(path):
            break
        time.sleep(PAUSE)
        found = _look(path)
    return found


def _look(path: Path) -> Picture | Damaged | None:
    try:
        check(path)
        read_values(path)
        with closing(Lives(path / "lives")) as lives, closing(connect_reader(path)) as db:
            db.execute("begin")
            return read(db, path, lives.alive)
    except (WorldError, OSError, sqlite3.Error, ValueError) as error:
        text = str(error) if str(path) in str(error) else f"{path}: {error}"
        return Damaged(path, text) if path.exists() else None


def prune(path: Path) -> bool:
    """Remove a world if its owner and all its processes are dead; answer whether it was.

    A program that has the world in its environment and has not come to the driver yet counts as alive. A directory
    with anything in it that no world has is left alone.
    """
    if not _mine(path) or _foreign(path):
        return False
    if _unfinished(path):
        dead = path.name.startswith(PREFIX) and _old(path)
    else:
        dead = _nobody_lives(path)
    if not dead or any(path in worlds for worlds in _in_environments()):
        return False
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


def _nobody_lives(path: Path) -> bool:
    with closing(Lives(path / "lives")) as lives:
        return not lives.anybody()


def _unfinished(path: Path) -> bool:
    """Tell whether a directory has no proof of life: its maker has not come so far, or was stopped removing it."""
    return not (path / "lives").is_file() or (path / "lives").is_symlink()


def _old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > UNFINISHED
    except OSError:
        return False


def _in_environments() -> Iterator[set[Path]]:
    """Answer the worlds in the environments of this user's other processes, as far as they can be seen from here."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry.name}/environ", "rb") as file:
                values = file.read().split(b"\0")
        except OSError:  # it ended, or is somebody else's
            continue
        yield {
            Path(os.fsdecode(value.partition(b"=")[2])) for value in values if value.startswith(b"CUMULTICAST_WORLD=")
        }
