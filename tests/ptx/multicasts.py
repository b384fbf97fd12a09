"""A multicast object in the memory of a test: replicas at a stride, and the table through which a warp finds them."""

from __future__ import annotations

import numpy as np
from warps import GRANULE, Warp

from cumulticast.ptx import layout
from cumulticast.ptx.runtime import ffi

#: A multicast address: nothing is mapped there, as on the simulator.
ADDRESS = 0x1234 * GRANULE


class Multicast:
    """``replicas`` memories of ``extent`` bytes behind ADDRESS; ``rows[i]`` is replica i."""

    def __init__(self, warp: Warp, replicas: int, extent: int = GRANULE, *, uneven: bool = False) -> None:
        self.stride = extent + 17 * 4096
        self.room = np.zeros(replicas * self.stride + 4096, np.uint8)
        start = -self.room.ctypes.data % 4096
        self.starts = [start + i * self.stride + (256 * (i % 3) if uneven else 0) for i in range(replicas)]
        self.rows = [self.room[at : at + extent] for at in self.starts]
        self.bases = ffi.new("uint64_t[]", [self.room.ctypes.data + at for at in self.starts])
        self.table = ffi.new("struct ptx_multicast *")
        self.warp, self.replicas, self.extent, self.uneven = warp, replicas, extent, uneven
        warp.kept.append(self)  # which has its address
        self.bind([(0, extent)])
        warp.launch.head.multicast = self.table
        warp.grant(ADDRESS, -(-extent // GRANULE), layout.RIGHT_MULTICAST)

    @property
    def pointer(self) -> int:
        """The address of the table."""
        return int(ffi.cast("uintptr_t", self.table))

    def bind(self, stretches: list[tuple[int, int]], holes: list[tuple[int, int, int]] | None = None) -> None:
        """Say which offsets are bound on all devices, and which (begin, end, device) are not."""
        self.segments = ffi.new("struct ptx_segment[]", len(stretches))
        self.kept = []
        for segment, (begin, end) in zip(self.segments, stretches, strict=True):
            bases = ffi.new("uint64_t[]", [base + begin for base in self.bases])
            self.kept.append(bases)
            segment.begin, segment.end = ADDRESS + begin, ADDRESS + end
            segment.base, segment.stride = bases[0], self.stride
            segment.bases = bases if self.uneven else ffi.NULL
            segment.replicas, segment.usable = self.replicas, 1
        self.holes = ffi.new("struct ptx_hole[]", [(ADDRESS + a, ADDRESS + b, device) for a, b, device in holes or []])
        self.table.segments, self.table.segment_count = self.segments, len(stretches)
        self.table.holes, self.table.hole_count = self.holes, len(self.holes)
