"""Compiled programs on disk, for processes that come later and other ranks: `cumulticast.kept`.

Ranks that make the same one at the same time replace it by an equal one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from cumulticast import kept as disk


def kept(parts: Sequence[bytes], make: Callable[[], bytes]) -> bytes:
    """Answer what is kept for these parts; make it, and keep it, where there is nothing."""
    place = disk.directory("collectives")
    path = place / disk.key(*parts) if place else None
    content = disk.read(path) if path else None
    if content is None:
        content = make()
        if path:
            with contextlib.suppress(OSError):  # it is done without
                disk.write(path, content)
    return content
