"""Work that has to wait: order in and between streams, what queries say meanwhile, and what synchronises."""

from __future__ import annotations

import ctypes
import threading
import time

import pytest
from cuda.bindings import driver as cu
from streams_held import NOT_READY, Gate, Told, held, ready

from answers import ok, status

pytestmark = pytest.mark.timeout(60)
INVALID_VALUE = 1


@pytest.fixture
def streams(context):
    """Make two non-blocking streams and a blocking one."""
    made = [ok(cu.cuStreamCreate(flags)) for flags in (1, 1, 0)]
    yield made
    for stream in made:
        ok(cu.cuStreamSynchronize(stream))
        ok(cu.cuStreamDestroy(stream))


@pytest.fixture
def memory(context):
    """Allocate pinned memory, which host and device see."""
    address = int(ok(cu.cuMemAllocHost(4096)))
    ctypes.memset(address, 0, 4096)
    yield address
    ok(cu.cuMemFreeHost(address))


def test_a_held_stream_holds_what_comes_after_and_nothing_else(streams, memory):
    first, other, _ = streams
    told = Told()
    with held(first, memory):
        ok(cu.cuMemsetD8Async(memory, 1, 4, first))
        told.tell(first, 1)
        ok(cu.cuMemsetD8Async(memory + 8, 2, 4, other))
        assert (ready(first), ready(other)) == (False, True)
        assert ctypes.string_at(memory, 12) == bytes(8) + b"\2" * 4
        assert told.seen == []
    ok(cu.cuStreamSynchronize(first))
    assert ready(first)
    assert ctypes.string_at(memory, 4) == b"\1" * 4
    assert told.seen == [1]


def test_work_keeps_its_order_however_it_is_carried_out(streams, memory):
    stream, told = streams[0], Told()
    with held(stream, memory):
        for number in range(50):
            ok(cu.cuMemsetD32Async(memory, number, 1, stream))
            ok(cu.cuMemcpyDtoDAsync(memory + 64 + 4 * number, memory, 4, stream))
            told.tell(stream, number)
    ok(cu.cuStreamSynchronize(stream))
    assert told.seen == list(range(50))
    assert list((ctypes.c_uint32 * 50).from_address(memory + 64)) == list(range(50))


def test_an_event_is_complete_when_its_work_is(streams, memory):
    first, other, _ = streams
    before, after, never = (ok(cu.cuEventCreate(0)) for _ in range(3))
    ok(cu.cuEventRecord(before, first))
    told = Told()
    with held(first, memory):
        ok(cu.cuEventRecord(after, first))
        ok(cu.cuStreamWaitEvent(other, after, 0))
        told.tell(other, 7)
        assert [status(cu.cuEventQuery(event)) for event in (before, after, never)] == [0, NOT_READY, 0]
        assert status(cu.cuEventElapsedTime(before, after)) == NOT_READY
        assert not ready(other)
        time.sleep(0.05)
        assert told.seen == []
    ok(cu.cuEventSynchronize(after))
    ok(cu.cuStreamSynchronize(other))
    assert told.seen == [7]
    assert 50 <= ok(cu.cuEventElapsedTime(before, after)) < 20_000
    for event in (before, after, never):
        ok(cu.cuEventDestroy(event))


def test_a_wait_is_for_what_the_event_was_when_it_was_waited_for(streams, memory):
    first, other, _ = streams
    event = ok(cu.cuEventCreate(2))
    ok(cu.cuEventRecord(event, first))
    ok(cu.cuStreamWaitEvent(other, event, 0))
    with held(first, memory):
        ok(cu.cuEventRecord(event, first))
        assert ready(other)
    ok(cu.cuEventSynchronize(event))
    ok(cu.cuEventDestroy(event))


def test_the_legacy_stream_joins_with_blocking_streams_only(streams, memory):
    free, _, blocking = streams
    told = Told()
    with held(blocking, memory):
        assert not ready(0)
        assert ready(free)
        told.tell(0, 1)
        told.tell(2, 2)
        told.tell(free, 3)
        ok(cu.cuStreamSynchronize(free))
        assert told.seen == [3]
        assert not ready(2)
    ok(cu.cuStreamSynchronize(0))
    ok(cu.cuStreamSynchronize(2))
    assert told.seen == [3, 1, 2]


def test_blocking_streams_wait_for_the_legacy_stream(streams, memory):
    free, _, blocking = streams
    told = Told()
    with held(0, memory):
        told.tell(blocking, 1)
        told.tell(free, 2)
        assert (ready(blocking), ready(0)) == (False, False)
    ok(cu.cuStreamSynchronize(blocking))
    ok(cu.cuStreamSynchronize(free))
    assert sorted(told.seen) == [1, 2]


def test_synchronous_copies_wait_for_what_the_default_stream_joins(streams, memory):
    free, _, blocking = streams
    gate, done = Gate(), threading.Event()
    ok(cu.cuLaunchHostFunc(blocking, gate.function, 0))
    ok(cu.cuMemsetD8Async(memory, 5, 8, blocking))
    context = ok(cu.cuCtxGetCurrent())
    target = (ctypes.c_char * 8)()

    def copy() -> None:
        ok(cu.cuCtxSetCurrent(context))
        ok(cu.cuMemcpyDtoH(ctypes.addressof(target), memory, 8))
        done.set()

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    assert not done.wait(0.1)
    with held(free, memory):
        gate.opened.set()
        assert done.wait(20)
    thread.join(20)
    assert bytes(target) == b"\5" * 8


def test_pageable_memory_is_read_at_once_and_written_before_the_call_returns(streams, memory):
    stream = streams[0]
    source = ctypes.create_string_buffer(b"abcdefgh", 8)
    with held(stream, memory):
        ok(cu.cuMemcpyHtoDAsync(memory, ctypes.addressof(source), 8, stream))
        ctypes.memset(source, 0, 8)
        assert ctypes.string_at(memory, 8) == bytes(8)
    target = ctypes.create_string_buffer(8)
    ok(cu.cuMemcpyDtoHAsync(ctypes.addressof(target), memory, 8, stream))
    assert target.raw == b"abcdefgh"


def test_arguments_are_checked_when_work_is_handed_over(streams, memory):
    stream = streams[0]
    with held(stream, memory):
        assert status(cu.cuMemsetD8Async(0x1234000, 0, 4, stream)) == INVALID_VALUE
        assert status(cu.cuMemsetD32Async(memory + 2, 0, 1, stream)) == INVALID_VALUE
        ok(cu.cuMemsetD32Async(memory, 9, 1, stream))
    ok(cu.cuStreamSynchronize(stream))
    assert ctypes.string_at(memory, 1) == b"\x09"


def test_destroying_stream_and_event_returns_at_once_and_the_work_is_done(context, memory):
    stream, event, told = ok(cu.cuStreamCreate(1)), ok(cu.cuEventCreate(0)), Told()
    with held(stream, memory):
        told.tell(stream, 4)
        ok(cu.cuEventRecord(event, stream))
        ok(cu.cuEventDestroy(event))
        ok(cu.cuStreamDestroy(stream))
        assert told.seen == []
    ok(cu.cuCtxSynchronize())
    assert told.seen == [4]


def test_context_synchronize_waits_for_all_streams(streams):
    told = Told()
    gates = [Gate(), Gate()]
    for gate, stream in zip(gates, (streams[0], streams[2]), strict=True):
        ok(cu.cuLaunchHostFunc(stream, gate.function, 0))
        told.tell(stream, 1)
    threading.Timer(0.05, lambda: [gate.opened.set() for gate in gates]).start()
    ok(cu.cuCtxSynchronize())
    assert told.seen == [1, 1]


def test_context_events_gather_all_streams_and_hold_all_streams(streams, context, memory):
    first, other, _ = streams
    event, told = ok(cu.cuEventCreate(0)), Told()
    with held(first, memory):
        ok(cu.cuCtxRecordEvent(context, event))
        assert status(cu.cuEventQuery(event)) == NOT_READY
        ok(cu.cuCtxWaitEvent(context, event))
        told.tell(other, 1)
        late = ok(cu.cuStreamCreate(1))
        told.tell(late, 2)
        time.sleep(0.05)
        assert told.seen == []
    for stream in (other, late):
        ok(cu.cuStreamSynchronize(stream))
    assert sorted(told.seen) == [1, 2]
    ok(cu.cuStreamDestroy(late))
    ok(cu.cuEventDestroy(event))


def test_memory_is_freed_in_stream_order_and_only_once(streams, memory):
    stream = streams[0]
    block = ok(cu.cuMemAllocAsync(64, stream))
    with held(stream, memory):
        ok(cu.cuMemcpyDtoDAsync(block, memory, 64, stream))
        ok(cu.cuMemFreeAsync(block, stream))
        assert status(cu.cuMemFreeAsync(block, stream)) == INVALID_VALUE
        assert status(cu.cuMemFree(block)) == INVALID_VALUE
    ok(cu.cuStreamSynchronize(stream))
    assert status(cu.cuMemsetD8(block, 0, 64)) == INVALID_VALUE


def test_free_waits_for_work_of_its_context(streams):
    stream, block = streams[0], ok(cu.cuMemAlloc(64))
    gate = Gate()
    ok(cu.cuLaunchHostFunc(stream, gate.function, 0))
    ok(cu.cuMemsetD8Async(block, 1, 64, stream))
    threading.Timer(0.05, gate.opened.set).start()
    ok(cu.cuMemFree(block))
    assert gate.opened.is_set()
    ok(cu.cuStreamSynchronize(stream))


def test_callbacks_come_in_order_with_the_stream(streams, memory):
    stream, seen, told = streams[0], [], Told()
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *got: seen.append(got))
    function = cu.CUstreamCallback(ctypes.cast(callback, ctypes.c_void_p).value)
    with held(stream, memory):
        told.tell(stream, 1)
        ok(cu.cuStreamAddCallback(stream, function, 42, 0))
        assert seen == []
    ok(cu.cuStreamSynchronize(stream))
    assert (told.seen, seen) == ([1], [(int(stream), 0, 42)])


def test_a_signal_handler_ends_a_wait(streams, memory):
    import signal

    def handler(*what: object) -> None:
        raise TimeoutError("enough")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with held(streams[0], memory):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(TimeoutError, match="enough"):
                cu.cuStreamSynchronize(streams[0])
    finally:
        signal.signal(signal.SIGALRM, before)
    ok(cu.cuStreamSynchronize(streams[0]))
