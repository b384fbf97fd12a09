"""Stream capture: what becomes of captured work, and that nothing of it runs before."""

from __future__ import annotations

import ctypes

import pytest
from cuda.bindings import driver as cu
from graph_parts import (
    ACTIVE,
    GLOBAL,
    INVALIDATED,
    NONE,
    RELAXED,
    Parameters,
    Words,
    add_to,
    function,
    host_function,
    kinds,
    launch,
    run,
)

from answers import ok, status


@pytest.fixture
def other(context):
    made = ok(cu.cuStreamCreate(1))
    yield made
    ok(cu.cuStreamDestroy(made))


def capturing(stream) -> int:
    return int(ok(cu.cuStreamIsCapturing(stream)))


def test_captured_work_runs_at_each_launch_and_not_before(stream, words):
    add = function("add")
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    assert capturing(stream) == ACTIVE
    ok(launch(add, stream, add_to(words.address, 3)))
    ok(cu.cuMemcpyDtoDAsync(words.address + 4, words.address, 4, stream))
    ok(cu.cuMemsetD32Async(words.address + 8, 9, 1, stream))
    graph = ok(cu.cuStreamEndCapture(stream))
    assert capturing(stream) == NONE
    assert words.read()[:3] == [0, 0, 0]
    assert kinds(graph) == [0, 1, 2]
    run(graph, stream, 2)
    assert words.read()[:3] == [6, 6, 9]
    ok(cu.cuGraphDestroy(graph))


def test_parameters_are_those_of_the_capture(stream, words):
    number = ctypes.c_uint32(5)
    parameters = Parameters(ctypes.c_uint64(words.address), number)
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(launch(function("add"), stream, parameters))
    number.value = 1000
    graph = ok(cu.cuStreamEndCapture(stream))
    run(graph, stream)
    assert words.read()[0] == 5
    ok(cu.cuGraphDestroy(graph))


def test_host_memory_is_read_and_written_when_the_graph_runs(stream, words):
    data, back = bytearray(b"\1\0\0\0"), bytearray(4)
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(cu.cuMemcpyHtoDAsync(words.address, data, 4, stream))
    ok(launch(function("double"), stream, Parameters(ctypes.c_uint64(words.address))))
    ok(cu.cuMemcpyDtoHAsync(back, words.address, 4, stream))
    graph = ok(cu.cuStreamEndCapture(stream))
    data[0] = 21
    run(graph, stream)
    assert back[0] == 42
    ok(cu.cuGraphDestroy(graph))


def test_host_functions_run_between_what_they_were_captured_between(stream, words):
    seen, kept = [], bytearray(4)
    call, alive = host_function(lambda data: seen.append((data, kept[0])))
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    for value in (1, 2):
        ok(cu.cuMemsetD32Async(words.address, value, 1, stream))
        ok(cu.cuMemcpyDtoHAsync(kept, words.address, 4, stream))
        ok(cu.cuLaunchHostFunc(stream, call, value))
    graph = ok(cu.cuStreamEndCapture(stream))
    assert seen == []
    run(graph, stream)
    assert seen == [(1, 1), (2, 2)]
    ok(cu.cuGraphDestroy(graph))
    del alive


def test_values_in_memory_are_captured(stream, words):
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(cu.cuStreamWriteValue32(stream, words.address, 7, 0))
    ok(cu.cuStreamWaitValue32(stream, words.address, 7, 1))
    ok(cu.cuMemsetD32Async(words.address + 4, 8, 1, stream))
    graph = ok(cu.cuStreamEndCapture(stream))
    assert kinds(graph) == [12, 12, 2]
    run(graph, stream)
    assert words.read()[:2] == [7, 8]
    ok(cu.cuGraphDestroy(graph))


def test_rows_are_captured(stream, words):
    plane = cu.CUDA_MEMCPY2D()
    plane.srcMemoryType = plane.dstMemoryType = cu.CUmemorytype(2)
    plane.srcDevice, plane.dstDevice, plane.srcPitch, plane.dstPitch = words.address, words.address + 16, 8, 4
    plane.WidthInBytes, plane.Height = 4, 2
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(cu.cuMemsetD2D32Async(words.address, 8, 5, 1, 2, stream))
    ok(cu.cuMemcpy2DAsync(plane, stream))
    graph = ok(cu.cuStreamEndCapture(stream))
    run(graph, stream)
    assert words.read() == [5, 0, 5, 0, 5, 5, *[0] * 10]
    ok(cu.cuGraphDestroy(graph))


def test_a_fork_joins_by_events_and_both_sides_are_in_the_graph(stream, other, words):
    forked, joined = ok(cu.cuEventCreate(2)), ok(cu.cuEventCreate(2))
    add = function("add")
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(launch(add, stream, add_to(words.address, 1)))
    ok(cu.cuEventRecord(forked, stream))
    ok(cu.cuStreamWaitEvent(other, forked, 0))
    assert capturing(other) == ACTIVE
    ok(launch(add, other, add_to(words.address + 4, 10)))
    ok(launch(add, stream, add_to(words.address + 8, 100)))
    ok(cu.cuEventRecord(joined, other))
    ok(cu.cuStreamWaitEvent(stream, joined, 0))
    ok(launch(add, stream, add_to(words.address, 1)))
    graph = ok(cu.cuStreamEndCapture(stream))
    assert capturing(other) == NONE
    assert ok(cu.cuGraphGetEdges(graph))[-1] == 4
    run(graph, stream, 3)
    assert words.read()[:3] == [6, 30, 300]
    ok(cu.cuGraphDestroy(graph))
    ok(cu.cuEventDestroy(forked)), ok(cu.cuEventDestroy(joined))


def test_branches_run_beside_each_other_so_kernels_may_wait_for_each_other(stream, other, words):
    forked, joined, meet = ok(cu.cuEventCreate(2)), ok(cu.cuEventCreate(2)), function("meet")
    first, second = ctypes.c_uint64(words.address), ctypes.c_uint64(words.address + 4)
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(cu.cuEventRecord(forked, stream))
    ok(cu.cuStreamWaitEvent(other, forked, 0))
    ok(launch(meet, stream, Parameters(first, second)))
    ok(launch(meet, other, Parameters(second, first)))
    ok(cu.cuEventRecord(joined, other))
    ok(cu.cuStreamWaitEvent(stream, joined, 0))
    graph = ok(cu.cuStreamEndCapture(stream))
    run(graph, stream)
    assert words.read()[:2] == [1, 1]
    ok(cu.cuGraphDestroy(graph))
    ok(cu.cuEventDestroy(forked)), ok(cu.cuEventDestroy(joined))


def test_a_fork_to_another_device_runs_there(machine, stream, words):
    here = ok(cu.cuCtxGetCurrent())
    there = ok(cu.cuDevicePrimaryCtxRetain(1))
    ok(cu.cuCtxSetCurrent(there))
    far, event, joined = ok(cu.cuStreamCreate(1)), ok(cu.cuEventCreate(2)), ok(cu.cuEventCreate(2))
    distant, add = Words(), function("add")
    ok(cu.cuCtxSetCurrent(here))
    begun = ok(cu.cuEventCreate(2))
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(launch(function("add"), stream, add_to(words.address, 1)))
    ok(cu.cuEventRecord(begun, stream))
    ok(cu.cuStreamWaitEvent(far, begun, 0))
    ok(launch(add, far, add_to(distant.address, 2)))
    ok(cu.cuEventRecord(joined, far))
    ok(cu.cuStreamWaitEvent(stream, joined, 0))
    graph = ok(cu.cuStreamEndCapture(stream))
    run(graph, stream, 2)
    assert (words.read()[0], distant.read()) == (2, [4])
    ok(cu.cuGraphDestroy(graph)), ok(cu.cuEventDestroy(begun))
    ok(cu.cuCtxSetCurrent(there))
    distant.close(), ok(cu.cuStreamDestroy(far)), ok(cu.cuEventDestroy(event)), ok(cu.cuEventDestroy(joined))
    ok(cu.cuCtxSetCurrent(here)), ok(cu.cuDevicePrimaryCtxRelease(1))


def test_external_events_are_nodes_that_act_at_each_launch(stream, other, words):
    event = ok(cu.cuEventCreate(0))
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(cu.cuEventRecordWithFlags(event, stream, 1))
    graph = ok(cu.cuStreamEndCapture(stream))
    assert kinds(graph) == [7]
    assert status(cu.cuEventElapsedTime(event, event)) == 400
    run(graph, stream)
    assert ok(cu.cuEventElapsedTime(event, event)) == 0
    ok(cu.cuGraphDestroy(graph)), ok(cu.cuEventDestroy(event))


def test_a_capture_goes_on_in_a_graph_behind_nodes_of_it(stream, words):
    graph = ok(cu.cuGraphCreate(0))
    first = ok(cu.cuGraphAddEmptyNode(graph, [], 0))
    ok(cu.cuStreamBeginCaptureToGraph(stream, graph, [first], None, 1, RELAXED))
    ok(cu.cuMemsetD32Async(words.address, 4, 1, stream))
    assert int(ok(cu.cuStreamEndCapture(stream))) == int(graph)
    nodes = ok(cu.cuGraphGetNodes(graph, 2))[0]
    assert [int(node) for node in ok(cu.cuGraphNodeGetDependencies(nodes[1], 1))[0]] == [int(first)]
    run(graph, stream)
    assert words.read()[0] == 4
    ok(cu.cuGraphDestroy(graph))


def test_what_comes_next_can_be_asked_and_changed(stream, words):
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    state, number, graph, tips, *_ = ok(cu.cuStreamGetCaptureInfo(stream))
    assert (int(state), list(tips)) == (ACTIVE, [])
    ok(cu.cuMemsetD32Async(words.address, 4, 1, stream))
    added = ok(cu.cuGraphAddEmptyNode(graph, [], 0))
    ok(cu.cuStreamUpdateCaptureDependencies(stream, [added], None, 1, 0))
    again = ok(cu.cuStreamGetCaptureInfo(stream))
    assert int(again[1]) == int(number)
    assert [int(node) for node in again[3]][1:] == [int(added)]
    ok(cu.cuStreamUpdateCaptureDependencies(stream, [], None, 0, 1))
    assert list(ok(cu.cuStreamGetCaptureInfo(stream))[3]) == []
    ok(cu.cuGraphDestroy(ok(cu.cuStreamEndCapture(stream))))
    assert int(ok(cu.cuStreamGetCaptureInfo(stream))[0]) == NONE


def test_a_stream_that_is_destroyed_takes_its_capture_with_it(context):
    stream = ok(cu.cuStreamCreate(1))
    ok(cu.cuStreamBeginCapture(stream, GLOBAL))
    ok(cu.cuStreamDestroy(stream))
    memory = ok(cu.cuMemAlloc(4))  # no capture forbids it any more
    ok(cu.cuMemFree(memory))


def test_an_invalid_capture_is_ended_once_and_the_stream_is_as_before(stream, words):
    ok(cu.cuStreamBeginCapture(stream, RELAXED))
    assert status(cu.cuStreamSynchronize(stream)) == 900
    assert capturing(stream) == INVALIDATED
    assert status(cu.cuMemsetD32Async(words.address, 4, 1, stream)) == 901
    assert status(cu.cuStreamEndCapture(stream)) == 901
    assert status(cu.cuStreamEndCapture(stream)) == 401
    ok(cu.cuMemsetD32Async(words.address, 4, 1, stream))
    ok(cu.cuStreamSynchronize(stream))
    assert words.read()[0] == 4
