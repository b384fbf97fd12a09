"""Streams and events.

Today all work runs at once, in the order in which it is handed over, before the call that hands it over returns:
a legal outcome of the stream rules. `enqueue` is the one place that decides this, so that a queue that runs work
later can take its place. An event is therefore complete as soon as it is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from cumulticast.sim.contexts import Context

FIRST_STREAM = 0x7374_0000_0000
FIRST_EVENT = 0x6576_0000_0000
STEP = 0x100
NULL, LEGACY, PER_THREAD = 0, 1, 2  # what a caller may pass instead of a stream of its own
GREATEST_PRIORITY, LEAST_PRIORITY = -5, 0  # recorded: cuCtxGetStreamPriorityRange
DISABLE_TIMING = 2


@dataclass(slots=True, eq=False)
class Stream:
    """A CUstream, or one of a context's default streams."""

    value: int
    serial: int
    context: Context
    flags: int = 0
    priority: int = 0


@dataclass(slots=True, eq=False)
class Event:
    """A CUevent; ``recorded`` is when (time.perf_counter_ns), or None."""

    value: int
    context: Context
    flags: int
    recorded: int | None = None

    @property
    def timed(self) -> bool:
        """Whether it measures time."""
        return not self.flags & DISABLE_TIMING

    def record(self) -> None:
        """Take the time: all work of the stream is done, since work runs at once."""
        self.recorded = time.perf_counter_ns()


def enqueue(stream: Stream, work: Callable[[], None]) -> None:
    """Run ``work`` in the order of a stream: now."""
    work()


class Streams:
    """All streams and events of a process."""

    def __init__(self) -> None:
        self._streams: dict[int, Stream] = {}
        self._defaults: dict[tuple[int, int], Stream] = {}
        self._events: dict[int, Event] = {}
        self._made = 0
        self._events_made = 0

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

    def destroy(self, stream: Stream) -> None:
        """End a stream; its work is done."""
        del self._streams[stream.value]

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

    def end_context(self, context: Context) -> None:
        """Destroy what belongs to a context."""
        self._streams = {value: s for value, s in self._streams.items() if s.context is not context}
        self._defaults = {key: s for key, s in self._defaults.items() if s.context is not context}
        self._events = {value: e for value, e in self._events.items() if e.context is not context}
