"""Events: recorded, waited for, measured between."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, streams
from cumulticast.sim import captures
from cumulticast.sim.calls.context import context_of
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import NotReady, entry
from cumulticast.sim.process import Process
from cumulticast.sim.streams import (
    DISABLE_TIMING,
    Event,
    Stream,
    await_op,
    context_joined,
    queues,
    record,
    wait_for_event,
)

BLOCKING_SYNC, INTERPROCESS = 1, 4
KNOWN_FLAGS = BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS
EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL


def event_of(process: Process, value: int) -> Event:
    """Answer the event behind a handle, or refuse: 400, and 709 for a destroyed one."""
    event = process.streams.find_event(value)
    process.driver.judge(streams.event_alive, value, process.streams.was_event(value))
    process.driver.judge(streams.event_valid, value, event is not None)
    assert event is not None
    event.context.check()
    return event


def check_external(flags: int, stream: Stream) -> None:
    """Refuse flags of record and wait: 401 for the one that needs a capture (recorded), 1 for any other."""
    if flags == EXTERNAL and stream.capture is not None:
        return
    if flags == EXTERNAL:
        raise Refused(Status.ILLEGAL_STATE, None, "flags 0x1 (EXTERNAL) is for streams that capture")
    if flags:
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x} must be 0, or 1 (EXTERNAL) during a capture")


@entry("cuEventCreate")
def event_create(process: Process, context: Context, flags: int) -> int:
    """Make an event of the current context."""
    process.driver.judge(streams.creation_flags, flags, KNOWN_FLAGS)
    if flags & INTERPROCESS and not flags & DISABLE_TIMING:
        raise Refused(Status.INVALID_VALUE, None, f"flags {flags:#x}: INTERPROCESS needs DISABLE_TIMING (0x2)")
    return process.streams.create_event(context, flags).value


@entry("cuEventDestroy", "cuEventDestroy_v2")
def event_destroy(process: Process, value: int) -> None:
    """End an event."""
    process.streams.destroy_event(event_of(process, value))


@entry("cuEventRecord")
def event_record(process: Process, thread: int, call: str, event: int, stream: int) -> None:
    """Record what a stream has been given so far."""
    event_record_with_flags(process, thread, call, event, stream, 0)


@entry("cuEventRecordWithFlags")
def event_record_with_flags(process: Process, thread: int, call: str, event: int, stream: int, flags: int) -> None:
    """Record what a stream has been given so far."""
    found, where = event_of(process, event), stream_of(process, thread, stream, call)
    check_external(flags, where)
    require_same(found, where.context)
    if not captures.recorded(process, where, found, external=flags == EXTERNAL):
        record(process, where, found)


def require_same(event: Event, context: Context) -> None:
    """Refuse (400) an event that belongs to another context than the work it is to record."""
    if event.context is not context:
        raise Refused(Status.INVALID_HANDLE, None, f"event {event.value:#x} belongs to another context than the work")


@entry("cuEventQuery")
def event_query(process: Process, thread: int, value: int) -> None:
    """Tell whether the recorded work is done."""
    event = event_of(process, value)
    captures.forbid_event(process, thread, event)
    if event.pending is not None:
        raise NotReady


@entry("cuEventSynchronize")
def event_synchronize(process: Process, thread: int, value: int) -> None:
    """Wait until the work that is recorded now is done."""
    event = event_of(process, value)
    captures.forbid_event(process, thread, event)
    await_op(process, thread, value, lambda: event.pending)
    event.context.check()


@entry("cuEventElapsedTime", "cuEventElapsedTime_v2")
def event_elapsed_time(process: Process, start: int, end: int) -> float:
    """Answer the milliseconds from one event to another."""
    first, last = event_of(process, start), event_of(process, end)
    times: list[int] = []
    for event in (first, last):
        captures.require_uncaptured(process, event)
        known = event.pending is not None or event.recorded is not None
        process.driver.judge(streams.event_timed, event.value, known, event.timed)
    for event in (first, last):
        if event.recorded is None:
            raise NotReady
        times.append(event.recorded)
    return (times[1] - times[0]) / 1e6


@entry("cuStreamWaitEvent")
def stream_wait_event(process: Process, thread: int, call: str, stream: int, event: int, flags: int) -> None:
    """Let a stream wait for what an event, of any context, was recorded as last."""
    where, found = stream_of(process, thread, stream, call), event_of(process, event)
    check_external(flags, where)
    if not captures.waited(process, where, found, external=flags == EXTERNAL):
        wait_for_event(process, where, found)


@entry("cuCtxRecordEvent")
def ctx_record_event(process: Process, ctx: int, event: int) -> None:
    """Record all work of a context in an event."""
    context, found = context_of(process, ctx), event_of(process, event)
    require_same(found, context)
    context.check()
    captures.forbid_context(process, context)
    found.mark = None
    op = context_joined(context)
    if op is None:
        found.record()
    else:
        found.record_as(op)


@entry("cuCtxWaitEvent")
def ctx_wait_event(process: Process, ctx: int, event: int) -> None:
    """Let all future work of a context wait for an event."""
    context, found = context_of(process, ctx), event_of(process, event)
    context.check()
    captures.forbid_context(process, context)
    captures.require_uncaptured(process, found)
    op = found.pending
    if op is not None:
        queues(process, context).after(op)
