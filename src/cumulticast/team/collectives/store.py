"""Compiled programs on disk, under the user's cache directory: for processes that come later, and other ranks.

    $XDG_CACHE_HOME/cumulticast/collectives/<hash of all that decides the content>     (~/.cache without XDG_CACHE_HOME)

An entry is its own checksum, then the content, and appears whole or not at all: ranks that make the same one at the
same time replace it by an equal one. One that is damaged, cut off or another user's is as if it were not there.
CUDA_CACHE_DISABLE=1 turns this off, as it does for the driver's own cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

_CHECKSUM = hashlib.blake2b().digest_size


def kept(parts: Sequence[bytes], make: Callable[[], bytes]) -> bytes:
    """Answer what is kept for these parts; make it, and keep it, where there is nothing."""
    place = directory()
    path = place / _key(parts) if place else None
    content = _read(path) if path else None
    if content is None:
        content = make()
        if path:
            _write(path, content)
    return content


def directory() -> Path | None:
    """Answer where entries lie; None when nothing is to be kept."""
    if os.environ.get("CUDA_CACHE_DISABLE") == "1":
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # no home
        return None
    return root / "cumulticast" / "collectives"


def _key(parts: Sequence[bytes]) -> str:
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            stored = file.read()
    except OSError:
        return None
    checksum, content = stored[:_CHECKSUM], stored[_CHECKSUM:]
    return content if hashlib.blake2b(content).digest() == checksum else None


def _write(path: Path, content: bytes) -> None:
    """Keep an entry; where that cannot be done (a full disk, a directory of another's) it is done without."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file, scratch = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(file, "wb") as out:
                out.write(hashlib.blake2b(content).digest() + content)
            os.replace(scratch, path)
        except OSError:
            os.unlink(scratch)
            raise
