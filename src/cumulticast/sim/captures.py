"""Stream capture: work that is noted down in a graph instead of being carried out.

A capture begins in one stream, its origin, and spreads to others where they wait for an event that was recorded in it.
What each stream would wait for next are its tips. Streams and events know their capture; so the calls that hand work
over ask here first. What breaks the rules of capture ends its use: all its streams refuse work (901) until it is ended.
The statuses are those of a recorded driver (h200-580.159-graphs.json).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ParamSpec

from cumulticast.rules import Rule, captures
from cumulticast.sim.graph_work import CopyWork, FillWork, RecordWork, WaitWork, Work
from cumulticast.sim.graphs import NO_DATA, Graph, Node, ancestors
from cumulticast.sim.planes import DEVICE, HOST, UNIFIED, Volume

if TYPE_CHECKING:
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.copies import Side
    from cumulticast.sim.fills import Fill
    from cumulticast.sim.process import Process
    from cumulticast.sim.streams import Event, Stream

P = ParamSpec("P")
GLOBAL, THREAD_LOCAL, RELAXED = range(3)  # CUstreamCaptureMode
NONE, ACTIVE, INVALIDATED = range(3)  # CUstreamCaptureStatus
Tips = dict[Node, bytes]


@dataclass(slots=True, eq=False)
class Capture:
    """One capture, from begin to end.

    Attributes
    ----------
    number
        Never used again in the process.
    thread
        The thread that began it.
    owns
        Whether it made the graph.
    tips
        Its streams, each with what its next work will depend on, and the data of those edges.
    shown
        Memory that a caller was given the address of: handles and edges of tips.
    """

    number: int
    graph: Graph
    mode: int
    thread: int
    origin: Stream
    owns: bool
    valid: bool = True
    tips: dict[Stream, Tips] = field(default_factory=dict["Stream", Tips], repr=False)
    shown: tuple[bytearray, ...] = ()

    @property
    def status(self) -> int:
        """CUstreamCaptureStatus."""
        return ACTIVE if self.valid else INVALIDATED


@dataclass(frozen=True, slots=True)
class Mark:
    """What an event was recorded as in a capture."""

    capture: Capture
    tips: Tips


class Captures:
    """All captures of a process, and every thread's mode."""

    def __init__(self) -> None:
        self.active: list[Capture] = []
        self.modes: dict[int, int] = {}
        self._made = 0

    def begin(self, graph: Graph, mode: int, thread: int, origin: Stream, tips: Tips, *, owns: bool) -> Capture:
        """Begin a capture in a stream."""
        self._made += 1
        capture = Capture(self._made, graph, mode, thread, origin, owns, tips={origin: tips})
        origin.capture, graph.capturing = capture, True
        self.active.append(capture)
        return capture

    def end(self, capture: Capture) -> None:
        """Let the streams go."""
        self.active.remove(capture)
        capture.valid, capture.graph.capturing = False, False
        for stream in capture.tips:
            stream.capture = None


# ---- work handed over


def add(process: Process, stream: Stream, work: Work) -> bool:
    """Note work down where a stream captures; False: it does not.

    Raises
    ------
    Refused
        901: the capture was invalidated.
    """
    capture = stream.capture
    if capture is None:
        return False
    require_valid(process, capture)
    node = process.graphs.add(capture.graph, work, capture.tips[stream].items())
    capture.tips[stream] = {node: NO_DATA}
    return True


def copied(process: Process, stream: Stream, volume: Volume) -> bool:
    """Note a copy down where a stream captures; False: it does not."""
    if stream.capture is None:
        return False
    with process.driver.lock:
        work = CopyWork(volume, stream.context)
        work.check(process)
        return add(process, stream, work)


def copied_line(process: Process, stream: Stream, dst: Side, src: Side) -> bool:
    """Note a copy in one dimension down where a stream captures; False: it does not.

    A copy whose addresses tell is UNIFIED; one that names its sides is HOST and DEVICE (both recorded).
    """
    if stream.capture is None:
        return False
    kinds = [DEVICE if side.kind == "device" else HOST for side in (dst, src)]
    if kinds == [HOST, HOST]:
        kinds = [UNIFIED, UNIFIED]
    return copied(process, stream, Volume.line(dst, src, (kinds[0], kinds[1])))


def filled(process: Process, stream: Stream, fill: Fill) -> bool:
    """Note a memset down where a stream captures; False: it does not."""
    if stream.capture is None:
        return False
    with process.driver.lock:
        return add(process, stream, FillWork(fill, stream.context))


def recorded(process: Process, stream: Stream, event: Event, *, external: bool) -> bool:
    """Mark an event with what a capturing stream has come to, or add a node; False: the stream does not capture."""
    capture = stream.capture
    if capture is None:
        event.mark = None
        return False
    if external:
        return add(process, stream, RecordWork(event))
    require_valid(process, capture)
    event.mark = Mark(capture, dict(capture.tips[stream]))
    return True


def waited(process: Process, stream: Stream, event: Event, *, external: bool) -> bool:
    """Let a capture have a stream wait for an event; False: no capture has to do with it.

    Raises
    ------
    Refused
        1: the event's capture has ended. 901: the stream's was invalidated. 902, 905, 906: the wait would join what
        must be kept apart.
    """
    if external and stream.capture is not None:
        return add(process, stream, WaitWork(event))
    if stream.capture is not None:
        require_valid(process, stream.capture)
    if event.mark is not None:
        process.driver.judge(captures.event_current, event.value, event.mark.capture.valid)
        join(process, stream, event.mark)
        return True
    if stream.capture is None:
        return False
    if event.pending is not None or event.recorded is not None:
        refuse(process, [stream.capture], captures.capture_isolated, event.value, False)
    return True


def join(process: Process, stream: Stream, mark: Mark) -> None:
    """Let a stream of the same capture, or of none, wait for what an event was recorded as."""
    own = stream.capture
    if own is None:
        if stream.legacy:
            refuse(process, [mark.capture], captures.legacy_apart, True)
        stream.capture, mark.capture.tips[stream] = mark.capture, {}
    elif own is not mark.capture:
        refuse(process, [own, mark.capture], captures.captures_apart, own.number, mark.capture.number)
    mark.capture.tips[stream] |= mark.tips


# ---- what is refused


def refuse(process: Process, broken: Iterable[Capture], rule: Rule[P], *facts: P.args, **named: P.kwargs) -> None:
    """Invalidate captures, and refuse as a rule says that these facts break."""
    for capture in broken:
        capture.valid = False
    process.driver.judge(rule, *facts, **named)


def spoil(stream: Stream) -> None:
    """Invalidate the capture of a stream that a bad kernel was given to (recorded; copies and memsets do no harm)."""
    if stream.capture is not None:
        stream.capture.valid = False


def require_valid(process: Process, capture: Capture) -> None:
    """Refuse (901) a capture that was invalidated."""
    process.driver.judge(captures.capture_unbroken, capture.number, not capture.valid)


def forbid_work(process: Process, stream: Stream, what: str) -> None:
    """Refuse (900) what a capturing stream cannot do, and invalidate its capture."""
    if stream.capture is not None:
        refuse(process, [stream.capture], captures.work_capturable, what, True)


def forbid_unsafe(process: Process, thread: int) -> None:
    """Refuse (900) calls that a capture would not see, where modes forbid them; the captures are invalidated.

    Source: cuThreadExchangeStreamCaptureMode.
    """
    own = process.captures.modes.get(thread, GLOBAL)
    if own == RELAXED:
        return
    active = process.captures.active
    broken = [c for c in active if c.mode != RELAXED and c.thread == thread]
    where = "the calling" if broken else "another"
    if own == GLOBAL:
        broken += [c for c in active if c.mode == GLOBAL and c.thread != thread]
    if broken:
        refuse(process, broken, captures.call_safe, where, True)


def forbid_event(process: Process, thread: int, event: Event) -> None:
    """Refuse to look at an event that was recorded in a capture: 907, or 1 when that has ended; or else (900) any."""
    require_uncaptured(process, event)
    forbid_unsafe(process, thread)


def require_uncaptured(process: Process, event: Event) -> None:
    """Refuse an event that was recorded in a capture: 907, and 1 when that has ended or is invalid."""
    if event.mark is not None:
        process.driver.judge(captures.event_current, event.value, event.mark.capture.valid)
        refuse(process, [event.mark.capture], captures.event_uncaptured, event.value, True)


def forbid_legacy(process: Process, context: Context, *, invalidate: bool = True) -> None:
    """Refuse (906) the legacy stream while a blocking stream of its context captures."""
    broken = [c for c in process.captures.active if any(s.context is context and s.blocking for s in c.tips)]
    if broken:
        refuse(process, broken if invalidate else (), captures.legacy_apart, True)


def forbid_context(process: Process, context: Context) -> None:
    """Refuse (900) to wait for a context one of whose streams captures."""
    broken = [c for c in process.captures.active if any(s.context is context for s in c.tips)]
    if broken:
        refuse(process, broken, captures.work_capturable, "the context's streams capture: it", True)


# ---- the end


def unjoined(capture: Capture) -> int:
    """Count the streams whose work the origin does not wait for."""
    seen = ancestors(capture.tips[capture.origin])
    return sum(not seen.issuperset(tips) for stream, tips in capture.tips.items() if stream is not capture.origin)


def left(process: Process, stream: Stream) -> None:
    """Let a stream that is destroyed leave its capture. Without its origin that ends; others must have been joined."""
    capture, stream.capture = stream.capture, None
    if capture is not None and stream is capture.origin:
        drop(process, capture)


def drop(process: Process, capture: Capture) -> None:
    """End a capture that leads to nothing; the graph goes with it, if it was the capture's."""
    process.captures.end(capture)
    if capture.owns:
        process.graphs.destroy(capture.graph)
