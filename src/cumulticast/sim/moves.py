"""Bytes in motion: copies run without the driver's lock, and nothing they touch may be unmapped meanwhile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator


class Moves:
    """How many copies and memsets are under way; a real driver's frees wait for them, too."""

    def __init__(self) -> None:
        self._under_way = 0
        self._idle = threading.Condition()

    def begin(self) -> None:
        """Count a move; called with the driver's lock held, after the addresses were found good."""
        with self._idle:
            self._under_way += 1

    def end(self) -> None:
        """The move is over; called without the driver's lock."""
        with self._idle:
            self._under_way -= 1
            if not self._under_way:
                self._idle.notify_all()

    def settle(self) -> None:
        """Wait until nothing moves. The caller holds the driver's lock, so that nothing new begins."""
        with self._idle:
            while self._under_way:
                self._idle.wait()

    @contextlib.contextmanager
    def under_way(self) -> Generator[None]:
        """Run a move that `begin` has counted."""
        try:
            yield
        finally:
            self.end()
