"""Memory set to a value: what memsets of streams and of graphs have in common."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.rules import copies
from cumulticast.sim import native
from cumulticast.sim.copies import Side

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

_PARAMS = struct.Struct("<QQIIQQ")
FILLS = {1: native.fill8, 2: native.fill16, 4: native.fill32}


@dataclass(frozen=True, slots=True)
class Fill:
    """CUDA_MEMSET_NODE_PARAMS: ``rows`` of ``columns`` elements of ``width`` bytes; one row needs no pitch."""

    dst: int
    pitch: int
    value: int
    width: int
    columns: int
    rows: int

    @classmethod
    def read(cls, data: bytes) -> Fill:
        """Read the 40 bytes of the C structure."""
        return cls(*_PARAMS.unpack(data))

    def write(self) -> bytes:
        """Write the 40 bytes of the C structure."""
        return _PARAMS.pack(self.dst, self.pitch, self.value, self.width, self.columns, self.rows)

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return self.columns * self.width

    @property
    def side(self) -> Side:
        """What is written."""
        span = (self.rows - 1) * self.pitch + self.row if self.rows > 1 else self.row
        return Side("dst_device", self.dst, span, True, staged=False)

    def check(self, process: Process) -> None:
        """Refuse (1) what is not aligned to its elements, and rows that overlap."""
        if self.width > 1:
            process.driver.judge(copies.memset_aligned, self.dst, self.width)
            if self.rows > 1:
                process.driver.judge(copies.memset_pitch_aligned, self.pitch, self.width)
        process.driver.judge(copies.memset_pitch, self.pitch, self.row, self.rows)

    def work(self, sides: list[Side] | None = None) -> None:
        """Write."""
        if self.rows == 1:
            FILLS[self.width](self.dst, self.value, self.columns)
        else:
            native.fill_2d(self.dst, self.pitch, self.value, self.width, self.columns, self.rows)
