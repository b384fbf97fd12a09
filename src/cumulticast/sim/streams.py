"""Streams and events.

What can be done at once is: work for a stream that waits for nothing is carried out before the call that hands it over
returns, which is a legal outcome of the stream rules. Kernels, host functions, waits for values, and whatever is
handed over behind something that is not done, go to the engine (`engine`). `enqueue` is the one place that decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cumulticast.sim.contexts import Context
from cumulticast.sim.engine import Engine, OnFault, Op, Queue, Queues
from cumulticast.sim.entry import Wait

if TYPE_CHECKING:
    from cumulticast.sim.captures import Capture, Mark
    from cumulticast.sim.process import Process

FIRST_STREAM = 0x7374_0000_0000
FIRST_EVENT = 0x6576_0000_0000
STEP = 0x100
NULL, LEGACY, PER_THREAD = 0, 1, 2  # what a caller may pass instead of a stream of its own
GREATEST_PRIORITY, LEAST_PRIORITY = -5, 0  # recorded: cuCtxGetStreamPriorityRange
DISABLE_TIMING = 2
NON_BLOCKING = 1
GRACE = 2.0  # seconds that work has to be done in when its context is destroyed
LOOK = 10.0  # seconds between two looks of a waiting call at what it waits for


@dataclass(slots=True, eq=False)
class Stream:
    """A CUstream, or one of a context's default streams."""

    value: int
    serial: int
    context: Context
    flags: int = 0
    priority: int = 0
    queue: Queue | None = None
    capture: Capture | None = field(default=None, repr=False)

    @property
    def legacy(self) -> bool:
        """Whether it is a context's legacy default stream."""
        return self.value == LEGACY

    @property
    def blocking(self) -> bool:
        """Whether the legacy stream and it wait for each other."""
        return self.kind == 1

    @property
    def kind(self) -> int:
        """How it stands to the legacy default stream (ptx/native/engine.h)."""
        if self.value == LEGACY:
            return 0
        return 2 if self.flags & NON_BLOCKING else 1

    @property
    def idle(self) -> bool:
        """Whether work handed over now would wait for nothing."""
        queues = self.context.queues
        return queues is None or not queues.busy or queue_of(self, queues).idle


@dataclass(slots=True, eq=False)
class Event:
    """A CUevent.

    Attributes
    ----------
    recorded
        When (time.perf_counter_ns), if that is known already; None: never, or not done yet.
    op
        What it was recorded as, if that had to wait.
    mark
        What it was recorded as in a capture, if that was its last recording.
    """

    value: int
    context: Context
    flags: int
    recorded: int | None = None
    op: Op | None = None
    mark: Mark | None = field(default=None, repr=False)

    @property
    def timed(self) -> bool:
        """Whether it measures time."""
        return not self.flags & DISABLE_TIMING

    @property
    def pending(self) -> Op | None:
        """What it waits for; None: it is complete, or was never recorded."""
        if self.op is not None and self.op.done:
            self.recorded, self.op = self.op.time, None
        return self.op

    def record(self) -> None:
        """Take the time: all work is done."""
        self.recorded, self.op = time.perf_counter_ns(), None

    def record_as(self, op: Op) -> None:
        """Be complete when an op is done."""
        self.recorded, self.op = None, op


# ---- handing work over


def queue_of(stream: Stream, queues: Queues) -> Queue:
    """Answer the engine's stream."""
    if stream.queue is None:
        stream.queue = Queue(queues, stream.kind)
    return stream.queue


def queue(process: Process, stream: Stream) -> Queue:
    """Answer the engine's stream, and begin with what there is none of yet."""
    return queue_of(stream, queues(process, stream.context))


def queues(process: Process, context: Context) -> Queues:
    """Answer the engine's context, and begin with what there is none of yet."""
    if context.queues is None:
        streams = process.streams
        streams.engine = streams.engine or Engine(process.driver)
        context.queues = Queues(streams.engine)
    return context.queues


def enqueue(process: Process, stream: Stream, work: Callable[[], None]) -> None:
    """Run ``work`` in the order of a stream: now, if it would wait for nothing.

    Later it is run by another thread, so it takes the driver's lock itself; what it raises then fails the context.
    """
    if stream.idle:
        work()
    else:
        queue(process, stream).call(work)


def enqueue_launch(process: Process, stream: Stream, launch: Any, keepalive: object, on_fault: OnFault) -> None:
    """Launch a kernel in the order of a stream.

    Parameters
    ----------
    launch
        ``struct ptx_launch *``. It and its parameters are copied; what else it points to must stay until the kernel is
        over.
    keepalive
        What that belongs to: it is held until then.
    on_fault
        Told of the kernel's fault, once, under the driver's lock, when a call of the context first meets it. Answers
        the reason in words, with the kernel's name and line.

    Raises
    ------
    Refused
        2: the host has no memory. Or the status of the fault with which the context has failed.
    """
    found = queues(process, stream.context)
    found.check()
    queue_of(stream, found).launch(launch, keepalive, on_fault)


def record(process: Process, stream: Stream, event: Event) -> None:
    """Record in an event what a stream has been given so far."""
    if stream.idle:
        event.record()
    else:
        event.record_as(queue(process, stream).record())


def wait_for_event(process: Process, stream: Stream, event: Event) -> None:
    """Let a stream wait for what an event was recorded as last.

    In the legacy default stream that is work like any other, which joins with the blocking streams (documented).
    """
    op = event.pending
    if op is not None:
        queue(process, stream).after(op)
    elif stream.value == LEGACY and not stream.idle:
        queue(process, stream).record()


# ---- waiting


def joined(stream: Stream) -> Op | None:
    """Answer what is done when all work of a stream is; None: it is."""
    queues = stream.context.queues
    if queues is None or not queues.busy:
        return None
    return queue_of(stream, queues).join()


def context_joined(context: Context) -> Op | None:
    """Answer what is done when all work of a context is; None: it is."""
    queues = context.queues
    return queues.join() if queues is not None and queues.busy else None


@dataclass(frozen=True, slots=True)
class Held:
    """What a call waits for, and since when (time.monotonic)."""

    op: Op
    since: float


def await_op(
    process: Process, thread: int, what: object, begin: Callable[[], Op | None], limit: float | None = None
) -> None:
    """Wait until an op is done, or for ``limit`` seconds.

    The handler is asked again each time its thread wakes: ``begin`` answers the op the first time, and later the same
    one is waited for, whatever came after it. ``what`` tells apart the waits of calls inside of each other.

    Raises
    ------
    Wait
        It is not done.
    """
    key, held = (process.driver.call, what), process.driver.waiting.held.setdefault(thread, {})
    if key not in held:
        op = begin()
        if op is None:
            return
        held[key] = Held(op, time.monotonic())
    op, left = held[key].op, LOOK if limit is None else held[key].since + limit - time.monotonic()
    if op.done or left <= 0:
        del held[key]
        return
    assert process.streams.engine is not None
    raise Wait(process.streams.engine.watch(op), 0, min(left, LOOK))


def await_stream(process: Process, thread: int, stream: Stream) -> None:
    """Wait until all that a stream has been given is done, and refuse if its context has failed by then."""
    if stream.context.queues is not None:
        if stream.context.queues.busy:
            await_op(process, thread, stream.value, lambda: joined(stream))
        stream.context.queues.check()


def await_end(process: Process, thread: int, context: Context) -> None:
    """Let the work of a context that is to end go on for a while; what is still pending then is dropped."""
    if context.queues is not None:
        await_op(process, thread, context.value, lambda: context_joined(context), GRACE)


def await_context(process: Process, thread: int, context: Context) -> None:
    """Likewise for all work of a context."""
    if context.queues is not None:
        if context.queues.busy:
            await_op(process, thread, context.value, lambda: context_joined(context))
        context.queues.check()


class Streams:
    """All streams and events of a process."""

    def __init__(self) -> None:
        self._streams: dict[int, Stream] = {}
        self._defaults: dict[tuple[int, int], Stream] = {}
        self._events: dict[int, Event] = {}
        self._inner: dict[tuple[int, int, int], Stream] = {}
        self._made = 0
        self._events_made = 0
        self.engine: Engine | None = None

    def held(self) -> list[Stream | Event]:
        """Answer the streams and events that live: what a caller has yet to destroy."""
        return [*self._streams.values(), *self._events.values()]

    def create(self, context: Context, flags: int, priority: int) -> Stream:
        """Make a stream; priorities out of range become the nearest one in it."""
        serial = self._next()
        priority = max(GREATEST_PRIORITY, min(LEAST_PRIORITY, priority))
        stream = Stream(FIRST_STREAM + STEP * serial, serial, context, flags, priority)
        self._streams[stream.value] = stream
        return stream

    def _next(self) -> int:
        self._made += 1
        return self._made

    def find(self, value: int) -> Stream | None:
        """Answer a stream that was created and lives."""
        return self._streams.get(value)

    def default(self, context: Context, value: int, thread: int) -> Stream:
        """Answer a default stream of a context: the legacy one, or the calling thread's own."""
        key = (context.value, thread if value == PER_THREAD else 0)
        if key not in self._defaults:
            self._defaults[key] = Stream(value or LEGACY, self._next(), context)
        return self._defaults[key]

    def inner(self, context: Context, key: tuple[int, int]) -> Stream:
        """Answer a stream of the driver's own, known by two numbers in its context."""
        whole = (context.value, *key)
        if whole not in self._inner:
            self._inner[whole] = Stream(0, self._next(), context, NON_BLOCKING)
        return self._inner[whole]

    def end_inner(self, first: int) -> None:
        """End the streams of the driver's own whose first number this is; their work is carried out."""
        for key in [key for key in self._inner if key[1] == first]:
            stream = self._inner.pop(key)
            if stream.queue is not None:
                stream.queue.end()

    def destroy(self, stream: Stream) -> None:
        """End a stream; the work that it was given is carried out."""
        del self._streams[stream.value]
        if stream.queue is not None:
            stream.queue.end()

    def create_event(self, context: Context, flags: int) -> Event:
        """Make an event that has not been recorded."""
        self._events_made += 1
        event = Event(FIRST_EVENT + STEP * self._events_made, context, flags)
        self._events[event.value] = event
        return event

    def find_event(self, value: int) -> Event | None:
        """Answer an event that lives."""
        return self._events.get(value)

    def was_event(self, value: int) -> bool:
        """Tell an event that was destroyed from a number that never was one."""
        made = FIRST_EVENT < value <= FIRST_EVENT + STEP * self._events_made and not value % STEP
        return made and value not in self._events

    def destroy_event(self, event: Event) -> None:
        """End an event."""
        del self._events[event.value]

    def close(self) -> int:
        """Carry nothing more out; answer how many kernels still run although they were asked to stop."""
        return self.engine.end() if self.engine is not None else 0

    def end_context(self, context: Context) -> None:
        """Destroy what belongs to a context; nothing more of its work is carried out."""
        if context.queues is not None:
            context.queues.end()
            context.queues = None
        self._streams = {value: s for value, s in self._streams.items() if s.context is not context}
        self._defaults = {key: s for key, s in self._defaults.items() if s.context is not context}
        self._inner = {key: s for key, s in self._inner.items() if s.context is not context}
        self._events = {value: e for value, e in self._events.items() if e.context is not context}
