"""Stream capture: begun, asked about, ended."""

from __future__ import annotations

from cumulticast.rules import captures as rules
from cumulticast.sim import captures, native, raw
from cumulticast.sim.calls.graph import edge_data, graph_of, nodes_in
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.captures import ACTIVE, GLOBAL, NONE, Capture, Tips
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.streams import Stream

SET_DEPENDENCIES = 1  # CUstreamUpdateCaptureDependencies_flags
NOTHING = (NONE, 0, 0, 0, 0, 0)


@entry("cuStreamBeginCapture")
def stream_begin_capture(process: Process, thread: int, call: str, value: int) -> None:
    """Begin a capture in the mode that forbids most."""
    stream_begin_capture_v2(process, thread, call, value, GLOBAL)


@entry("cuStreamBeginCapture_v2")
def stream_begin_capture_v2(process: Process, thread: int, call: str, value: int, mode: int) -> None:
    """Begin a capture; its graph is the capture's until the end."""
    stream = ready_stream(process, thread, call, value, mode)
    process.captures.begin(process.graphs.create(), mode, thread, stream, {}, owns=True)


@entry("cuStreamBeginCaptureToGraph")
def stream_begin_capture_to_graph(
    process: Process,
    thread: int,
    call: str,
    value: int,
    graph: int,
    dependencies: bytes | None,
    data: bytes | None,
    count: int,
    mode: int,
) -> None:
    """Begin a capture into a graph; the first work depends on nodes of it."""
    stream, found = ready_stream(process, thread, call, value, mode), graph_of(process, graph)
    tips = dict(zip(nodes_in(process, found, dependencies), edge_data(data, count), strict=True))
    process.captures.begin(found, mode, thread, stream, tips, owns=False)


def ready_stream(process: Process, thread: int, call: str, value: int, mode: int) -> Stream:
    """Answer a stream that can begin to capture, or refuse: 900 the legacy one, 401 one that captures already."""
    stream = stream_of(process, thread, value, call)
    process.driver.judge(rules.capture_mode, mode)
    process.driver.judge(rules.work_capturable, "the legacy default stream's work", stream.legacy)
    process.driver.judge(rules.capture_single, value, stream.capture is not None)
    return stream


@entry("cuStreamEndCapture")
def stream_end_capture(process: Process, thread: int, call: str, value: int) -> int:
    """End a capture and answer its graph. Whatever is refused here but 903 and 401 has ended it, too (recorded)."""
    stream = stream_of(process, thread, value, call)
    capture = captured(process, stream)
    if stream is not capture.origin:
        captures.refuse(process, [capture], rules.capture_matched, stream.value, capture.origin.value)
    lost = not capture.valid
    if not lost and (capture.mode == captures.RELAXED or capture.thread == thread) and not captures.unjoined(capture):
        process.captures.end(capture)
        return capture.graph.value
    left = captures.unjoined(capture)
    captures.drop(process, capture)
    process.driver.judge(rules.capture_unbroken, capture.number, lost)
    process.driver.judge(rules.capture_thread, capture.thread == thread, capture.mode == captures.RELAXED)
    process.driver.judge(rules.capture_joined, left)
    raise AssertionError("the capture was ended without a reason")


def captured(process: Process, stream: Stream) -> Capture:
    """Answer a stream's capture, or refuse (401)."""
    process.driver.judge(rules.capture_begun, stream.value, stream.capture is not None)
    assert stream.capture is not None
    return stream.capture


# ---- questions


@entry("cuStreamIsCapturing")
def stream_is_capturing(process: Process, thread: int, call: str, value: int) -> int:
    """Answer whether a stream captures, or did before that was invalidated."""
    capture = stream_of(process, thread, value, call).capture
    return NONE if capture is None else capture.status


def info(process: Process, stream: Stream, *, room: bool) -> tuple[int, int, int, int, int, int]:
    """Answer status, number, graph, and the addresses of tips and their edges' data, and how many there are."""
    capture = stream.capture
    if capture is None or capture.status != ACTIVE:
        return (NONE if capture is None else capture.status, *NOTHING[1:])
    tips = capture.tips[stream]
    process.driver.judge(rules.edges_whole, any(map(any, tips.values())), room)
    capture.shown = shown(tips)
    nodes, data = map(native.address_of, capture.shown)
    return capture.status, capture.number, capture.graph.value, nodes, data, len(tips)


def shown(tips: Tips) -> tuple[bytearray, bytearray]:
    """Lay handles and edge data out in memory that callers may read, never without an address."""
    nodes = b"".join(node.value.to_bytes(8, "little") for node in tips)
    return bytearray(nodes or bytes(8)), bytearray(b"".join(tips.values()) or bytes(8))


@entry("cuStreamGetCaptureInfo")
def stream_get_capture_info(process: Process, thread: int, call: str, value: int) -> tuple[int, int]:
    """Answer status and number."""
    return info(process, stream_of(process, thread, value, call), room=True)[:2]


@entry("cuStreamGetCaptureInfo_v2")
def stream_get_capture_info_v2(process: Process, thread: int, call: str, value: int) -> tuple[int, int, int, int, int]:
    """Answer status, number, graph and tips."""
    status, number, graph, nodes, _, count = info(process, stream_of(process, thread, value, call), room=False)
    return status, number, graph, nodes, count


@entry("cuStreamGetCaptureInfo_v3")
def stream_get_capture_info_v3(
    process: Process, thread: int, call: str, value: int, edge_data_out: int
) -> tuple[int, int, int, int, int]:
    """Answer status, number, graph and tips, and where the data of their edges lies."""
    stream = stream_of(process, thread, value, call)
    status, number, graph, nodes, data, count = info(process, stream, room=bool(edge_data_out))
    if edge_data_out:
        raw.put(process, "edgeData_out", edge_data_out, data.to_bytes(8, "little"))
    return status, number, graph, nodes, count


# ---- changes


@entry("cuStreamUpdateCaptureDependencies")
def stream_update_capture_dependencies(
    process: Process, thread: int, call: str, value: int, dependencies: bytes | None, count: int, flags: int
) -> None:
    """Add nodes to what the next work depends on, or put them in the place of it."""
    stream_update_capture_dependencies_v2(process, thread, call, value, dependencies, None, count, flags)


@entry("cuStreamUpdateCaptureDependencies_v2")
def stream_update_capture_dependencies_v2(
    process: Process,
    thread: int,
    call: str,
    value: int,
    dependencies: bytes | None,
    data: bytes | None,
    count: int,
    flags: int,
) -> None:
    """Likewise, with the data of the edges."""
    stream = stream_of(process, thread, value, call)
    capture = captured(process, stream)
    captures.require_valid(process, capture)
    process.driver.judge(rules.update_flags, flags)
    tips = dict(zip(nodes_in(process, capture.graph, dependencies), edge_data(data, count), strict=True))
    capture.tips[stream] = tips if flags == SET_DEPENDENCIES else capture.tips[stream] | tips


@entry("cuThreadExchangeStreamCaptureMode")
def thread_exchange_stream_capture_mode(process: Process, thread: int, mode: int) -> int:
    """Set the calling thread's mode and answer the one before."""
    process.driver.judge(rules.capture_mode, mode)
    before = process.captures.modes.get(thread, GLOBAL)
    process.captures.modes[thread] = mode
    return before
