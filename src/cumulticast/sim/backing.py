"""Host memory behind sparse files: allocated before the driver writes, so that a full tmpfs answers 2, not SIGBUS."""

from __future__ import annotations

import os

from cumulticast.sim import native
from cumulticast.sim.shared import World
from cumulticast.sim.windows import Window

GRANULE = 2 << 20


class Backing:
    """Which granules of which allocations are known to have memory. What has it keeps it: no hole is ever punched."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[int, set[int]] = {}

    def ensure(self, allocation: int, offset: int, size: int) -> None:
        """Give ``[offset, offset + size)`` of an allocation memory.

        Raises
        ------
        OSError
            ENOSPC: the file system of the world is full.
        """
        known = self._known.setdefault(allocation, set())
        missing = [g for g in range(offset // GRANULE, -(-(offset + size) // GRANULE)) if g not in known]
        if not missing:
            return
        fd = os.open(self._world.path_of("memory", allocation), os.O_RDWR | os.O_CLOEXEC)
        try:
            for granule in missing:
                native.allocate(fd, granule * GRANULE, GRANULE)
                known.add(granule)
        finally:
            os.close(fd)

    def ensure_window(self, window: Window, offset: int, size: int) -> None:
        """Give what every replica shows at ``[offset, offset + size)`` memory."""
        for device in window.devices:
            at = offset
            while at < offset + size:
                piece = window.piece_at(device, at)
                assert piece is not None  # window.segments has looked
                start, (length, allocation, mem_offset) = piece
                stop = min(start + length, offset + size)
                self.ensure(allocation, mem_offset + at - start, stop - at)
                at = stop

    def forget(self, allocation: int) -> None:
        """The allocation is gone."""
        self._known.pop(allocation, None)
