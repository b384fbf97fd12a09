"""Memsets in one dimension and two."""

from __future__ import annotations

from cumulticast.rules import copies
from cumulticast.sim import native
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.copies import Side, move_in_stream
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.streams import NULL

ADDRESS_MASK = (1 << 64) - 1
WIDTHS = {"D8": 1, "D16": 2, "D32": 4, "D2D8": 1, "D2D16": 2, "D2D32": 4}
FILLS = {1: native.fill8, 2: native.fill16, 4: native.fill32}


def width_of(call: str) -> int:
    """Answer the bytes of an element from the name of a call: cuMemsetD16Async sets two at a time."""
    return WIDTHS[call.removeprefix("cuMemset").split("_")[0].removesuffix("Async")]


def fill(process: Process, thread: int, stream: int, call: str, dst: int, value: int, count: int) -> None:
    """Set ``count`` elements in the order of a stream; memsets without one are in that of the default stream.

    The size in bytes is counted in 64 bits: 2^62 words of four are none at all (recorded, memsets/D32.overflow).
    """
    width = width_of(call)
    size = count * width & ADDRESS_MASK
    with process.driver.lock:
        where = stream_of(process, thread, stream, call)
        if not size:
            return
        if width > 1:
            process.driver.judge(copies.memset_aligned, dst, width)
    side = Side("dst_device", dst, size, True, staged=False)
    move_in_stream(process, thread, where, call, [side], lambda sides: FILLS[width](dst, value, size // width))


def fill_2d(
    process: Process, thread: int, stream: int, call: str, dst: int, pitch: int, value: int, columns: int, rows: int
) -> None:
    """Set ``rows`` of ``columns`` elements; a pitch matters from the second row on."""
    width = width_of(call)
    row = columns * width
    with process.driver.lock:
        where = stream_of(process, thread, stream, call)
        if not columns or not rows:
            return
        if width > 1:
            process.driver.judge(copies.memset_aligned, dst, width)
            if rows > 1:
                process.driver.judge(copies.memset_pitch_aligned, pitch, width)
        process.driver.judge(copies.memset_pitch, pitch, row, rows)
    side = Side("dst_device", dst, (rows - 1) * pitch + row, True, staged=False)
    move_in_stream(
        process, thread, where, call, [side], lambda sides: native.fill_2d(dst, pitch, value, width, columns, rows)
    )


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
    fill_2d(process, thread, NULL, call, dst, pitch, value, columns, rows)


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
    fill_2d(process, thread, stream, call, dst, pitch, value, columns, rows)
