"""Memsets in one dimension and two."""

from __future__ import annotations

from cumulticast.sim import captures
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.copies import move_in_stream
from cumulticast.sim.entry import entry
from cumulticast.sim.fills import Fill
from cumulticast.sim.process import Process
from cumulticast.sim.streams import NULL

ADDRESS_MASK = (1 << 64) - 1
WIDTHS = {"D8": 1, "D16": 2, "D32": 4, "D2D8": 1, "D2D16": 2, "D2D32": 4}


def width_of(call: str) -> int:
    """Answer the bytes of an element from the name of a call: cuMemsetD16Async sets two at a time."""
    return WIDTHS[call.removeprefix("cuMemset").split("_")[0].removesuffix("Async")]


def fill(process: Process, thread: int, stream: int, call: str, dst: int, value: int, count: int) -> None:
    """Set ``count`` elements in the order of a stream; memsets without one are in that of the default stream.

    The size in bytes is counted in 64 bits: 2^62 words of four are none at all (recorded, memsets/D32.overflow).
    """
    width = width_of(call)
    size = count * width & ADDRESS_MASK
    hand_over(process, thread, stream, call, Fill(dst, 0, value, width, size // width, 1))


def hand_over(process: Process, thread: int, stream: int, call: str, wanted: Fill) -> None:
    """Set rows of elements in the order of a stream; nothing is looked at where there are none."""
    with process.driver.lock:
        where = stream_of(process, thread, stream, call)
        if not wanted.columns or not wanted.rows:
            return
        wanted.check(process)
    if not captures.filled(process, where, wanted):
        move_in_stream(process, thread, where, call, [wanted.side], wanted.work)


@entry("cuMemsetD8_v2", "cuMemsetD16_v2", "cuMemsetD32_v2", locked=False)
def memset(process: Process, thread: int, call: str, dst: int, value: int, count: int) -> None:
    """Set elements of 1, 2 or 4 bytes."""
    fill(process, thread, NULL, call, dst, value, count)


@entry("cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async", locked=False)
def memset_async(process: Process, thread: int, call: str, dst: int, value: int, count: int, stream: int) -> None:
    """Set elements in stream order."""
    fill(process, thread, stream, call, dst, value, count)


@entry("cuMemsetD2D8_v2", "cuMemsetD2D16_v2", "cuMemsetD2D32_v2", locked=False)
def memset_2d(
    process: Process, thread: int, call: str, dst: int, pitch: int, value: int, columns: int, rows: int
) -> None:
    """Set rows of elements."""
    hand_over(process, thread, NULL, call, Fill(dst, pitch, value, width_of(call), columns, rows))


@entry("cuMemsetD2D8Async", "cuMemsetD2D16Async", "cuMemsetD2D32Async", locked=False)
def memset_2d_async(
    process: Process,
    thread: int,
    call: str,
    dst: int,
    pitch: int,
    value: int,
    columns: int,
    rows: int,
    stream: int,
) -> None:
    """Set rows of elements in stream order."""
    hand_over(process, thread, stream, call, Fill(dst, pitch, value, width_of(call), columns, rows))
