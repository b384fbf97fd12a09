"""Copies in one dimension."""

from __future__ import annotations

from dataclasses import replace

from cumulticast.sim import captures, native
from cumulticast.sim.calls.context import context_of
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.contexts import Context
from cumulticast.sim.copies import Side, move, move_in_stream
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.streams import NULL, await_context, await_stream


def copy(process: Process, thread: int, context: Context, call: str, dst: Side, src: Side) -> None:
    """Copy after all work of the default stream. No bytes: nothing is looked at (recorded) but what captures forbid.

    From device to device memory the copy is handed over; all others are done when the call returns (documented).
    """
    if process.captures.active:
        with process.driver.lock:
            stream_of(process, thread, NULL, call)
    if not dst.size:
        return
    if context.busy:
        with process.driver.lock:
            where = stream_of(process, thread, NULL, call)
        if dst.kind == src.kind == "device":
            move_in_stream(process, thread, where, call, [dst, src], copy_sides)
            return
        await_stream(process, thread, where)
    move(process, call, context, [dst, src], lambda: copy_sides([dst, src]))


def copy_sides(both: list[Side]) -> None:
    """Copy from the second side to the first."""
    native.copy(both[0].address, both[1].address, both[0].size)


def copy_in_stream(process: Process, thread: int, call: str, stream: int, dst: Side, src: Side) -> None:
    """Copy in the order of a stream; the stream's device acts. No bytes: nothing is looked at (recorded)."""
    with process.driver.lock:
        where = stream_of(process, thread, stream, call)
    if dst.size and not captures.copied_line(process, where, dst, src):
        move_in_stream(process, thread, where, call, [dst, src], copy_sides)


def sides(dst: int, src: int, size: int, kinds: str) -> tuple[Side, Side]:
    """Make both sides; ``kinds`` says which may be ordinary host memory, as in ``HtoD``."""
    target = Side("dst", dst, size, True, "any" if kinds.endswith("H") else "device")
    return target, Side("src", src, size, False, "any" if kinds.startswith("H") else "device")


@entry("cuMemcpy", locked=False)
def memcpy(process: Process, thread: int, context: Context, call: str, dst: int, src: int, size: int) -> None:
    """Copy between any two places: the addresses tell."""
    copy(process, thread, context, call, *sides(dst, src, size, "HtoH"))


@entry("cuMemcpyAsync", locked=False)
def memcpy_async(process: Process, thread: int, call: str, dst: int, src: int, size: int, stream: int) -> None:
    """Copy between any two places in stream order."""
    copy_in_stream(process, thread, call, stream, *sides(dst, src, size, "HtoH"))


@entry("cuMemcpyHtoD_v2", locked=False)
def memcpy_htod(process: Process, thread: int, context: Context, call: str, dst: int, src: int, size: int) -> None:
    """Copy from host to device memory."""
    copy(process, thread, context, call, *sides(dst, src, size, "HtoD"))


@entry("cuMemcpyDtoH_v2", locked=False)
def memcpy_dtoh(process: Process, thread: int, context: Context, call: str, dst: int, src: int, size: int) -> None:
    """Copy from device to host memory."""
    copy(process, thread, context, call, *sides(dst, src, size, "DtoH"))


@entry("cuMemcpyDtoD_v2", locked=False)
def memcpy_dtod(process: Process, thread: int, context: Context, call: str, dst: int, src: int, size: int) -> None:
    """Copy from device to device memory."""
    copy(process, thread, context, call, *sides(dst, src, size, "DtoD"))


@entry("cuMemcpyHtoDAsync_v2", locked=False)
def memcpy_htod_async(process: Process, thread: int, call: str, dst: int, src: int, size: int, stream: int) -> None:
    """Copy from host to device memory in stream order."""
    copy_in_stream(process, thread, call, stream, *sides(dst, src, size, "HtoD"))


@entry("cuMemcpyDtoHAsync_v2", locked=False)
def memcpy_dtoh_async(process: Process, thread: int, call: str, dst: int, src: int, size: int, stream: int) -> None:
    """Copy from device to host memory in stream order."""
    copy_in_stream(process, thread, call, stream, *sides(dst, src, size, "DtoH"))


@entry("cuMemcpyDtoDAsync_v2", locked=False)
def memcpy_dtod_async(process: Process, thread: int, call: str, dst: int, src: int, size: int, stream: int) -> None:
    """Copy from device to device memory in stream order."""
    copy_in_stream(process, thread, call, stream, *sides(dst, src, size, "DtoD"))


# ---- between the memories of two contexts


def peer_sides(
    process: Process, call: str, dst: int, dst_context: int, src: int, src_context: int, size: int
) -> tuple[Side, Side]:
    """Make both sides, each touched by its context's device; context 0 is the one that acts (recorded)."""
    target, source = sides(dst, src, size, "DtoD")
    with process.driver.lock:
        if dst_context:
            target = replace(target, context=context_of(process, dst_context))
        if src_context:
            source = replace(source, context=context_of(process, src_context))
    return target, source


@entry("cuMemcpyPeer", locked=False)
def memcpy_peer(
    process: Process,
    thread: int,
    context: Context,
    call: str,
    dst: int,
    dst_context: int,
    src: int,
    src_context: int,
    size: int,
) -> None:
    """Copy between two contexts' memories, after all work of both and of the current one (documented)."""
    both = peer_sides(process, call, dst, dst_context, src, src_context, size)
    for each in (context, *(side.context for side in both if side.context is not None)):
        await_context(process, thread, each)
    copy(process, thread, context, call, *both)


@entry("cuMemcpyPeerAsync", locked=False)
def memcpy_peer_async(
    process: Process,
    thread: int,
    call: str,
    dst: int,
    dst_context: int,
    src: int,
    src_context: int,
    size: int,
    stream: int,
) -> None:
    """Copy between two contexts' memories in stream order."""
    both = peer_sides(process, call, dst, dst_context, src, src_context, size)
    copy_in_stream(process, thread, call, stream, *both)
