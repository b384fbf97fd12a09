"""Streams: made, asked, waited for; host functions in stream order."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, contexts, general, streams
from cumulticast.sim import captures
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import NotReady, entry
from cumulticast.sim.graph_work import HostWork
from cumulticast.sim.process import Process
from cumulticast.sim.streams import LEGACY, NON_BLOCKING, NULL, PER_THREAD, Stream, await_stream, joined, queue

DEFAULTS = (NULL, LEGACY, PER_THREAD)
ABOUT_CAPTURE = ("cuStreamIsCapturing", "cuStreamGetCaptureInfo")  # may be asked without harm to a capture


def stream_of(process: Process, thread: int, value: int, call: str = "") -> Stream:
    """Answer the stream behind a handle, or refuse (400); 0, 1 and 2 are the current context's own.

    The legacy one is refused (906) while a blocking stream of the context captures.
    """
    if value in DEFAULTS:
        context = process.contexts.current(thread)
        process.driver.judge(contexts.context_current, 0 if context is None else context.value)
        assert context is not None
        own = call.endswith(("_ptsz", "_ptds")) and value == NULL
        found = process.streams.default(context, PER_THREAD if own else value, thread)
        if found.legacy and process.captures.active:
            captures.forbid_legacy(process, context, invalidate=not call.startswith(ABOUT_CAPTURE))
        return found
    stream = process.streams.find(value)
    process.driver.judge(streams.stream_valid, value, stream is not None)
    assert stream is not None
    stream.context.check()
    return stream


@entry("cuStreamCreate")
def stream_create(process: Process, context: Context, flags: int) -> int:
    """Make a stream of the current context."""
    return stream_create_with_priority(process, context, flags, 0)


@entry("cuStreamCreateWithPriority")
def stream_create_with_priority(process: Process, context: Context, flags: int, priority: int) -> int:
    """Make a stream with a priority, brought into the legal range."""
    process.driver.judge(streams.creation_flags, flags, NON_BLOCKING)
    return process.streams.create(context, flags, priority).value


@entry("cuStreamDestroy", "cuStreamDestroy_v2")
def stream_destroy(process: Process, value: int) -> None:
    """End a stream, at once: what it was given is carried out all the same. The default streams stay."""
    stream = process.streams.find(value)
    process.driver.judge(streams.stream_valid, value, stream is not None)
    assert stream is not None
    stream.context.check()
    if stream.capture is not None:
        captures.left(process, stream)
    process.streams.destroy(stream)


# ---- questions


@entry("cuStreamQuery")
def stream_query(process: Process, thread: int, call: str, value: int) -> None:
    """Tell whether all work is done."""
    if joined(resting(process, thread, value, call, "a query of its stream")) is not None:
        raise NotReady


@entry("cuStreamSynchronize")
def stream_synchronize(process: Process, thread: int, call: str, value: int) -> None:
    """Wait until all work of now is done."""
    await_stream(process, thread, resting(process, thread, value, call, "a wait for its stream"))


def resting(process: Process, thread: int, value: int, call: str, what: str) -> Stream:
    """Answer a stream that does not capture, in a thread that may ask (900)."""
    stream = stream_of(process, thread, value, call)
    if process.captures.active:
        captures.forbid_work(process, stream, what)
        captures.forbid_unsafe(process, thread)
    return stream


@entry("cuStreamGetPriority")
def stream_get_priority(process: Process, thread: int, value: int) -> int:
    """Answer the priority."""
    return stream_of(process, thread, value).priority


@entry("cuStreamGetFlags")
def stream_get_flags(process: Process, thread: int, value: int) -> int:
    """Answer the flags."""
    stream = stream_of(process, thread, value)
    captures.forbid_work(process, stream, "a question for the stream's flags")
    return stream.flags


@entry("cuStreamGetDevice")
def stream_get_device(process: Process, thread: int, value: int) -> int:
    """Answer the device."""
    return stream_of(process, thread, value).context.ordinal


@entry("cuStreamGetId")
def stream_get_id(process: Process, thread: int, call: str, value: int) -> int:
    """Answer a number that no other stream of this process ever has."""
    stream = stream_of(process, thread, value, call)
    captures.forbid_work(process, stream, "a question for the stream's number")
    return stream.serial


@entry("cuStreamGetCtx")
def stream_get_ctx(process: Process, thread: int, value: int) -> int:
    """Answer the context."""
    return stream_of(process, thread, value).context.value


@entry("cuStreamGetCtx_v2")
def stream_get_ctx_v2(process: Process, thread: int, value: int) -> tuple[int, int]:
    """Answer the context, and no green context."""
    return stream_of(process, thread, value).context.value, 0


# ---- host functions


@entry("cuLaunchHostFunc")
def launch_host_func(process: Process, thread: int, call: str, value: int, function: int, data: int) -> None:
    """Call a C function in stream order."""
    stream = found_function(process, thread, call, value, function, "fn")
    if not captures.add(process, stream, HostWork(function, data)):
        queue(process, stream).host(function, data)


@entry("cuLaunchHostFunc_v2")
def launch_host_func_v2(
    process: Process, thread: int, call: str, value: int, function: int, data: int, mode: int
) -> None:
    """Call a C function in stream order; how the device waits for it (``mode``) makes no difference here."""
    if mode not in (0, 1):
        raise Refused(Status.INVALID_VALUE, None, f"sync_mode {mode} is none of CUhostTaskSyncMode (0, 1)")
    launch_host_func(process, thread, call, value, function, data)


@entry("cuStreamAddCallback")
def stream_add_callback(
    process: Process, thread: int, call: str, value: int, function: int, data: int, flags: int
) -> None:
    """Call a C function in stream order, with the stream's handle and its status."""
    if flags:
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x} must be 0")
    stream = found_function(process, thread, call, value, function, "callback")
    captures.forbid_work(process, stream, "a callback")
    queue(process, stream).callback(function, data, value)


def found_function(process: Process, thread: int, call: str, value: int, function: int, name: str) -> Stream:
    """Answer the stream, and refuse a null function (1); a real driver crashes on it (recorded)."""
    stream = stream_of(process, thread, value, call)
    process.driver.judge(general.pointer_given, name, function)
    return stream
