"""Executable graphs changed in place, switched off in part, and what they keep alive."""

from __future__ import annotations

import ctypes
import threading

from cuda.bindings import driver as cu
from graph_parts import (
    RELAXED,
    Parameters,
    add_to,
    copy_params,
    function,
    host_function,
    kernel_params,
    launch,
    memset_params,
)

from answers import ok

TOPOLOGY, NODE_TYPE, PARAMETERS = 2, 3, 5
SECONDS = 10


def launched(made, stream) -> None:
    ok(cu.cuGraphLaunch(made, stream))
    ok(cu.cuStreamSynchronize(stream))


def update(made, graph) -> tuple[int, int, int]:
    """Update through the C entry: the bindings answer no structure where it is refused."""
    info = (ctypes.c_uint64 * 3)()
    library = ctypes.CDLL("libcuda.so.1")
    answer = library.cuGraphExecUpdate_v2(ctypes.c_void_p(int(made)), ctypes.c_void_p(int(graph)), info)
    return answer, info[0] & 0xFFFFFFFF, info[1]


def test_nodes_are_changed_one_by_one_for_future_launches(context, stream, words, graph):
    add = function("add")
    kernel = ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel_params(add, add_to(words.address, 1))))
    fill = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address + 4, 2), context))
    copy = copy_params(words.address + 8, words.address + 4, 4)
    copied = ok(cu.cuGraphAddMemcpyNode(graph, [fill], 1, copy, context))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    launched(made, stream)
    assert words.read()[:4] == [1, 2, 2, 0]
    ok(cu.cuGraphExecKernelNodeSetParams(made, kernel, kernel_params(add, add_to(words.address, 10))))
    ok(cu.cuGraphExecMemsetNodeSetParams(made, fill, memset_params(words.address + 4, 7), context))
    copy.dstDevice = words.address + 12
    ok(cu.cuGraphExecMemcpyNodeSetParams(made, copied, copy, context))
    launched(made, stream)
    assert words.read()[:4] == [11, 7, 2, 7]
    ok(cu.cuGraphExecDestroy(made))


def test_a_node_that_is_switched_off_does_nothing_and_order_stays(context, stream, words, graph):
    first = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address, 5), context))
    middle = ok(cu.cuGraphAddKernelNode(graph, [first], 1, kernel_params(function("add"), add_to(words.address, 1))))
    ok(cu.cuGraphAddMemcpyNode(graph, [middle], 1, copy_params(words.address + 4, words.address, 4), context))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    for enabled, expected in ((0, 5), (1, 6)):
        ok(cu.cuGraphNodeSetEnabled(made, middle, enabled))
        launched(made, stream)
        assert words.read()[:2] == [expected, expected]
    ok(cu.cuGraphExecDestroy(made))


def test_what_was_captured_again_updates(stream, words):
    made = None
    for number in (1, 2, 3):
        ok(cu.cuStreamBeginCapture(stream, RELAXED))
        ok(cu.cuMemsetD32Async(words.address, 10 * number, 1, stream))
        ok(launch(function("add"), stream, add_to(words.address, number)))
        graph = ok(cu.cuStreamEndCapture(stream))
        if made is None:
            made = ok(cu.cuGraphInstantiate(graph, 0))
        else:
            assert update(made, graph) == (0, 0, 0)
        ok(cu.cuGraphDestroy(graph))
        launched(made, stream)
        assert words.read()[0] == 11 * number
    ok(cu.cuGraphExecDestroy(made))


def test_an_update_says_what_differs_and_changes_nothing(context, stream, words, graph):
    address = words.address
    first = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(address, 1), context))
    second = ok(cu.cuGraphAddMemsetNode(graph, [first], 1, memset_params(address + 4, 1), context))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphMemsetNodeSetParams(first, memset_params(address, 9)))
    ok(cu.cuGraphMemsetNodeSetParams(second, memset_params(address + 4, 9, height=2, pitch=8)))
    assert update(made, graph) == (910, PARAMETERS, int(second))
    ok(cu.cuGraphRemoveDependencies(graph, [first], [second], None, 1))
    ok(cu.cuGraphMemsetNodeSetParams(second, memset_params(address + 4, 9)))
    assert update(made, graph) == (910, TOPOLOGY, int(second))
    ok(cu.cuGraphDestroyNode(second))
    assert update(made, graph)[:2] == (910, TOPOLOGY)
    empty = ok(cu.cuGraphAddEmptyNode(graph, [first], 1))
    assert update(made, graph) == (910, NODE_TYPE, int(empty))
    launched(made, stream)
    assert words.read()[:2] == [1, 1]
    ok(cu.cuGraphExecDestroy(made))


def test_a_child_graph_is_changed_from_another_graph(context, stream, words, graph):
    child, other = (ok(cu.cuGraphCreate(0)) for _ in range(2))
    for value, each in ((1, child), (2, other)):
        ok(cu.cuGraphAddMemsetNode(each, [], 0, memset_params(words.address, value), context))
    node = ok(cu.cuGraphAddChildGraphNode(graph, [], 0, child))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphExecChildGraphNodeSetParams(made, node, other))
    launched(made, stream)
    assert words.read()[0] == 2
    for each in (child, other):
        ok(cu.cuGraphDestroy(each))
    ok(cu.cuGraphExecDestroy(made))


def test_events_and_host_functions_are_changed(context, stream, graph):
    seen, (one, other) = [], (ok(cu.cuEventCreate(0)) for _ in range(2))
    call, alive = host_function(seen.append)
    params = cu.CUDA_HOST_NODE_PARAMS()
    params.fn, params.userData = call, 1
    record = ok(cu.cuGraphAddEventRecordNode(graph, [], 0, one))
    host = ok(cu.cuGraphAddHostNode(graph, [record], 1, params))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    params.userData = 2
    ok(cu.cuGraphExecHostNodeSetParams(made, host, params))
    ok(cu.cuGraphExecEventRecordNodeSetEvent(made, record, other))
    launched(made, stream)
    assert seen == [2]
    assert ok(cu.cuEventElapsedTime(other, other)) == 0
    assert cu.cuEventElapsedTime(one, one)[0] == cu.CUresult.CUDA_ERROR_INVALID_HANDLE
    ok(cu.cuGraphExecDestroy(made)), ok(cu.cuEventDestroy(one)), ok(cu.cuEventDestroy(other))
    del alive


def test_user_objects_live_as_long_as_graphs_and_launches(context, stream):
    ended, gate = threading.Event(), threading.Event()
    destroy, alive = host_function(lambda data: ended.set())
    wait, also = host_function(lambda data: gate.wait(SECONDS))
    graph, host = ok(cu.cuGraphCreate(0)), cu.CUDA_HOST_NODE_PARAMS()
    host.fn, host.userData = wait, 0
    ok(cu.cuGraphAddHostNode(graph, [], 0, host))
    made = ok(cu.cuUserObjectCreate(0, destroy, 1, 1))
    ok(cu.cuGraphRetainUserObject(graph, made, 1, 1))
    executable = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphDestroy(graph))
    ok(cu.cuGraphLaunch(executable, stream))
    ok(cu.cuGraphExecDestroy(executable))
    assert not ended.wait(0.2), "the launch still needs it"
    gate.set()
    assert ended.wait(SECONDS)
    del alive, also


def test_a_destroyed_executable_graph_is_carried_out(context, stream, words, graph):
    for k in range(4):
        add = kernel_params(function("add"), add_to(words.address + 4 * k, k + 1))
        ok(cu.cuGraphAddKernelNode(graph, [], 0, add))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphLaunch(made, stream))
    ok(cu.cuGraphExecDestroy(made))
    ok(cu.cuStreamSynchronize(stream))
    assert words.read()[:4] == [1, 2, 3, 4]


def test_forks_and_joins_need_no_more_lanes_than_branches(machine, context, stream, words, graph):
    add, joint = function("add"), []
    for _ in range(10):
        params = [kernel_params(add, add_to(words.address + 4 * k, 1)) for k in range(3)]
        nodes = [ok(cu.cuGraphAddKernelNode(graph, joint, len(joint), each)) for each in params]
        joint = [ok(cu.cuGraphAddKernelNode(graph, nodes, 3, kernel_params(add, add_to(words.address + 12, 1))))]
    made = ok(cu.cuGraphInstantiate(graph, 0))
    assert len(machine.process.graphs.find_exec(int(made)).lanes) == 3
    launched(made, stream)
    assert words.read()[:4] == [10] * 4
    ok(cu.cuGraphExecDestroy(made))


def test_all_branches_are_waited_for(context, stream, words, graph):
    """A kernel that waits for its partner ends only if both run; what comes behind the graph sees both."""
    meet = function("meet")
    first, second = ctypes.c_uint64(words.address), ctypes.c_uint64(words.address + 4)
    for pair in ((first, second), (second, first)):
        ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel_params(meet, Parameters(*pair))))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphLaunch(made, stream))
    ok(cu.cuMemcpyDtoDAsync(words.address + 8, words.address, 8, stream))
    ok(cu.cuStreamSynchronize(stream))
    assert words.read()[:4] == [1, 1, 1, 1]
    ok(cu.cuGraphExecDestroy(made))
