"""Compiled kernels on disk, under the user's cache directory.

    $XDG_CACHE_HOME/cumulticast/ptx/<key>       (~/.cache without XDG_CACHE_HOME)

The key is a hash of all that decides what the compiler makes: the text, the device's architecture, this host's
processor and this compiler. An entry is its own checksum, then the content: one that is damaged, cut off or not this
user's is as if it were not there. CUDA_CACHE_DISABLE=1 turns the cache off and CUDA_CACHE_MAXSIZE limits it (bytes), as
for the real driver's own cache; the entries used longest ago go first.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Generator
from functools import cache as once
from pathlib import Path

from cumulticast import kept

ROOM = Path(__file__).parent
FLOORS = (ROOM / "flow", ROOM / "lower", ROOM / "forms")
LARGEST = 256 << 20


def directory() -> Path | None:
    """Answer where entries lie; None when there is to be no cache."""
    return kept.directory("ptx")


@once
def compiler() -> bytes:
    """Identify this compiler: any change to one of its files makes another one of it."""
    found = hashlib.blake2b()
    for path in sorted(path for floor in (ROOM, *FLOORS) for path in floor.glob("*.py")):
        status = path.stat()
        found.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.digest()


def key(*parts: bytes) -> str:
    """Make a key of all that an entry depends on, this compiler among them."""
    return kept.key(compiler(), *parts)


def read(name: str) -> bytes | None:
    """Answer the content of an entry, None where there is none to be used."""
    place = directory()
    return kept.read(place / name) if place else None


def write(name: str, content: bytes) -> None:
    """Keep an entry. A cache that cannot be written (a full disk, a directory of another's) is done without."""
    place = directory()
    if place is None:
        return
    with contextlib.suppress(OSError):
        kept.write(place / name, content)
        _trim(place)


@contextlib.contextmanager
def turn(name: str) -> Generator[None]:
    """Take turns with other processes that make an entry: ranks of one job want the same one at the same time.

    Whoever comes later finds the entry. Turns are locks of processes, which end with them and are no child's; where the
    file system has none, everybody goes at once.
    """
    place, file = directory(), -1
    try:
        if place is not None:
            with contextlib.suppress(OSError):
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
                file = os.open(place / f".turn-{name[:2]}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.lockf(file, fcntl.LOCK_EX)
        yield
    finally:
        if file >= 0:
            os.close(file)


def _trim(place: Path) -> None:
    """Let the entries go that were used longest ago, when all take more than they may."""
    limit = os.environ.get("CUDA_CACHE_MAXSIZE", "")
    most = int(limit) if limit.isdecimal() else LARGEST
    entries: list[tuple[os.stat_result, str]] = []
    with os.scandir(place) as found:
        for entry in found:
            with contextlib.suppress(FileNotFoundError):  # another process has just put it in its place, or let it go
                entries.append((entry.stat(), entry.path))
    total = sum(status.st_size for status, _ in entries)
    for status, path in sorted(entries, key=lambda entry: entry[0].st_mtime_ns):
        if total <= most:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        total -= status.st_size
