"""Entries on disk, under the user's cache directory: for processes that come later, and for other ranks.

    $XDG_CACHE_HOME/cumulticast/<room>/<key>     (~/.cache without XDG_CACHE_HOME)

An entry is its own checksum, then the content, and appears whole or not at all. One that is damaged, cut off or another
user's is as if it were not there. CUDA_CACHE_DISABLE=1 turns this off, as it does for the driver's own cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

CHECKSUM = hashlib.blake2b().digest_size


def directory(room: str) -> Path | None:
    """Answer where the entries of a room lie; None when nothing is to be kept."""
    if os.environ.get("CUDA_CACHE_DISABLE") == "1":
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # no home
        return None
    return root / "cumulticast" / room


def key(*parts: bytes) -> str:
    """Make a key of all that an entry depends on."""
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def read(path: Path) -> bytes | None:
    """Answer the content of an entry, None where there is none to be used."""
    try:
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


def write(path: Path, content: bytes) -> None:
    """Keep an entry.

    Raises
    ------
    OSError
        It cannot be kept: a full disk, a directory of another's. Nothing is left of it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, scratch = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(file, "wb") as out:
            out.write(hashlib.blake2b(content).digest() + content)
        os.replace(scratch, path)
    except OSError:
        os.unlink(scratch)
        raise
