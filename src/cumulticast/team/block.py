"""A block: memory of one size on every rank, at addresses in this process, and the multicast object over it."""

from __future__ import annotations

from collections.abc import Sequence

from .memory import PhysicalMemory
from .resource import Resource


class Block(Resource):
    """What a voted bring-up made. ``bringup.py`` fills it in, step by step, and notes how each step is undone.

    Attributes
    ----------
    size
        Bytes on each rank, a multiple of the granularity.
    peers
        The address of each rank's memory in this process.
    multicast_ptr
        The address of all of them, 0 without multicast.
    memories
        Rank → its physical memory, for the ranks of this process.
    offset
        Where the block begins in that memory, in bytes; 0 but for a second team over the same memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        self.peers: Sequence[int] = ()
        self.multicast_ptr = 0
        self.memories: dict[int, PhysicalMemory] = {}
        self.offset = 0

    def __repr__(self) -> str:
        """Show the size."""
        return f"Block(size={self.size}, ranks={len(self.peers)}, multicast={self.multicast_ptr:#x})"
