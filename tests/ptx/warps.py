"""A struct ptx_warp with memory around it, for tests of single instructions that touch memory."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field

import numpy as np

from cumulticast.ptx import layout
from cumulticast.ptx.runtime import ffi, lib

GRANULE = 1 << layout.RIGHTS_SHIFT
TABLE_BYTES = 1 << (47 - layout.RIGHTS_SHIFT)
READ_WRITE = layout.RIGHT_READ | layout.RIGHT_WRITE
SHARED_BYTES, LOCAL_BYTES, PARAM_BYTES = 4096, 256, 128


@dataclass
class Warp:
    """A warp of 32 lanes of a block in a launch; ``memory`` is a granule of global memory that it may use."""

    granules: int = 2
    rights: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, TABLE_BYTES))
    kept: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shared = np.zeros(SHARED_BYTES, np.uint8)
        self.local = np.zeros((layout.LANES, LOCAL_BYTES), np.uint8)
        self.params = np.zeros(PARAM_BYTES, np.uint8)
        self.launch = ffi.new("struct ptx_launch *")
        self.struct = ffi.new("struct ptx_warp *")
        self.launch.head.shared_size = self.launch.head.shared_window = SHARED_BYTES
        self.launch.head.local_size = LOCAL_BYTES
        self.launch.head.cluster = [1, 1, 1]
        self.launch.params_size = PARAM_BYTES
        for name in ("shared", "local", "params"):
            setattr(self.struct, name, ffi.cast("void *", getattr(self, name).ctypes.data))
        self.struct.rights = ffi.cast("void *", ffi.from_buffer(self.rights))
        self.struct.launch = self.launch
        self.struct.lanes = self.struct.all_lanes = 0xFFFFFFFF
        self.base, self.memory = self.granule(self.granules)
        self.grant(self.base, self.granules, READ_WRITE)

    @property
    def address(self) -> int:
        """Where the struct lies."""
        return int(ffi.cast("uintptr_t", self.struct))

    def granule(self, count: int = 1) -> tuple[int, np.ndarray]:
        """Answer the address and the bytes of ``count`` granules of host memory, aligned to a granule; no rights."""
        room = np.zeros((count + 1) * GRANULE, np.uint8)
        self.kept.append(room)
        start = -room.ctypes.data % GRANULE
        return room.ctypes.data + start, room[start : start + count * GRANULE]

    def grant(self, address: int, count: int, right: int) -> None:
        """Write rights into the table."""
        at = address >> layout.RIGHTS_SHIFT
        self.rights[at : at + count] = bytes([right]) * count

    def judge(self, space: int, address: int, size: int, right: int, lane: int = 0) -> tuple[int, str]:
        """Answer the status and the reason that an access would end with; (0, "") if it is allowed."""
        reason = ffi.new("char[512]")
        status = lib.ptx_judge(self.struct, space, lane, address, size, right, reason)
        return status, ffi.string(reason).decode()
