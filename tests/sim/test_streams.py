"""Streams and events through NVIDIA's bindings."""

import ctypes

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE, INVALID_HANDLE, ILLEGAL_STATE, DESTROYED = 1, 400, 401, 709


def test_a_stream_keeps_what_it_was_made_with(context):
    stream = ok(cu.cuStreamCreateWithPriority(1, -3))
    assert ok(cu.cuStreamGetFlags(stream)) == 1
    assert ok(cu.cuStreamGetPriority(stream)) == -3
    assert int(ok(cu.cuStreamGetDevice(stream))) == 0
    assert int(ok(cu.cuStreamGetCtx(stream))) == context
    assert status(cu.cuStreamQuery(stream)) == status(cu.cuStreamSynchronize(stream)) == 0
    ok(cu.cuStreamDestroy(stream))
    assert status(cu.cuStreamQuery(stream)) == INVALID_HANDLE


@pytest.mark.parametrize(("wished", "given"), [(-6, -5), (-5, -5), (0, 0), (1, 0)])
def test_priorities_are_brought_into_range(context, wished, given):
    stream = ok(cu.cuStreamCreateWithPriority(0, wished))
    assert ok(cu.cuStreamGetPriority(stream)) == given
    ok(cu.cuStreamDestroy(stream))


def test_default_streams_are_there_and_cannot_be_destroyed(context):
    ids = [ok(cu.cuStreamGetId(stream)) for stream in (0, 1, 2)]
    assert ids[0] == ids[1] != ids[2]
    assert [status(cu.cuStreamDestroy(stream)) for stream in (0, 1, 2)] == [INVALID_HANDLE] * 3


def test_unknown_flags_are_refused_and_the_highest_known_is_not(context):
    assert status(cu.cuStreamCreate(2)) == INVALID_VALUE
    ok(cu.cuStreamDestroy(ok(cu.cuStreamCreate(1))))
    assert status(cu.cuEventCreate(8)) == status(cu.cuEventCreate(4)) == INVALID_VALUE
    ok(cu.cuEventDestroy(ok(cu.cuEventCreate(7))))


def test_host_functions_run_in_order_between_other_work(context):
    seen = []
    memory, stream = int(ok(cu.cuMemAllocHost(4))), ok(cu.cuStreamCreate(0))

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def look(data):
        seen.append((data, ctypes.string_at(memory, 4)))

    function = cu.CUhostFn(ctypes.cast(look, ctypes.c_void_p).value)
    for value in (1, 2):
        ok(cu.cuMemsetD8Async(memory, value, 4, stream))
        ok(cu.cuLaunchHostFunc(stream, function, value))
    ok(cu.cuStreamSynchronize(stream))
    assert seen == [(1, b"\1" * 4), (2, b"\2" * 4)]
    assert status(cu.cuLaunchHostFunc(stream, 0, 0)) == INVALID_VALUE
    ok(cu.cuStreamDestroy(stream)), ok(cu.cuMemFreeHost(memory))


def test_callbacks_get_stream_status_and_data(context):
    seen = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *got: seen.append(got))
    stream = ok(cu.cuStreamCreate(0))
    function = cu.CUstreamCallback(ctypes.cast(callback, ctypes.c_void_p).value)
    ok(cu.cuStreamAddCallback(stream, function, 42, 0))
    ok(cu.cuStreamSynchronize(stream))
    assert seen == [(int(stream), 0, 42)]
    assert status(cu.cuStreamAddCallback(stream, function, 42, 1)) == INVALID_VALUE
    ok(cu.cuStreamDestroy(stream))


def test_time_passes_between_recorded_events(context):
    first, last, untimed = ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(2))
    assert status(cu.cuEventQuery(first)) == 0
    assert status(cu.cuEventElapsedTime(first, last)) == INVALID_HANDLE
    for event in (first, last, untimed):
        ok(cu.cuEventRecord(event, 0))
    assert ok(cu.cuEventElapsedTime(first, first)) == 0
    assert ok(cu.cuEventElapsedTime(first, last)) > 0
    assert ok(cu.cuEventElapsedTime(last, first)) < 0
    assert status(cu.cuEventElapsedTime(first, untimed)) == INVALID_HANDLE
    for event in (first, last, untimed):
        ok(cu.cuEventDestroy(event))
    assert status(cu.cuEventQuery(first)) == DESTROYED
    assert status(cu.cuEventQuery(0)) == INVALID_HANDLE


def test_flags_of_record_and_wait(context):
    event = ok(cu.cuEventCreate(0))
    answers = [status(cu.cuEventRecordWithFlags(event, 0, flags)) for flags in (0, 1, 2)]
    assert answers == [status(cu.cuStreamWaitEvent(0, event, flags)) for flags in (0, 1, 2)]
    assert answers == [0, ILLEGAL_STATE, INVALID_VALUE]
    ok(cu.cuEventDestroy(event))


def test_an_event_records_only_work_of_its_own_context(context):
    event, other = ok(cu.cuEventCreate(0)), ok(cu.cuCtxCreate(None, 0, 1))
    foreign = ok(cu.cuStreamCreate(0))
    assert status(cu.cuEventRecord(event, foreign)) == INVALID_HANDLE
    assert status(cu.cuStreamWaitEvent(foreign, event, 0)) == 0
    ok(cu.cuCtxDestroy(other))
    ok(cu.cuEventRecord(event, 0))
    ok(cu.cuEventDestroy(event))
