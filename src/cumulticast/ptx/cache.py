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
import tempfile
from collections.abc import Generator
from functools import cache as once
from pathlib import Path

ROOM = Path(__file__).parent
FLOORS = (ROOM / "flow", ROOM / "lower", ROOM / "forms")
LARGEST = 256 << 20
CHECKSUM = hashlib.blake2b().digest_size


def directory() -> Path | None:
    """Answer where entries lie; None when there is to be no cache."""
    if os.environ.get("CUDA_CACHE_DISABLE") == "1":
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # no home
        return None
    return root / "cumulticast" / "ptx"


@once
def compiler() -> bytes:
    """Identify this compiler: any change to one of its files makes another one of it."""
    found = hashlib.blake2b()
    for path in sorted(
        (*ROOM.glob("*.py"), *ROOM.glob("flow/*.py"), *ROOM.glob("lower/*.py"), *ROOM.glob("forms/*.py"))
    ):
        status = path.stat()
        found.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.digest()


def key(*parts: bytes) -> str:
    """Make a key of all that an entry depends on."""
    found = hashlib.blake2b(compiler(), digest_size=20)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def read(name: str) -> bytes | None:
    """Answer the content of an entry, None where there is none to be used."""
    place = directory()
    if place is None:
        return None
    try:
        path = place / name
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            stored = file.read()
    except OSError:
        return None
    with contextlib.suppress(OSError):  # a cache that is read only is read
        os.utime(path)
    checksum, content = stored[:CHECKSUM], stored[CHECKSUM:]
    return content if hashlib.blake2b(content).digest() == checksum else None


def write(name: str, content: bytes) -> None:
    """Keep an entry. A cache that cannot be written (a full disk, a directory of another's) is done without."""
    place = directory()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _replacing(place / name) as file:
            os.write(file, hashlib.blake2b(content).digest() + content)
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


@contextlib.contextmanager
def _replacing(path: Path) -> Generator[int]:
    """Write a file that appears whole or not at all."""
    file, scratch = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        yield file
        os.replace(scratch, path)
    except OSError:
        os.unlink(scratch)
        raise
    finally:
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
