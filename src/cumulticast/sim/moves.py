"""Bytes in motion: copies run without the driver's lock, and nothing they touch may be unmapped meanwhile."""

from __future__ import annotations

import threading
import time

LOOK = 0.0005  # seconds between two looks at who still moves


class Moves:
    """The threads that copy, set memory or do multimem operations; a real driver's frees wait for them, too.

    Whoever moves does this, and nothing else will do::

        me = threading.get_ident()
        try:
            with driver.lock:  # nothing is unmapped now
                ...            # find the addresses good
                moves.moving.add(me)
            ...                # move
        finally:
            moves.moving.discard(me)

    Signal handlers can raise between any two lines of Python, but not inside these two calls, nor before the one that
    stands first in a ``finally``: no mark stays behind, for which others would wait for ever. So there is no condition
    to be notified, either, and `settle` looks again and again.
    """

    def __init__(self) -> None:
        self.moving: set[int] = set()

    def settle(self) -> None:
        """Wait until no other thread moves. The caller holds the driver's lock, so that nothing new begins."""
        me = {threading.get_ident()}
        while self.moving - me:
            time.sleep(LOOK)
