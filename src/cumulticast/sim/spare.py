"""Mappings held back from the simulation, so that it never takes the process's last ones.

Linux limits the mappings of a process (vm.max_map_count, 65530 by default), and Python's own memory comes from
mappings, too: where a driver's call takes the last one, any line of the program may end with MemoryError.
"""

from __future__ import annotations

import errno
from mmap import PAGESIZE, PROT_READ
from pathlib import Path

from cumulticast.sim import native

COUNT = 512
LIMIT = Path("/proc/sys/vm/max_map_count")


class Spare:
    """``with spare:`` around whatever needs new mappings; at the limit it raises OSError (ENOMEM) and gives room."""

    def __init__(self) -> None:
        self._base = 0
        self._size = COUNT * PAGESIZE

    def __enter__(self) -> None:
        if self._base:
            return
        self._base = native.map_none(0, self._size)
        try:
            for page in range(0, COUNT, 2):  # neighbours of different protection are mappings of their own
                native.protect(self._base + page * PAGESIZE, PAGESIZE, PROT_READ)
        except OSError:
            self.give_up()
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            self.give_up()

    def give_up(self) -> None:
        """Give the mappings back; the next use takes them anew."""
        base, self._base = self._base, 0
        if base:
            native.unmap(base, self._size)


def crowded(error: OSError) -> str:
    """Say so where an error comes from the limit of mappings, else nothing."""
    if error.errno != errno.ENOMEM or not LIMIT.exists():
        return ""
    limit = int(LIMIT.read_text())
    with open("/proc/self/maps", "rb") as file:
        count = sum(1 for _ in file)
    return f"; the process has {count} mappings of at most {limit} (vm.max_map_count)" if count > limit * 0.9 else ""
