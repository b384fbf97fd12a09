"""Stream capture: what is refused meanwhile, by whom, and what ends a capture early."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from cuda.bindings import driver as cu
from recorder import PAGE, Recorder, group, properties

from probes.modules import PTX

GLOBAL, THREAD_LOCAL, RELAXED = (cu.CUstreamCaptureMode(mode) for mode in (0, 1, 2))
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Call = tuple[object, ...]


class Bench:
    """What the calls under test work with; made before any capture begins."""

    def __init__(self, step: Recorder, flags: int = 1) -> None:
        quiet = step.quiet
        self.stream, self.other = quiet("cuStreamCreate", flags), quiet("cuStreamCreate", 1)
        self.spare = quiet("cuStreamCreate", 1)
        self.device, self.second = int(quiet("cuMemAlloc", 4096)), int(quiet("cuMemAlloc", 4096))
        self.freed = int(quiet("cuMemAlloc", 4096))
        self.ordered = int(quiet("cuMemAllocAsync", 4096, self.other))
        self.pinned, self.freed_pinned = int(quiet("cuMemAllocHost", 4096)), int(quiet("cuMemAllocHost", 4096))
        self.pageable = bytearray(1 << 16)
        self.event, self.timed, self.spare_event = (quiet("cuEventCreate", 0) for _ in range(3))
        quiet("cuEventRecord", self.event, self.other)
        quiet("cuEventRecord", self.timed, self.other)
        self.module = quiet("cuModuleLoadData", PTX)
        self.spare_module = quiet("cuModuleLoadData", PTX)
        self.function = quiet("cuModuleGetFunction", self.module, b"nothing")
        self.graph = quiet("cuGraphCreate", 0)
        self.exec = quiet("cuGraphInstantiate", self.graph, 0)
        self.handle = quiet("cuMemCreate", PAGE, properties(), 0)
        self.address = int(quiet("cuMemAddressReserve", 4 * PAGE, 0, 0, 0))
        self._nothing = HOST(lambda data: None)
        self.host = cu.CUhostFn(ctypes.cast(self._nothing, ctypes.c_void_p).value)
        quiet("cuCtxSynchronize")

    def captured(self) -> dict[str, Call]:
        """Work given to the capturing stream itself."""
        d, e, s = self.device, self.second, self.stream
        return {
            "kernel": ("cuLaunchKernel", self.function, 1, 1, 1, 1, 1, 1, 0, s, 0, 0),
            "cooperative": ("cuLaunchCooperativeKernel", self.function, 1, 1, 1, 1, 1, 1, 0, s, 0),
            "kernel.bad": ("cuLaunchKernel", self.function, 0, 1, 1, 1, 1, 1, 0, s, 0, 0),
            "memset": ("cuMemsetD8Async", d, 1, 16, s),
            "memset.empty": ("cuMemsetD8Async", d, 1, 0, s),
            "memset.bad": ("cuMemsetD32Async", d + 1, 1, 4, s),
            "memset.wild": ("cuMemsetD32Async", 16, 1, 4, s),
            "memset_2d": ("cuMemsetD2D8Async", d, 64, 1, 16, 2, s),
            "copy": ("cuMemcpyAsync", d, e, 64, s),
            "copy.empty": ("cuMemcpyAsync", d, e, 0, s),
            "copy.wild": ("cuMemcpyDtoDAsync", 16, e, 64, s),
            "copy.pinned": ("cuMemcpyHtoDAsync", d, self.pinned, 64, s),
            "copy.pageable": ("cuMemcpyHtoDAsync", d, self.pageable, 64, s),
            "copy.pageable_back": ("cuMemcpyDtoHAsync", self.pageable, d, 64, s),
            "host": ("cuLaunchHostFunc", s, self.host, 0),
            "callback": ("cuStreamAddCallback", s, cu.CUstreamCallback(int(self.host)), 0, 0),
            "wait_value": ("cuStreamWaitValue32", s, d, 0, 0),
            "write_value": ("cuStreamWriteValue32", s, d, 0, 0),
            "alloc_async": ("cuMemAllocAsync", 4096, s),
            "free_async": ("cuMemFreeAsync", self.ordered, s),
            "record": ("cuEventRecord", self.event, s),
            "record.external": ("cuEventRecordWithFlags", self.event, s, 1),
            "wait": ("cuStreamWaitEvent", s, self.event, 0),
            "wait.external": ("cuStreamWaitEvent", s, self.event, 1),
            "wait.unrecorded": ("cuStreamWaitEvent", s, self.spare_event, 0),
            "graph": ("cuGraphLaunch", self.exec, s),
            "upload": ("cuGraphUpload", self.exec, s),
            "query": ("cuStreamQuery", s),
            "synchronize": ("cuStreamSynchronize", s),
            "begin": ("cuStreamBeginCapture", s, GLOBAL),
            "id": ("cuStreamGetId", s),
            "ctx": ("cuStreamGetCtx", s),
            "flags": ("cuStreamGetFlags", s),
            "attach": ("cuStreamAttachMemAsync", s, d, 0, 4),
            "destroy": ("cuStreamDestroy", s),
        }

    def beside(self) -> dict[str, Call]:
        """Calls that have nothing to do with the capturing stream."""
        d, e = self.device, self.second
        return {
            "alloc": ("cuMemAlloc", 4096),
            "free": ("cuMemFree", self.freed),
            "alloc_host": ("cuMemAllocHost", 4096),
            "host_alloc": ("cuMemHostAlloc", 4096, 0),
            "free_host": ("cuMemFreeHost", self.freed_pinned),
            "register": ("cuMemHostRegister", self.pageable, 4096, 0),
            "managed": ("cuMemAllocManaged", 4096, 1),
            "pitch": ("cuMemAllocPitch", 64, 2, 4),
            "info": ("cuMemGetInfo",),
            "range": ("cuMemGetAddressRange", d),
            "copy": ("cuMemcpy", d, e, 64),
            "htod": ("cuMemcpyHtoD", d, self.pageable, 64),
            "dtoh": ("cuMemcpyDtoH", self.pageable, d, 64),
            "dtod": ("cuMemcpyDtoD", d, e, 64),
            "copy.empty": ("cuMemcpy", d, e, 0),
            "memset": ("cuMemsetD8", d, 1, 16),
            "copy.legacy": ("cuMemcpyAsync", d, e, 64, 0),
            "copy.per_thread": ("cuMemcpyAsync", d, e, 64, 2),
            "copy.other": ("cuMemcpyAsync", d, e, 64, self.other),
            "memset.legacy": ("cuMemsetD8Async", d, 1, 16, 0),
            "kernel.legacy": ("cuLaunchKernel", self.function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
            "kernel.other": ("cuLaunchKernel", self.function, 1, 1, 1, 1, 1, 1, 0, self.other, 0, 0),
            "host.legacy": ("cuLaunchHostFunc", 0, self.host, 0),
            "query.legacy": ("cuStreamQuery", 0),
            "synchronize.legacy": ("cuStreamSynchronize", 0),
            "capturing.legacy": ("cuStreamIsCapturing", 0),
            "info.legacy": ("cuStreamGetCaptureInfo", 0),
            "record.legacy": ("cuEventRecord", self.event, 0),
            "wait.legacy": ("cuStreamWaitEvent", 0, self.event, 0),
            "query.other": ("cuStreamQuery", self.other),
            "synchronize.other": ("cuStreamSynchronize", self.other),
            "ctx_synchronize": ("cuCtxSynchronize",),
            "event_query": ("cuEventQuery", self.event),
            "event_synchronize": ("cuEventSynchronize", self.event),
            "elapsed": ("cuEventElapsedTime", self.event, self.timed),
            "event_create": ("cuEventCreate", 0),
            "event_destroy": ("cuEventDestroy", self.spare_event),
            "stream_create": ("cuStreamCreate", 1),
            "stream_destroy": ("cuStreamDestroy", self.spare),
            "alloc_async.other": ("cuMemAllocAsync", 4096, self.other),
            "free_async.other": ("cuMemFreeAsync", self.ordered, self.other),
            "load": ("cuModuleLoadData", PTX),
            "get_function": ("cuModuleGetFunction", self.module, b"takes"),
            "get_global": ("cuModuleGetGlobal", self.module, b"place"),
            "unload": ("cuModuleUnload", self.spare_module),
            "library": ("cuLibraryLoadData", PTX, [], [], 0, [], [], 0),
            "mem_create": ("cuMemCreate", PAGE, properties(), 0),
            "reserve": ("cuMemAddressReserve", PAGE, 0, 0, 0),
            "map": ("cuMemMap", self.address, PAGE, 0, self.handle, 0),
            "release": ("cuMemRelease", self.handle),
            "address_free": ("cuMemAddressFree", self.address, 4 * PAGE),
            "instantiate": ("cuGraphInstantiate", self.graph, 0),
            "graph.other": ("cuGraphLaunch", self.exec, self.other),
            "graph_create": ("cuGraphCreate", 0),
            "graph_destroy": ("cuGraphDestroy", self.graph),
            "exec_destroy": ("cuGraphExecDestroy", self.exec),
            "set_limit": ("cuCtxSetLimit", cu.CUlimit(0), 2048),
            "get_limit": ("cuCtxGetLimit", cu.CUlimit(0)),
            "set_current": ("cuCtxSetCurrent", step_context()),
            "pool_create": ("cuDeviceGetDefaultMemPool", 0),
            "occupancy": ("cuOccupancyMaxActiveBlocksPerMultiprocessor", self.function, 32, 0),
            "attribute": ("cuFuncGetAttribute", cu.CUfunction_attribute(0), self.function),
            "pointer": ("cuPointerGetAttribute", cu.CUpointer_attribute(2), d),
        }


def step_context() -> object:
    """The context that is current: to set it once more."""
    return cu.cuCtxGetCurrent()[1]


def try_call(step: Recorder, name: str, flags: int, mode: object, choose: Callable[[Bench], Call]) -> None:
    """Make one call inside a capture of its own, and record what became of the capture."""
    bench = Bench(step, flags)
    step.quiet("cuStreamBeginCapture", bench.stream, mode)
    step(name, *choose(bench), hide=True)
    step(f"{name}.status", "cuStreamIsCapturing", bench.stream)
    graph = step(f"{name}.end", "cuStreamEndCapture", bench.stream, hide=True)
    if graph is not None:
        nodes = cu.cuGraphGetNodes(graph, 16)
        step.note(f"{name}.nodes", *[cu.cuGraphNodeGetType(node)[1] for node in nodes[1][: nodes[2]]])


def choose_captured(name: str) -> Callable[[Bench], Call]:
    """Pick a call of the capturing stream."""
    return lambda bench: bench.captured()[name]


def choose_beside(name: str) -> Callable[[Bench], Call]:
    """Pick a call beside it."""
    return lambda bench: bench.beside()[name]


def _names(step: Recorder) -> tuple[list[str], list[str]]:
    bench = Bench(step)
    return list(bench.captured()), list(bench.beside())


@group(kind="graphs")
def capture_work(step: Recorder) -> None:
    """Each kind of work given to a capturing stream."""
    for name in _names(step)[0]:
        try_call(step, name, 1, GLOBAL, choose_captured(name))


@group(kind="graphs")
def capture_beside(step: Recorder) -> None:
    """Calls beside the capture of a stream that does not block, in every mode."""
    for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
        for name in _names(step)[1]:
            try_call(step, f"{int(mode)}.{name}", 1, mode, choose_beside(name))


@group(kind="graphs")
def capture_blocking(step: Recorder) -> None:
    """Calls beside the capture of a blocking stream, in the mode that forbids least."""
    for name in _names(step)[1]:
        try_call(step, name, 0, RELAXED, choose_beside(name))


@group(kind="graphs")
def capture_threads(step: Recorder) -> None:
    """Calls of another thread, with each pair of modes: of the capture, and of the thread."""
    for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
        for own in (GLOBAL, THREAD_LOCAL, RELAXED):
            bench, name = Bench(step), f"{int(mode)}.{int(own)}"
            step.quiet("cuStreamBeginCapture", bench.stream, mode)
            other = threading.Thread(target=elsewhere, args=(step, bench, name, own))
            other.start()
            other.join()
            step(f"{name}.end_here", "cuStreamEndCapture", bench.stream, hide=True)


def elsewhere(step: Recorder, bench: Bench, name: str, own: object) -> None:
    """Make calls in a thread with a mode of its own."""
    step.quiet("cuCtxSetCurrent", step.context)
    step(f"{name}.exchange", "cuThreadExchangeStreamCaptureMode", own)
    step(f"{name}.alloc", "cuMemAlloc", 4096, hide=True)
    step(f"{name}.kernel", *bench.captured()["kernel"])
    step(f"{name}.status", "cuStreamIsCapturing", bench.stream)
    step(f"{name}.end", "cuStreamEndCapture", bench.stream, hide=True)


@group(kind="graphs")
def capture_modes(step: Recorder) -> None:
    """A thread's own mode against a capture that it began itself."""
    for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
        for own in (GLOBAL, THREAD_LOCAL, RELAXED):
            bench, name = Bench(step), f"{int(mode)}.{int(own)}"
            step.quiet("cuStreamBeginCapture", bench.stream, mode)
            step(f"{name}.exchange", "cuThreadExchangeStreamCaptureMode", own)
            step(f"{name}.alloc", "cuMemAlloc", 4096, hide=True)
            step(f"{name}.exchange.back", "cuThreadExchangeStreamCaptureMode", GLOBAL)
            step(f"{name}.end", "cuStreamEndCapture", bench.stream, hide=True)


@group(kind="graphs")
def capture_begin(step: Recorder) -> None:
    """Begin and end where they are not allowed."""
    bench = Bench(step)
    for name, stream in (("null", 0), ("legacy", 1), ("per_thread", 2)):
        step(f"begin.{name}", "cuStreamBeginCapture", stream, RELAXED)
        step(f"status.{name}", "cuStreamIsCapturing", stream)
        step(f"end.{name}", "cuStreamEndCapture", stream, hide=True)
    step("end.never", "cuStreamEndCapture", bench.stream, hide=True)
    step.raw("begin.mode3", "cuStreamBeginCapture_v2", ctypes.c_void_p(int(bench.stream)), 3)
    step("begin", "cuStreamBeginCapture", bench.stream, RELAXED)
    step("begin.twice", "cuStreamBeginCapture", bench.stream, RELAXED)
    step("begin.twice.status", "cuStreamIsCapturing", bench.stream)
    step("end", "cuStreamEndCapture", bench.stream, hide=True)
    step("update.never", "cuStreamUpdateCaptureDependencies", bench.stream, [], [], 0, 0)
    step("to_graph", "cuStreamBeginCaptureToGraph", bench.stream, bench.graph, [], [], 0, RELAXED)
    step("to_graph.instantiate", "cuGraphInstantiate", bench.graph, 0, hide=True)
    step("to_graph.destroy", "cuGraphDestroy", bench.graph)
    step("to_graph.kernel", *bench.captured()["kernel"])
    info = step("to_graph.info", "cuStreamGetCaptureInfo", bench.stream, hide=True)
    step.note("to_graph.info.same", int(info[2]) == int(bench.graph), len(info[3]), int(info[0]))
    step("update.flags", "cuStreamUpdateCaptureDependencies", bench.stream, [], [], 0, 2)
    step("update.set", "cuStreamUpdateCaptureDependencies", bench.stream, [], [], 0, 1)
    step("to_graph.kernel2", *bench.captured()["kernel"])
    same = step("to_graph.end", "cuStreamEndCapture", bench.stream, hide=True)
    step.note("to_graph.end.same", int(same) == int(bench.graph))
    step("to_graph.roots", "cuGraphGetRootNodes", bench.graph, 0, hide=True)
    roots = cu.cuGraphGetRootNodes(bench.graph, 8)
    step.note("to_graph.roots.count", roots[2])


@group(kind="graphs")
def capture_forks(step: Recorder) -> None:
    """Forks and joins, good and bad."""

    def fork(bench: Bench, mode: object = RELAXED) -> None:
        step.quiet("cuStreamBeginCapture", bench.stream, mode)
        step.quiet(*bench.captured()["kernel"])
        step.quiet("cuEventRecord", bench.event, bench.stream)
        step.quiet("cuStreamWaitEvent", bench.other, bench.event, 0)

    bench = Bench(step)
    fork(bench)
    step("joined.fork.status", "cuStreamIsCapturing", bench.other)
    step("joined.kernel", "cuLaunchKernel", bench.function, 1, 1, 1, 1, 1, 1, 0, bench.other, 0, 0)
    step("joined.record", "cuEventRecord", bench.timed, bench.other)
    step("joined.wait", "cuStreamWaitEvent", bench.stream, bench.timed, 0)
    graph = step("joined.end", "cuStreamEndCapture", bench.stream, hide=True)
    step.note("joined.nodes", cu.cuGraphGetNodes(graph)[2])
    step("joined.other.status", "cuStreamIsCapturing", bench.other)
    step("joined.event_query", "cuEventQuery", bench.event)
    step("joined.event_wait", "cuStreamWaitEvent", bench.other, bench.event, 0)

    bench = Bench(step)
    fork(bench)
    step("unjoined.idle.end", "cuStreamEndCapture", bench.stream, hide=True)
    bench = Bench(step)
    fork(bench)
    step("unjoined.kernel", "cuLaunchKernel", bench.function, 1, 1, 1, 1, 1, 1, 0, bench.other, 0, 0)
    step("unjoined.end", "cuStreamEndCapture", bench.stream, hide=True)
    step("unjoined.other.status", "cuStreamIsCapturing", bench.other)
    step("unjoined.again", "cuStreamEndCapture", bench.stream, hide=True)

    bench = Bench(step)
    fork(bench)
    step("unmatched.end", "cuStreamEndCapture", bench.other, hide=True)
    step("unmatched.status", "cuStreamIsCapturing", bench.stream)
    step("unmatched.end.origin", "cuStreamEndCapture", bench.stream, hide=True)

    bench = Bench(step)
    fork(bench)
    step("captured.query", "cuEventQuery", bench.event)
    step("captured.query.status", "cuStreamIsCapturing", bench.stream)
    step("captured.synchronize", "cuEventSynchronize", bench.event)
    step("captured.elapsed", "cuEventElapsedTime", bench.event, bench.timed)
    step("captured.elapsed2", "cuEventElapsedTime", bench.timed, bench.event)
    step("captured.destroy", "cuEventDestroy", bench.event)
    step("captured.end", "cuStreamEndCapture", bench.stream, hide=True)

    bench = Bench(step)
    step.quiet("cuStreamBeginCapture", bench.stream, RELAXED)
    step("isolation.wait", "cuStreamWaitEvent", bench.stream, bench.event, 0)
    step("isolation.status", "cuStreamIsCapturing", bench.stream)
    step("isolation.kernel", *bench.captured()["kernel"])
    step("isolation.query", "cuStreamQuery", bench.stream)
    step("isolation.update", "cuStreamUpdateCaptureDependencies", bench.stream, [], [], 0, 0)
    step("isolation.info", "cuStreamGetCaptureInfo", bench.stream, hide=True)
    step("isolation.end", "cuStreamEndCapture", bench.stream)
    step("isolation.end.status", "cuStreamIsCapturing", bench.stream)

    bench = Bench(step)
    step.quiet("cuStreamBeginCapture", bench.stream, RELAXED)
    step.quiet("cuStreamBeginCapture", bench.spare, RELAXED)
    step.quiet("cuEventRecord", bench.event, bench.spare)
    step("merge.wait", "cuStreamWaitEvent", bench.stream, bench.event, 0)
    step("merge.status", "cuStreamIsCapturing", bench.stream)
    step("merge.status.other", "cuStreamIsCapturing", bench.spare)
    step("merge.end", "cuStreamEndCapture", bench.stream, hide=True)
    step("merge.end.other", "cuStreamEndCapture", bench.spare, hide=True)

    bench = Bench(step)
    step.quiet("cuStreamBeginCapture", bench.stream, RELAXED)
    step.quiet("cuEventRecord", bench.event, bench.stream)
    step.quiet("cuStreamEndCapture", bench.stream)
    step("stale.query", "cuEventQuery", bench.event)
    step("stale.synchronize", "cuEventSynchronize", bench.event)
    step("stale.elapsed", "cuEventElapsedTime", bench.event, bench.timed)
    step("stale.wait", "cuStreamWaitEvent", bench.other, bench.event, 0)
    step("stale.record", "cuEventRecord", bench.event, bench.other)
    step.quiet("cuStreamBeginCapture", bench.stream, RELAXED)
    step.quiet("cuEventRecord", bench.timed, bench.stream)
    step("legacy.wait", "cuStreamWaitEvent", 0, bench.timed, 0)
    step("legacy.wait.status", "cuStreamIsCapturing", bench.stream)
    step("legacy.end", "cuStreamEndCapture", bench.stream, hide=True)
    step("free.record", "cuEventRecord", bench.event, bench.other)
    step("free.external", "cuEventRecordWithFlags", bench.event, bench.other, 1)
    step("free.wait_external", "cuStreamWaitEvent", bench.other, bench.event, 1)


@group(kind="graphs")
def capture_empty(step: Recorder) -> None:
    """A capture without work; identities of captures."""
    bench = Bench(step)
    step.quiet("cuStreamBeginCapture", bench.stream, RELAXED)
    info = step("info", "cuStreamGetCaptureInfo", bench.stream, hide=True)
    step.note("info.values", int(info[0]), int(info[1]) > 0, len(info[3]), info[-1])
    graph = step("end", "cuStreamEndCapture", bench.stream, hide=True)
    step.note("nodes", cu.cuGraphGetNodes(graph)[2])
    exec_ = step("instantiate", "cuGraphInstantiate", graph, 0, hide=True)
    step("launch", "cuGraphLaunch", exec_, bench.stream)
    step.synchronize("synchronize")
    step.quiet("cuStreamBeginCapture", bench.stream, RELAXED)
    step("destroyed", "cuStreamDestroy", bench.stream)
