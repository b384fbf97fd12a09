"""Copies of rows: cuMemcpy2D and its kin, between host and device memory; arrays are not simulated."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from cumulticast.rules import Refused, Status, copies
from cumulticast.sim import native
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.contexts import Context
from cumulticast.sim.copies import Side, move_in_stream
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.streams import NULL, Stream, await_stream

HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4  # CUmemorytype
_HALF = "QQi4xQQQQ"
_PLANE = struct.Struct(f"<{_HALF}{_HALF}QQ")


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


def checked(process: Process, data: bytes) -> Plane | None:
    """Read a plane and hold it to the rules; no rows or no width: nothing is looked at (recorded)."""
    plane = Plane.read(data)
    if not plane.width or not plane.height:
        return None
    with process.driver.lock:
        for half in (plane.src, plane.dst):
            check_half(process, half, plane.width)
    return plane


def copy_plane(process: Process, thread: int, stream: Stream, call: str, plane: Plane) -> None:
    """Copy rows in the order of a stream."""
    pitches = plane.pitch(plane.dst), plane.pitch(plane.src)

    def work(both: list[Side]) -> None:
        native.copy_2d(both[0].address, pitches[0], both[1].address, pitches[1], plane.width, plane.height)

    both = [plane.side(plane.dst, write=True), plane.side(plane.src, write=False)]
    move_in_stream(process, thread, stream, call, both, work)


def check_half(process: Process, half: Half, width: int) -> None:
    """Refuse arrays, unknown kinds of memory, and rows wider than their pitch."""
    if half.memory_type == ARRAY and half.array:
        raise Refused(Status.NOT_SUPPORTED, None, f"{half.name}: arrays are not simulated")
    if half.memory_type not in (HOST, DEVICE, UNIFIED):
        reason = f"{half.name}_memory_type {half.memory_type} is none of 1 (HOST), 2 (DEVICE), 4 (UNIFIED)"
        raise Refused(Status.INVALID_VALUE, None, reason)
    process.driver.judge(copies.pitch_covers_row, f"{half.name}_pitch", half.pitch, half.x, width)


@entry("cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", locked=False)
def memcpy_2d(process: Process, thread: int, context: Context, call: str, data: bytes) -> None:
    """Copy rows, after all work of the default stream; done when the call returns."""
    plane = checked(process, data)
    if plane is not None:
        with process.driver.lock:
            where = stream_of(process, thread, NULL, call)
        await_stream(process, thread, where)
        copy_plane(process, thread, where, call, plane)


@entry("cuMemcpy2DAsync_v2", locked=False)
def memcpy_2d_async(process: Process, thread: int, call: str, data: bytes, stream: int) -> None:
    """Copy rows in stream order."""
    with process.driver.lock:
        where = stream_of(process, thread, stream, call)
    plane = checked(process, data)
    if plane is not None:
        copy_plane(process, thread, where, call, plane)
