"""Rows and planes of bytes: CUDA_MEMCPY2D and CUDA_MEMCPY3D, between host and device memory; there are no arrays."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.rules import Refused, Status, copies
from cumulticast.sim import native
from cumulticast.sim.copies import Side

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4  # CUmemorytype
_HALF = "QQi4xQQQQ"
_PLANE = struct.Struct(f"<{_HALF}{_HALF}QQ")
_BODY = "QQQQi4xQQQQQQ"
_VOLUME = struct.Struct(f"<{_BODY}{_BODY}QQQ")


@dataclass(frozen=True, slots=True)
class Half:
    """One half of a CUDA_MEMCPY2D: where the rows begin and how far apart they are."""

    name: str
    x: int
    y: int
    memory_type: int
    host: int
    device: int
    array: int
    pitch: int

    @property
    def base(self) -> int:
        """The address given for its kind of memory."""
        return self.host if self.memory_type == HOST else self.device


@dataclass(frozen=True, slots=True)
class Plane:
    """CUDA_MEMCPY2D."""

    src: Half
    dst: Half
    width: int
    height: int

    @classmethod
    def read(cls, data: bytes) -> Plane:
        """Read the 128 bytes of the C structure."""
        values = _PLANE.unpack(data)
        return cls(Half("src", *values[:7]), Half("dst", *values[7:14]), *values[14:])

    def pitch(self, half: Half) -> int:
        """Answer the distance of two rows; without one they lie close together."""
        return half.pitch or self.width

    def start(self, half: Half) -> int:
        """Answer the address of the first byte."""
        return half.base + half.y * self.pitch(half) + half.x

    def side(self, half: Half, *, write: bool) -> Side:
        """Answer what the rows span."""
        span = (self.height - 1) * self.pitch(half) + self.width
        return Side(half.name, self.start(half), span, write, "device" if half.memory_type == DEVICE else "any")

    @property
    def sides(self) -> list[Side]:
        """What is written, and what is read."""
        return [self.side(self.dst, write=True), self.side(self.src, write=False)]

    @property
    def work(self) -> Callable[[list[Side]], None]:
        """The copy itself, for `copies.move_in_stream`."""
        pitches = self.pitch(self.dst), self.pitch(self.src)

        def copy(both: list[Side]) -> None:
            native.copy_2d(both[0].address, pitches[0], both[1].address, pitches[1], self.width, self.height)

        return copy

    @property
    def volume(self) -> Volume:
        """The same as a CUDA_MEMCPY3D of one plane."""
        return Volume(Body.of(self.src), Body.of(self.dst), self.width, self.height, 1)


@dataclass(frozen=True, slots=True)
class Body:
    """One half of a CUDA_MEMCPY3D.

    Attributes
    ----------
    rows
        Rows from one plane to the next (srcHeight, dstHeight).
    """

    x: int
    y: int
    z: int
    level: int
    memory_type: int
    host: int
    device: int
    array: int
    reserved: int
    pitch: int
    rows: int

    @classmethod
    def of(cls, half: Half) -> Body:
        """Take over the half of a copy of rows."""
        return cls(half.x, half.y, 0, 0, half.memory_type, half.host, half.device, half.array, 0, half.pitch, 0)

    @classmethod
    def at(cls, side: Side, memory_type: int) -> Body:
        """Begin at the address of a copy in one dimension."""
        host, device = (side.address, 0) if memory_type == HOST else (0, side.address)
        return cls(0, 0, 0, 0, memory_type, host, device, 0, 0, 0, 0)

    def half(self, name: str, plane: int) -> Half:
        """Answer where the rows of a plane begin, counted from the first."""
        y = self.y + (self.z + plane) * self.rows
        return Half(name, self.x, y, self.memory_type, self.host, self.device, self.array, self.pitch)

    @property
    def words(self) -> tuple[int, ...]:
        """The fields in C order."""
        first = (self.x, self.y, self.z, self.level, self.memory_type, self.host, self.device, self.array)
        return (*first, self.reserved, self.pitch, self.rows)


@dataclass(frozen=True, slots=True)
class Volume:
    """CUDA_MEMCPY3D."""

    src: Body
    dst: Body
    width: int
    height: int
    depth: int

    @classmethod
    def read(cls, data: bytes) -> Volume:
        """Read the 200 bytes of the C structure."""
        values = _VOLUME.unpack(data)
        return cls(Body(*values[:11]), Body(*values[11:22]), *values[22:])

    def write(self) -> bytes:
        """Write the 200 bytes of the C structure."""
        return _VOLUME.pack(*self.src.words, *self.dst.words, self.width, self.height, self.depth)

    @classmethod
    def line(cls, dst: Side, src: Side, kinds: tuple[int, int]) -> Volume:
        """Describe a copy in one dimension; ``kinds`` are the memory types of target and source."""
        return cls(Body.at(src, kinds[1]), Body.at(dst, kinds[0]), dst.size, 1, 1)

    @property
    def planes(self) -> Iterator[Plane]:
        """The copies of rows that it consists of."""
        for plane in range(self.depth):
            yield Plane(self.src.half("src", plane), self.dst.half("dst", plane), self.width, self.height)

    @property
    def shape(self) -> tuple[bool, bool]:
        """Whether it has rows and planes: what an executable graph keeps."""
        return self.height > 1, self.depth > 1


def check_plane(process: Process, plane: Plane) -> None:
    """Hold both halves to the rules; called with the driver's lock held."""
    for half in (plane.src, plane.dst):
        check_half(process, half, plane.width)


def check_half(process: Process, half: Half, width: int) -> None:
    """Refuse arrays, unknown kinds of memory, and rows wider than their pitch."""
    if half.memory_type == ARRAY and half.array:
        raise Refused(Status.NOT_SUPPORTED, None, f"{half.name}: arrays are not simulated")
    if half.memory_type not in (HOST, DEVICE, UNIFIED):
        reason = f"{half.name}_memory_type {half.memory_type} is none of 1 (HOST), 2 (DEVICE), 4 (UNIFIED)"
        raise Refused(Status.INVALID_VALUE, None, reason)
    process.driver.judge(copies.pitch_covers_row, f"{half.name}_pitch", half.pitch, half.x, width)
