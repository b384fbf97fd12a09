"""Streams and events."""

from __future__ import annotations

import ctypes
import threading

from cuda.bindings import driver as cu
from recorder import Recorder, group

HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
LIMIT = 5.0  # seconds a host function waits at most


class Gate:
    """A host function that holds its stream until the gate opens."""

    def __init__(self) -> None:
        self.opened, self.entered = threading.Event(), threading.Event()
        self._call = HOST(self._wait)
        self.function = cu.CUhostFn(ctypes.cast(self._call, ctypes.c_void_p).value)

    def _wait(self, data: int) -> None:
        self.entered.set()
        self.opened.wait(LIMIT)


@group()
def streams(step: Recorder) -> None:
    """Creation, questions, the special streams."""
    for flags in (0, 1, 2, 3, 1 << 20):
        made = step(f"create.{flags}", "cuStreamCreate", flags, hide=True)
        if made is not None:
            step(f"create.{flags}.flags", "cuStreamGetFlags", made)
            step(f"create.{flags}.priority", "cuStreamGetPriority", made)
    for priority in (0, -1, -3, -5, -6, -100, 1, 100):
        made = step(f"priority.{priority}", "cuStreamCreateWithPriority", 1, priority, hide=True)
        if made is not None:
            step(f"priority.{priority}.really", "cuStreamGetPriority", made)
    step("priority.flags2", "cuStreamCreateWithPriority", 2, 0)
    made = step.quiet("cuStreamCreate", 1)
    for name, stream in (("made", made), ("null", 0), ("legacy", 1), ("per_thread", 2)):
        step(f"{name}.query", "cuStreamQuery", stream)
        step(f"{name}.synchronize", "cuStreamSynchronize", stream)
        step(f"{name}.flags", "cuStreamGetFlags", stream)
        step(f"{name}.priority", "cuStreamGetPriority", stream)
        step(f"{name}.id", "cuStreamGetId", stream)
        step(f"{name}.device", "cuStreamGetDevice", stream)
        context = step(f"{name}.ctx", "cuStreamGetCtx", stream, hide=True)
        step.note(f"{name}.ctx.current", int(context or 0) == int(step.context))
        step(f"{name}.ctx_v2", "cuStreamGetCtx_v2", stream, hide=True)
        step(f"{name}.capturing", "cuStreamIsCapturing", stream)
        step(f"{name}.capture_info", "cuStreamGetCaptureInfo", stream)
    again = step.quiet("cuStreamCreate", 0)
    step("ids.made", "cuStreamGetId", again)
    for name, stream in (("null", 0), ("legacy", 1), ("per_thread", 2), ("made", made)):
        step(f"destroy.{name}", "cuStreamDestroy", stream)
    step("copy_attributes", "cuStreamCopyAttributes", again, 0)
    step("attach", "cuStreamAttachMemAsync", again, 0, 0, 4)
    address = step.quiet("cuMemAlloc", 4096)
    for name, stream in (("null", 0), ("legacy", 1), ("per_thread", 2), ("made", again)):
        step(f"memset.{name}", "cuMemsetD8Async", address, 1, 16, stream)
    step("capture.begin", "cuStreamBeginCapture", again, cu.CUstreamCaptureMode(0))
    step("capture.capturing", "cuStreamIsCapturing", again)
    step("capture.query", "cuStreamQuery", again)
    step("capture.capturing.after", "cuStreamIsCapturing", again)
    step("capture.end", "cuStreamEndCapture", again, hide=True)
    step("capture.null", "cuStreamBeginCapture", 0, cu.CUstreamCaptureMode(0))


@group()
def order(step: Recorder) -> None:
    """Work that is held back: what queries, waits and destruction say meanwhile."""
    seen: list[str] = []
    gate, made, other = Gate(), step.quiet("cuStreamCreate", 1), step.quiet("cuStreamCreate", 1)
    tell = HOST(lambda data: seen.append(f"host {data}"))
    function = cu.CUhostFn(ctypes.cast(tell, ctypes.c_void_p).value)
    before, after, untimed, unrecorded = (step.quiet("cuEventCreate", flags) for flags in (0, 0, 2, 0))
    address = step.quiet("cuMemAlloc", 4096)
    step("record.before", "cuEventRecord", before, made)
    step("hold", "cuLaunchHostFunc", made, gate.function, 0)
    step("tell.1", "cuLaunchHostFunc", made, function, 1)
    step("memset", "cuMemsetD8Async", address, 0x42, 16, made)
    step("tell.2", "cuLaunchHostFunc", made, function, 2)
    step("record.after", "cuEventRecord", after, made)
    step("record.untimed", "cuEventRecord", untimed, made)
    gate.entered.wait(LIMIT)
    step("query.held", "cuStreamQuery", made)
    step("event.held", "cuEventQuery", after)
    step("event.before", "cuEventQuery", before)
    step("event.unrecorded", "cuEventQuery", unrecorded)
    step("event.unrecorded.synchronize", "cuEventSynchronize", unrecorded)
    step("elapsed.held", "cuEventElapsedTime", before, after)
    step("elapsed.unrecorded", "cuEventElapsedTime", before, unrecorded)
    step("elapsed.untimed", "cuEventElapsedTime", before, untimed)
    step("elapsed.itself", "cuEventElapsedTime", before, before)
    step("wait.other", "cuStreamWaitEvent", other, after, 0)
    step("wait.unrecorded", "cuStreamWaitEvent", other, unrecorded, 0)
    step("wait.flags1", "cuStreamWaitEvent", other, after, 1)
    step("wait.flags2", "cuStreamWaitEvent", other, after, 2)
    step("wait.null_event", "cuStreamWaitEvent", other, 0, 0)
    step("tell.3", "cuLaunchHostFunc", other, function, 3)
    step("other.held", "cuStreamQuery", other)
    gate.opened.set()
    step("made.done", "cuStreamSynchronize", made)
    step("other.done", "cuStreamSynchronize", other)
    step.note("seen", *seen)
    step("query.done", "cuStreamQuery", made)
    step("event.done", "cuEventQuery", after)
    step("elapsed.done", "cuEventElapsedTime", before, after, hide=True)
    step("elapsed.backwards", "cuEventElapsedTime", after, before, hide=True)
    step("elapsed.untimed.done", "cuEventElapsedTime", before, untimed)
    second = Gate()
    step("hold.again", "cuLaunchHostFunc", made, second.function, 0)
    second.entered.wait(LIMIT)
    step("record.again", "cuEventRecord", after, made)
    step("destroy.event_pending", "cuEventDestroy", after)
    step("destroy.stream_pending", "cuStreamDestroy", made)
    threading.Timer(0.5, second.opened.set).start()
    step.synchronize("synchronize")
    step.note("kept", tell is not None)


@group()
def default_streams(step: Recorder) -> None:
    """How the null stream waits for others: a blocking stream held, a non-blocking one held."""
    address = step.quiet("cuMemAlloc", 4096)
    for name, flags in (("blocking", 0), ("non_blocking", 1)):
        gate, made = Gate(), step.quiet("cuStreamCreate", flags)
        step(f"{name}.hold", "cuLaunchHostFunc", made, gate.function, 0)
        gate.entered.wait(LIMIT)
        step(f"{name}.null.idle", "cuStreamQuery", 0)
        step(f"{name}.memset.null", "cuMemsetD8Async", address, 1, 16, 0)
        threading.Event().wait(0.05)
        step(f"{name}.null", "cuStreamQuery", 0)
        step(f"{name}.memset.per_thread", "cuMemsetD8Async", address, 1, 16, 2)
        threading.Event().wait(0.05)
        step(f"{name}.per_thread", "cuStreamQuery", 2)
        gate.opened.set()
        step.synchronize(f"{name}.synchronize")


@group()
def events(step: Recorder) -> None:
    """Creation flags, recording flags, null events."""
    for flags in (0, 1, 2, 3, 4, 5, 6, 7, 8, 1 << 20):
        made = step(f"create.{flags}", "cuEventCreate", flags, hide=True)
        if made is not None:
            step(f"record.{flags}", "cuEventRecord", made, 0)
            step(f"synchronize.{flags}", "cuEventSynchronize", made)
            step(f"destroy.{flags}", "cuEventDestroy", made)
    made = step.quiet("cuEventCreate", 0)
    for flags in (0, 1, 2):
        step(f"record_with.{flags}", "cuEventRecordWithFlags", made, 0, flags)
    for stream in (1, 2):
        step(f"record.stream{stream}", "cuEventRecord", made, stream)
    for function in ("cuEventQuery", "cuEventSynchronize", "cuEventDestroy"):
        step(f"null.{function}", function, 0)
    step("null.record", "cuEventRecord", 0, 0)
    step("null.elapsed", "cuEventElapsedTime", 0, made)
    step("ctx_record", "cuCtxRecordEvent", step.context, made)
    step("ctx_wait", "cuCtxWaitEvent", step.context, made)


@group()
def event_destroyed(step: Recorder) -> None:
    """A destroyed event used again; on its own, since it may end the process."""
    made = step.quiet("cuEventCreate", 0)
    step("destroy", "cuEventDestroy", made)
    step("query", "cuEventQuery", made)
    step("record", "cuEventRecord", made, 0)
    step("destroy.twice", "cuEventDestroy", made)


@group()
def stream_destroyed(step: Recorder) -> None:
    """A destroyed stream used again; on its own, since it may end the process."""
    made = step.quiet("cuStreamCreate", 0)
    address = step.quiet("cuMemAlloc", 4096)
    step("destroy", "cuStreamDestroy", made)
    step("memset", "cuMemsetD8Async", address, 1, 16, made)


@group()
def stream_destroyed_query(step: Recorder) -> None:
    """A destroyed stream queried; on its own, since it may end the process."""
    made = step.quiet("cuStreamCreate", 0)
    step("destroy", "cuStreamDestroy", made)
    step("query", "cuStreamQuery", made)


@group()
def stream_destroyed_twice(step: Recorder) -> None:
    """A stream destroyed twice; on its own, since it may end the process."""
    made = step.quiet("cuStreamCreate", 0)
    step("destroy", "cuStreamDestroy", made)
    step("destroy.twice", "cuStreamDestroy", made)


@group()
def host_function_null(step: Recorder) -> None:
    """A null host function; on its own, since it may end the process."""
    step("launch", "cuLaunchHostFunc", 0, 0, 0)
    step.synchronize("synchronize")
