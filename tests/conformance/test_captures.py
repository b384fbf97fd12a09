"""Stream capture: each rule with the neighbour that it lets through."""

from __future__ import annotations

import threading

import pytest
from builders import accepted, refused, use
from cuda.bindings import driver as cu

from answers import ok

GLOBAL, THREAD_LOCAL, RELAXED = (cu.CUstreamCaptureMode(mode) for mode in range(3))
INVALIDATED = 2


@pytest.fixture(autouse=True)
def current(hardware) -> None:
    use(0)


@pytest.fixture
def stream():
    return ok(cu.cuStreamCreate(1))


@pytest.fixture
def other():
    return ok(cu.cuStreamCreate(1))


@pytest.fixture
def event():
    return ok(cu.cuEventCreate(2))


@pytest.fixture
def memory():
    return int(ok(cu.cuMemAlloc(4096)))


def begin(stream, mode=RELAXED) -> None:
    ok(cu.cuStreamBeginCapture(stream, mode))


def state(stream) -> int:
    return int(ok(cu.cuStreamIsCapturing(stream)))


def end(stream) -> None:
    """End a capture, however that goes."""
    cu.cuStreamEndCapture(stream)


def test_a_capturing_stream_is_not_waited_for(stream, memory):
    for call, *given in ((cu.cuStreamQuery,), (cu.cuStreamSynchronize,), (cu.cuStreamGetFlags,), (cu.cuStreamGetId,)):
        begin(stream)
        assert refused(call, stream, *given) == (900, "MC1251")
        assert state(stream) == INVALIDATED
        end(stream)
        assert accepted(call, stream, *given) == ""
    begin(stream)
    assert refused(cu.cuCtxSynchronize) == (900, "MC1251")
    end(stream)
    assert accepted(cu.cuCtxSynchronize) == ""
    assert refused(cu.cuStreamBeginCapture, 0, RELAXED) == (900, "MC1251")
    assert accepted(cu.cuStreamBeginCapture, 2, RELAXED) == ""


@pytest.mark.parametrize(("mode", "forbidden"), [(GLOBAL, True), (THREAD_LOCAL, True), (RELAXED, False)])
def test_unsafe_calls_are_forbidden_by_mode(stream, other, event, memory, mode, forbidden):
    module = ok(cu.cuModuleLoadData(b".version 8.0\n.target sm_90\n.address_size 64\n\0"))
    calls = [
        (cu.cuMemAlloc, 64),
        (cu.cuMemAllocHost, 64),
        (cu.cuMemAllocAsync, 64, other),
        (cu.cuEventQuery, event),
        (cu.cuStreamSynchronize, other),
        (cu.cuGraphInstantiate, ok(cu.cuGraphCreate(0)), 0),
        (cu.cuMemFree, memory),
        (cu.cuModuleUnload, module),
    ]
    for call, *given in calls:
        begin(stream, mode)
        if forbidden:
            assert refused(call, *given) == (900, "MC1252")
            assert state(stream) == INVALIDATED
        else:
            assert accepted(call, *given) == ""
        end(stream)


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("own", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_another_threads_calls_are_forbidden_by_both_modes(stream, mode, own):
    found = []

    def elsewhere() -> None:
        use(0)
        ok(cu.cuThreadExchangeStreamCaptureMode(own))
        found.append(
            refused(cu.cuMemAlloc, 64) if mode == own == GLOBAL else (0, accepted(cu.cuMemAlloc, 64)),
        )

    begin(stream, mode)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    end(stream)
    assert found == [(900, "MC1252") if mode == own == GLOBAL else (0, "")]


def test_a_threads_mode_is_exchanged():
    assert int(ok(cu.cuThreadExchangeStreamCaptureMode(RELAXED))) == 0
    assert int(ok(cu.cuThreadExchangeStreamCaptureMode(GLOBAL))) == 2


def test_a_stream_captures_once_at_a_time(stream):
    begin(stream)
    assert refused(cu.cuStreamBeginCapture, stream, RELAXED) == (401, "MC1253")
    end(stream)
    assert accepted(cu.cuStreamBeginCapture, stream, RELAXED) == ""


def test_only_what_has_begun_ends(stream):
    assert refused(cu.cuStreamEndCapture, stream) == (401, "MC1254")
    assert refused(cu.cuStreamUpdateCaptureDependencies, stream, [], None, 0, 0) == (401, "MC1254")
    begin(stream)
    assert accepted(cu.cuStreamUpdateCaptureDependencies, stream, [], None, 0, 0) == ""
    assert accepted(cu.cuStreamEndCapture, stream) == ""


def test_an_invalid_capture_takes_no_work(stream, memory):
    begin(stream)
    assert accepted(cu.cuMemsetD8Async, memory, 1, 4, stream) == ""
    assert refused(cu.cuStreamQuery, stream) == (900, "MC1251")
    assert refused(cu.cuMemsetD8Async, memory, 1, 4, stream) == (901, "MC1255")
    assert refused(cu.cuStreamEndCapture, stream) == (901, "MC1255")


def test_captures_do_not_merge(stream, other, event):
    begin(stream), begin(other)
    ok(cu.cuEventRecord(event, other))
    assert refused(cu.cuStreamWaitEvent, stream, event, 0) == (902, "MC1256")
    assert state(stream) == state(other) == INVALIDATED
    end(stream), end(other)
    begin(stream)
    ok(cu.cuEventRecord(event, stream))
    assert accepted(cu.cuStreamWaitEvent, other, event, 0) == ""


def test_a_capture_ends_in_its_stream_when_all_have_joined(stream, other, event, memory):
    def fork() -> None:
        begin(stream)
        ok(cu.cuEventRecord(event, stream))
        ok(cu.cuStreamWaitEvent(other, event, 0))
        ok(cu.cuMemsetD8Async(memory, 1, 4, other))

    fork()
    assert refused(cu.cuStreamEndCapture, other) == (903, "MC1257")
    end(stream), fork()
    assert refused(cu.cuStreamEndCapture, stream) == (904, "MC1258")
    fork(), ok(cu.cuEventRecord(event, other)), ok(cu.cuStreamWaitEvent(stream, event, 0))
    assert accepted(cu.cuStreamEndCapture, stream) == ""


def test_a_capture_waits_for_nothing_outside_of_it(stream, other, event):
    ok(cu.cuEventRecord(event, other))
    begin(stream)
    assert refused(cu.cuStreamWaitEvent, stream, event, 0) == (905, "MC1259")
    end(stream), begin(stream)
    assert accepted(cu.cuStreamWaitEvent, stream, event, 1) == ""
    assert accepted(cu.cuStreamWaitEvent, stream, ok(cu.cuEventCreate(2)), 0) == ""


def test_the_legacy_stream_waits_for_blocking_captures(stream, event, memory):
    blocking = ok(cu.cuStreamCreate(0))
    calls = [
        (cu.cuMemcpyHtoD, memory, bytearray(4), 4),
        (cu.cuMemsetD8, memory, 1, 4),
        (cu.cuMemcpyAsync, memory, memory + 64, 4, 0),
        (cu.cuEventRecord, event, 0),
    ]
    for call, *given in calls:
        begin(blocking)
        assert refused(call, *given) == (906, "MC1260")
        assert state(blocking) == INVALIDATED
        end(blocking), begin(stream)
        assert accepted(call, *given) == ""
        end(stream)
    begin(blocking)
    assert refused(cu.cuStreamIsCapturing, 0) == (906, "MC1260")
    assert accepted(cu.cuStreamEndCapture, blocking) == "", "a question does no harm"


def test_captured_events_are_not_looked_at(stream, event):
    for call in (cu.cuEventQuery, cu.cuEventSynchronize):
        begin(stream)
        ok(cu.cuEventRecord(event, stream))
        assert refused(call, event) == (907, "MC1261")
        assert refused(call, event) == (1, "MC1264"), "its capture is invalid now"
        end(stream)
        assert refused(call, event) == (1, "MC1264")
        ok(cu.cuEventRecord(event, stream))
        assert accepted(call, event) == ""


def test_a_capture_ends_in_its_thread(stream):
    found = []

    def elsewhere(ended) -> None:
        use(0)
        found.append(ended(cu.cuStreamEndCapture, stream))

    for mode, ended in ((GLOBAL, refused), (RELAXED, accepted)):
        begin(stream, mode)
        thread = threading.Thread(target=elsewhere, args=(ended,))
        thread.start()
        thread.join()
    assert found == [(908, "MC1262"), ""]


def test_dependencies_are_added_or_set(stream):
    begin(stream)
    assert refused(cu.cuStreamUpdateCaptureDependencies, stream, [], None, 0, 2) == (1, "MC1265")
    assert accepted(cu.cuStreamUpdateCaptureDependencies, stream, [], None, 0, 1) == ""


def test_external_flags_need_a_capture(stream, event):
    assert cu.cuEventRecordWithFlags(event, stream, 1)[0] == cu.CUresult.CUDA_ERROR_ILLEGAL_STATE
    begin(stream)
    assert accepted(cu.cuEventRecordWithFlags, event, stream, 1) == ""


def test_allocation_is_no_node_here(stream, memory):
    begin(stream)
    assert refused(cu.cuMemAllocAsync, 64, stream) == (801, "MC1212")
    end(stream)
    assert accepted(cu.cuMemAllocAsync, 64, stream) == ""
