"""MC1251 to MC1299: stream capture."""

from .book import rule
from .graph_calls import recorded
from .source import Document
from .status import Status

_STREAM_WORK = (
    "cuStreamQuery", "cuStreamSynchronize", "cuStreamAddCallback", "cuStreamGetId", "cuStreamGetFlags",
    "cuGraphLaunch", "cuGraphUpload", "cuStreamBeginCapture_v2", "cuStreamBeginCaptureToGraph", "cuCtxSynchronize",
    "cuCtxSynchronize_v2",
)  # fmt: skip
#: Calls that do something a capture would not see; recorded one by one, in every mode.
UNSAFE = (
    "cuMemAlloc_v2", "cuMemAllocPitch_v2", "cuMemAllocManaged", "cuMemFree_v2", "cuMemAllocHost_v2", "cuMemHostAlloc",
    "cuMemFreeHost", "cuMemHostRegister_v2", "cuModuleUnload", "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams", "cuGraphExecDestroy", "cuCtxSetLimit",
)  # fmt: skip
_QUESTIONS = ("cuStreamQuery", "cuStreamSynchronize", "cuEventQuery", "cuEventSynchronize")
_BEGIN = ("cuStreamBeginCapture_v2", "cuStreamBeginCaptureToGraph")


@rule(
    "MC1251",
    "a capturing stream is given only what a graph can hold",
    calls=_STREAM_WORK,
    status=Status.STREAM_CAPTURE_UNSUPPORTED,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation is not permitted when the stream is"),
        recorded("capture_work", "query"),
        recorded("capture_work", "synchronize"),
        recorded("capture_work", "callback"),
        recorded("capture_work", "graph"),
        recorded("capture_begin", "begin.null"),
    ),
)
def work_capturable(what: str, capturing: bool) -> str | None:
    """Give a capturing stream kernels, copies, memsets, host functions and event waits; wait for it after its end.

    Queries, waits, callbacks and launches of graphs need work that runs, and a capture runs nothing. It is invalid
    afterwards. The legacy default stream cannot capture at all.

        stream_begin_capture(s, 2); stream_synchronize(s)   # refused
        stream_begin_capture(s, 2); stream_end_capture(s)   # good

    Fix: move the call behind stream_end_capture.
    """
    return f"{what} cannot be done while capturing" if capturing else None


@rule(
    "MC1252",
    "calls that a capture does not see wait until it has ended",
    calls=(*UNSAFE, *_QUESTIONS, "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync"),
    status=Status.STREAM_CAPTURE_UNSUPPORTED,
    evidence="recorded",
    source=(
        Document("cuThreadExchangeStreamCaptureMode", "this thread is prohibited from potentially unsafe API calls"),
        recorded("capture_beside", "0.alloc"),
        recorded("capture_beside", "1.event_query"),
        recorded("capture_threads", "0.0.alloc"),
    ),
)
def call_safe(thread: str, forbidden: bool) -> str | None:
    """Allocate, free, query and instantiate before a capture begins or after it ended.

    Which calls are forbidden depends on the capture's mode and the thread's: GLOBAL forbids them to all threads,
    THREAD_LOCAL to the one that captures, RELAXED to none. The capture is invalid afterwards.

        stream_begin_capture(s, 0); mem_alloc_v2(4096)   # refused
        stream_begin_capture(s, 2); mem_alloc_v2(4096)   # good

    Fix: allocate earlier, or capture in mode RELAXED where the call is not meant to be part of the graph.
    """
    return f"{thread} thread captures in a mode that forbids this call" if forbidden else None


@rule(
    "MC1253",
    "a stream captures once at a time",
    calls=_BEGIN,
    status=Status.ILLEGAL_STATE,
    evidence="recorded",
    source=(
        Document("cuStreamBeginCapture", "may only be initiated if the stream is not already in capture mode"),
        recorded("capture_begin", "begin.twice"),
    ),
)
def capture_single(stream: int, capturing: bool) -> str | None:
    """End a capture before the stream begins another.

        stream_begin_capture(s, 0); stream_begin_capture(s, 0)   # the second is refused
        stream_begin_capture(s, 0); stream_end_capture(s)        # good

    Fix: stream_is_capturing tells whether one is under way.
    """
    return f"stream {stream:#x} captures already" if capturing else None


@rule(
    "MC1254",
    "what ends or changes a capture finds one",
    calls=("cuStreamEndCapture", "cuStreamUpdateCaptureDependencies_v2"),
    status=Status.ILLEGAL_STATE,
    evidence="recorded",
    source=(
        Document("cuStreamUpdateCaptureDependencies", "CUDA_ERROR_ILLEGAL_STATE` if the stream is not"),
        recorded("capture_begin", "end.never"),
        recorded("capture_begin", "update.never"),
    ),
)
def capture_begun(stream: int, capturing: bool) -> str | None:
    """Begin a capture before ending it, and end it once.

        stream_end_capture(s)                              # refused
        stream_begin_capture(s, 0); stream_end_capture(s)  # good

    Fix: pair the calls; a failed end has ended the capture, too.
    """
    return None if capturing else f"stream {stream:#x} does not capture"


@rule(
    "MC1255",
    "a capture that was invalidated is only ended",
    calls=("cuStreamEndCapture", "cuLaunchKernel", "cuStreamUpdateCaptureDependencies_v2"),
    status=Status.STREAM_CAPTURE_INVALIDATED,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "has been invalidated due to a previous error"),
        recorded("capture_forks", "isolation.kernel"),
        recorded("capture_work", "query.end"),
    ),
)
def capture_unbroken(capture: int, invalidated: bool) -> str | None:
    """Look for the first call that was refused: it broke the capture, and all later ones answer 901.

        stream_begin_capture(s, 0); stream_query(s); launch_kernel(…, s, …)   # 900, then 901
        stream_begin_capture(s, 0); launch_kernel(…, s, …)                    # good

    Fix: end the capture (901 once more), then begin anew without that call.
    """
    return f"capture {capture} was invalidated by an earlier call" if invalidated else None


@rule(
    "MC1256",
    "captures do not wait for each other",
    calls=("cuStreamWaitEvent",),
    status=Status.STREAM_CAPTURE_MERGE,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_STREAM_CAPTURE_MERGE", "have resulted in a merge of"),
        recorded("capture_forks", "merge.wait"),
    ),
)
def captures_apart(own: int, other: int) -> str | None:
    """Begin one capture only, and let the other streams join it.

        stream_begin_capture(a, 0); stream_begin_capture(b, 0)
        event_record(e, b); stream_wait_event(a, e, 0)           # refused; both are invalid
        stream_begin_capture(a, 0); event_record(e, a)
        stream_wait_event(b, e, 0)                               # good: b joins the capture

    Fix: fork the second stream from the first by an event.
    """
    return None if own == other else f"the event was recorded in capture {other}, the stream is in capture {own}"


@rule(
    "MC1257",
    "a capture ends where it began",
    calls=("cuStreamEndCapture",),
    status=Status.STREAM_CAPTURE_UNMATCHED,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture was not initiated in this stream"),
        recorded("capture_forks", "unmatched.end"),
    ),
)
def capture_matched(stream: int, origin: int) -> str | None:
    """End a capture in the stream in which it began, not in one that joined it.

        stream_begin_capture(a, 0); event_record(e, a); stream_wait_event(b, e, 0)
        stream_end_capture(b)   # refused
        stream_end_capture(a)   # good, once b is joined

    Fix: keep the stream that began.
    """
    return None if stream == origin else f"the capture of stream {stream:#x} began in stream {origin:#x}"


@rule(
    "MC1258",
    "all streams that joined a capture come back to where it began",
    calls=("cuStreamEndCapture",),
    status=Status.STREAM_CAPTURE_UNJOINED,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "contains a fork that was not joined"),
        recorded("capture_forks", "unjoined.end"),
    ),
)
def capture_joined(streams: int) -> str | None:
    """Let the first stream wait for an event recorded behind the last work of each other stream.

        launch_kernel(…, b, …); stream_end_capture(a)   # refused
        launch_kernel(…, b, …); event_record(e, b); stream_wait_event(a, e, 0); stream_end_capture(a)   # good

    Fix: record and wait, once for each forked stream.
    """
    return f"work of {streams} forked streams was not joined" if streams else None


@rule(
    "MC1259",
    "a capturing stream waits for captured work only",
    calls=("cuStreamWaitEvent",),
    status=Status.STREAM_CAPTURE_ISOLATION,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency would have been created which"),
        recorded("capture_forks", "isolation.wait"),
    ),
)
def capture_isolated(event: int, captured: bool) -> str | None:
    """Wait for events of before the capture before it begins; the graph runs later, when they mean nothing.

        event_record(e, b); stream_begin_capture(a, 0); stream_wait_event(a, e, 0)   # refused
        event_record(e, b); stream_wait_event(a, e, 0); stream_begin_capture(a, 0)   # good

    Fix: flag 1 (EXTERNAL) makes a node that waits for the event at each launch, if that is meant.
    """
    return None if captured else f"event {event:#x} was recorded outside of the capture"


@rule(
    "MC1260",
    "the legacy stream is not used while a blocking stream captures",
    calls=(
        "cuMemcpy", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemsetD8_v2", "cuLaunchKernel",
        "cuStreamIsCapturing", "cuStreamGetCaptureInfo_v3", "cuStreamWaitEvent", "cuEventRecord",
    ),
    status=Status.STREAM_CAPTURE_IMPLICIT,
    evidence="recorded",
    source=(
        Document("cuStreamIsCapturing", "while a blocking stream in the same context is capturing"),
        recorded("capture_blocking", "htod"),
        recorded("capture_blocking", "kernel.legacy"),
        recorded("capture_blocking", "capturing.legacy"),
        recorded("capture_forks", "legacy.wait"),
    ),
)  # fmt: skip
def legacy_apart(capturing: bool) -> str | None:
    """Capture in streams that were made with NON_BLOCKING, or leave stream 0 alone meanwhile.

    Synchronous copies and memsets use the legacy default stream. It would have to wait for the capturing stream, which
    runs nothing. The capture is invalid afterwards, unless it was only asked about.

        s = stream_create(0); stream_begin_capture(s, 2); memcpy_htod_v2(d, h, n)   # refused
        s = stream_create(1); stream_begin_capture(s, 2); memcpy_htod_v2(d, h, n)   # good

    Fix: stream_create(StreamFlags.NON_BLOCKING).
    """
    return (
        "a blocking stream of the context captures: the legacy stream would have to wait for it" if capturing else None
    )


@rule(
    "MC1261",
    "an event that was recorded in a capture is not looked at",
    calls=("cuEventQuery", "cuEventSynchronize", "cuEventElapsedTime_v2"),
    status=Status.CAPTURED_EVENT,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_CAPTURED_EVENT", "operation is not permitted on an event which"),
        recorded("capture_forks", "captured.query"),
    ),
)
def event_uncaptured(event: int, captured: bool) -> str | None:
    """Take captured events for ordering only: they are never complete, since nothing runs.

        stream_begin_capture(s, 2); event_record(e, s); event_query(e)                  # refused
        stream_begin_capture(s, 2); event_record_with_flags(e, s, 1); event_query(e)    # good: recorded at each launch

    Fix: flag 1 (EXTERNAL) of event_record_with_flags.
    """
    return f"event {event:#x} was recorded in a capture" if captured else None


@rule(
    "MC1262",
    "a capture ends in the thread that began it",
    calls=("cuStreamEndCapture",),
    status=Status.STREAM_CAPTURE_WRONG_THREAD,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "in a different thread"),
        recorded("capture_threads", "1.0.end"),
    ),
)
def capture_thread(same: bool, relaxed: bool) -> str | None:
    """End a capture in its thread, or begin it in mode RELAXED. The capture has ended all the same.

        stream_begin_capture(s, 0)   # and stream_end_capture(s) in another thread: refused
        stream_begin_capture(s, 2)   # likewise: good

    Fix: mode RELAXED (2).
    """
    return None if same or relaxed else "the capture was begun by another thread, and not in mode RELAXED (2)"


@rule(
    "MC1263",
    "a capture mode is one of three",
    calls=(*_BEGIN, "cuThreadExchangeStreamCaptureMode"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=recorded("capture_begin", "begin.mode3"),
)
def capture_mode(mode: int) -> str | None:
    """Use GLOBAL (0), THREAD_LOCAL (1) or RELAXED (2).

        stream_begin_capture(s, 3)   # refused
        stream_begin_capture(s, 2)   # good

    Fix: take a member of StreamCaptureMode.
    """
    return None if 0 <= mode <= 2 else f"mode {mode} is none of 0 (GLOBAL), 1 (THREAD_LOCAL), 2 (RELAXED)"


@rule(
    "MC1264",
    "an event of a capture is used while that lasts",
    calls=("cuEventQuery", "cuEventSynchronize", "cuEventElapsedTime_v2", "cuStreamWaitEvent"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        recorded("capture_forks", "stale.query"),
        recorded("capture_forks", "stale.wait"),
        recorded("capture_forks", "captured.synchronize"),
    ),
)
def event_current(event: int, lasting: bool) -> str | None:
    """Record an event anew once the capture in which it was recorded has ended.

        stream_begin_capture(s, 2); event_record(e, s); stream_end_capture(s); event_query(e)   # refused
        event_record(e, s); event_query(e)                                                       # good

    Fix: use other events outside of captures.
    """
    return None if lasting else f"event {event:#x} was last recorded in a capture that is over or invalid"


@rule(
    "MC1265",
    "dependencies of a capture are added or set",
    calls=("cuStreamUpdateCaptureDependencies_v2",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuStreamUpdateCaptureDependencies", "Valid flags are"),
        recorded("capture_begin", "update.flags"),
    ),
)
def update_flags(flags: int) -> str | None:
    """Pass ADD_CAPTURE_DEPENDENCIES (0) or SET_CAPTURE_DEPENDENCIES (1).

        stream_update_capture_dependencies_v2(s, nodes, 0, n, 2)   # refused
        stream_update_capture_dependencies_v2(s, nodes, 0, n, 1)   # good

    Fix: take a member of StreamUpdateCaptureDependenciesFlags.
    """
    return None if flags in (0, 1) else f"flags {flags} is neither 0 (add) nor 1 (set)"


@rule(
    "MC1266",
    "edges with data are asked for with their data",
    calls=(
        "cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3", "cuGraphGetEdges", "cuGraphGetEdges_v2",
        "cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies_v2", "cuGraphNodeGetDependentNodes",
        "cuGraphNodeGetDependentNodes_v2",
    ),
    status=Status.LOSSY_QUERY,
    evidence="documented",
    source=Document("cuStreamGetCaptureInfo", "dependencies, the call will return"),
)  # fmt: skip
def edges_whole(data: bool, room: bool) -> str | None:
    """Give room for the edge data where edges may have any: programmatic dependencies do.

        graph_get_edges(graph)      # an edge is PROGRAMMATIC: refused
        graph_get_edges_v2(graph)   # good

    Fix: the _v2 forms, with a place for edge_data.
    """
    return "an edge has data, and no place was given for it" if data and not room else None
