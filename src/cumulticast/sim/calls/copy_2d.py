"""Copies of rows: cuMemcpy2D and its kin, between host and device memory; arrays are not simulated."""

from __future__ import annotations

from cumulticast.sim import captures
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.contexts import Context
from cumulticast.sim.copies import move_in_stream
from cumulticast.sim.entry import entry
from cumulticast.sim.planes import Plane, check_plane
from cumulticast.sim.process import Process
from cumulticast.sim.streams import NULL, await_stream


def checked(process: Process, data: bytes) -> Plane | None:
    """Read a plane and hold it to the rules; no rows or no width: nothing is looked at (recorded)."""
    plane = Plane.read(data)
    if not plane.width or not plane.height:
        return None
    with process.driver.lock:
        check_plane(process, plane)
    return plane


@entry("cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", locked=False)
def memcpy_2d(process: Process, thread: int, context: Context, call: str, data: bytes) -> None:
    """Copy rows, after all work of the default stream; done when the call returns."""
    plane = checked(process, data)
    if plane is not None:
        with process.driver.lock:
            where = stream_of(process, thread, NULL, call)
        await_stream(process, thread, where)
        move_in_stream(process, thread, where, call, plane.sides, plane.work)


@entry("cuMemcpy2DAsync_v2", locked=False)
def memcpy_2d_async(process: Process, thread: int, call: str, data: bytes, stream: int) -> None:
    """Copy rows in stream order."""
    with process.driver.lock:
        where = stream_of(process, thread, stream, call)
    plane = checked(process, data)
    if plane is not None and not captures.copied(process, where, plane.volume):
        move_in_stream(process, thread, where, call, plane.sides, plane.work)
