"""Graphs built by hand: what their nodes do, in which order, and what is asked of them."""

from __future__ import annotations

import ctypes

from cuda.bindings import driver as cu
from graph_parts import (
    Parameters,
    Words,
    add_to,
    copy_params,
    function,
    host_function,
    kernel_params,
    kinds,
    memset_params,
    run,
)

from answers import ok, status

MANY = 300


def values(nodes) -> list[int]:
    return [int(node) for node in nodes]


def test_nodes_run_behind_what_they_depend_on(context, stream, words, graph):
    add, double = function("add"), function("double")
    address = ctypes.c_uint64(words.address)
    last = ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel_params(double, Parameters(address))))
    first = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address, 5), context))
    middle = ok(cu.cuGraphAddKernelNode(graph, [first], 1, kernel_params(add, add_to(words.address, 2))))
    ok(cu.cuGraphAddDependencies(graph, [middle], [last], None, 1))
    run(graph, stream)
    assert words.read()[0] == 14
    assert values(ok(cu.cuGraphGetRootNodes(graph, 8))[0])[0] == int(first)
    assert values(ok(cu.cuGraphNodeGetDependentNodes(first, 1))[0]) == [int(middle)]


def test_launches_of_one_graph_follow_each_other_in_any_stream(context, stream, words, graph):
    other = ok(cu.cuStreamCreate(1))
    ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel_params(function("add"), add_to(words.address, 1))))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    for k in range(40):
        ok(cu.cuGraphLaunch(made, other if k % 2 else stream))
    ok(cu.cuCtxSynchronize())
    assert words.read()[0] == 40
    ok(cu.cuGraphExecDestroy(made)), ok(cu.cuStreamDestroy(other))


def test_a_graph_is_ordered_with_the_work_around_it(context, stream, words, graph):
    double = kernel_params(function("double"), Parameters(ctypes.c_uint64(words.address)))
    ok(cu.cuGraphAddKernelNode(graph, [], 0, double))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuMemsetD32Async(words.address, 3, 1, stream))
    ok(cu.cuGraphLaunch(made, stream))
    ok(cu.cuMemcpyDtoDAsync(words.address + 4, words.address, 4, stream))
    ok(cu.cuMemsetD32Async(words.address, 1, 1, stream))
    ok(cu.cuStreamSynchronize(stream))
    assert words.read()[:2] == [1, 6]
    ok(cu.cuGraphExecDestroy(made))


def test_copies_have_rows_and_planes(context, stream, words, graph):
    source = Words(16)
    for k in range(16):
        ok(cu.cuMemsetD32(source.address + 4 * k, k, 1))
    made = copy_params(words.address, source.address, width=4, height=2, depth=2, pitch=8)
    ok(cu.cuGraphAddMemcpyNode(graph, [], 0, made, context))
    run(graph, stream)
    assert words.read()[:5] == [0, 2, 4, 6, 0]
    source.close()


def test_a_child_graph_is_a_copy_that_runs_in_its_nodes_place(context, stream, words, graph):
    child = ok(cu.cuGraphCreate(0))
    add, address = function("add"), words.address
    ok(cu.cuGraphAddKernelNode(child, [], 0, kernel_params(add, add_to(address, 10))))
    first = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(address, 1), context))
    node = ok(cu.cuGraphAddChildGraphNode(graph, [first], 1, child))
    ok(cu.cuGraphDestroy(child))
    inside = ok(cu.cuGraphChildGraphNodeGetGraph(node))
    ok(cu.cuGraphAddKernelNode(inside, [], 0, kernel_params(add, add_to(address + 4, 1))))
    ok(cu.cuGraphAddMemcpyNode(graph, [node], 1, copy_params(address + 8, address, 8), context))
    run(graph, stream, 2)
    assert words.read()[:4] == [11, 2, 11, 2]
    assert kinds(graph) == [2, 4, 1]


def test_empty_graphs_and_nodes_only_order(context, stream, words, graph):
    run(graph, stream)
    first = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address, 1), context))
    meeting = ok(cu.cuGraphAddEmptyNode(graph, [first], 1))
    nothing = ok(cu.cuGraphCreate(0))
    inside = ok(cu.cuGraphAddChildGraphNode(graph, [meeting], 1, nothing))
    copy = copy_params(words.address + 4, words.address, 4)
    ok(cu.cuGraphAddMemcpyNode(graph, [inside], 1, copy, context))
    run(graph, stream)
    assert words.read()[:2] == [1, 1]
    ok(cu.cuGraphDestroy(nothing))


def test_events_are_recorded_and_waited_for_when_the_graph_runs(context, stream, words, graph):
    seen, (start, end) = [], (ok(cu.cuEventCreate(0)) for _ in range(2))
    call, alive = host_function(lambda data: seen.append(data))
    host = cu.CUDA_HOST_NODE_PARAMS()
    host.fn, host.userData = call, 7
    first = ok(cu.cuGraphAddEventRecordNode(graph, [], 0, start))
    work = ok(cu.cuGraphAddHostNode(graph, [first], 1, host))
    wait = ok(cu.cuGraphAddEventWaitNode(graph, [work], 1, start))
    ok(cu.cuGraphAddEventRecordNode(graph, [wait], 1, end))
    run(graph, stream, 2)
    assert seen == [7, 7]
    assert ok(cu.cuEventElapsedTime(start, end)) > 0
    assert int(ok(cu.cuGraphEventWaitNodeGetEvent(wait))) == int(start)
    ok(cu.cuEventDestroy(start)), ok(cu.cuEventDestroy(end))
    del alive


def test_parameters_are_answered_as_given(context, words, graph):
    add = function("add")
    node = ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel_params(add, add_to(words.address, 9))))
    got = ok(cu.cuGraphKernelNodeGetParams(node))
    pointers = ctypes.cast(int(got.kernelParams), ctypes.POINTER(ctypes.c_void_p))
    assert ctypes.cast(pointers[0], ctypes.POINTER(ctypes.c_uint64))[0] == words.address
    assert ctypes.cast(pointers[1], ctypes.POINTER(ctypes.c_uint32))[0] == 9
    assert (int(got.func), got.gridDimX, got.sharedMemBytes) == (int(add), 1, 0)
    node = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address, 3, 2), context))
    fill = ok(cu.cuGraphMemsetNodeGetParams(node))
    assert (int(fill.dst), fill.value, fill.elementSize, fill.width, fill.height) == (words.address, 3, 4, 2, 1)
    node = ok(cu.cuGraphAddMemcpyNode(graph, [], 0, copy_params(words.address, words.address + 32, 8), context))
    copy = ok(cu.cuGraphMemcpyNodeGetParams(node))
    assert (int(copy.dstDevice), int(copy.srcDevice), copy.WidthInBytes) == (words.address, words.address + 32, 8)


def test_parameters_change_what_future_executable_graphs_do(context, stream, words, graph):
    node = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address, 3), context))
    before = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphMemsetNodeSetParams(node, memset_params(words.address, 4)))
    run(graph, stream)
    assert words.read()[0] == 4
    ok(cu.cuGraphLaunch(before, stream)), ok(cu.cuStreamSynchronize(stream))
    assert words.read()[0] == 3
    ok(cu.cuGraphExecDestroy(before))


def test_nodes_of_any_kind_go_through_one_structure(context, stream, words, graph):
    params = cu.CUgraphNodeParams()
    params.type = cu.CUgraphNodeType(2)
    params.memset.dst, params.memset.value, params.memset.elementSize = words.address, 6, 4
    params.memset.width, params.memset.height = 1, 1
    node = ok(cu.cuGraphAddNode(graph, [], None, 0, params))
    run(graph, stream)
    assert words.read()[0] == 6
    params.memset.value = 8
    ok(cu.cuGraphNodeSetParams(node, params))
    run(graph, stream)
    assert words.read()[0] == 8
    assert ok(cu.cuGraphNodeGetParams(node)).memset.value == 8
    params.type = cu.CUgraphNodeType(13)
    assert status(cu.cuGraphAddNode(graph, [], None, 0, params)) == 801


def test_a_clone_has_twins_of_all_nodes(context, stream, words, graph):
    first = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address, 3), context))
    copy = copy_params(words.address + 4, words.address, 4)
    second = ok(cu.cuGraphAddMemcpyNode(graph, [first], 1, copy, context))
    clone = ok(cu.cuGraphClone(graph))
    twins = [ok(cu.cuGraphNodeFindInClone(node, clone)) for node in (first, second)]
    assert values(ok(cu.cuGraphNodeGetDependencies(twins[1], 1))[0]) == [int(twins[0])]
    ok(cu.cuGraphDestroyNode(second))
    assert (kinds(graph), kinds(clone)) == ([2], [2, 1])
    run(clone, stream)
    assert words.read()[:2] == [3, 3]
    ok(cu.cuGraphDestroy(clone))


def test_large_graphs_run_whole(context, stream, words, graph):
    add = kernel_params(function("add"), add_to(words.address, 1))
    root = ok(cu.cuGraphAddEmptyNode(graph, [], 0))
    nodes = [root]
    for _ in range(MANY):
        nodes.append(ok(cu.cuGraphAddKernelNode(graph, [nodes[-1]], 1, add)))
    ends = [ok(cu.cuGraphAddEmptyNode(graph, [], 0)) for _ in range(MANY)]
    ok(cu.cuGraphAddDependencies(graph, nodes[:MANY], ends, None, MANY))
    last = ok(cu.cuGraphAddEmptyNode(graph, ends, len(ends)))
    assert ok(cu.cuGraphNodeGetDependencies(last))[-1] == MANY
    run(graph, stream)
    assert words.read()[0] == MANY


def test_a_fault_in_a_graph_fails_the_context_with_the_kernels_name(machine):
    ctx = ok(cu.cuDevicePrimaryCtxRetain(0))
    ok(cu.cuCtxSetCurrent(ctx))
    graph, stream = ok(cu.cuGraphCreate(0)), ok(cu.cuStreamCreate(1))
    ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel_params(function("add"), add_to(64, 1))))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    ok(cu.cuGraphLaunch(made, stream))
    assert status(cu.cuStreamSynchronize(stream)) == 700
    assert status(cu.cuGraphLaunch(made, stream)) == 700
    ok(cu.cuGraphExecDestroy(made)), ok(cu.cuGraphDestroy(graph))
    ok(cu.cuCtxSetCurrent(0)), ok(cu.cuDevicePrimaryCtxRelease(0))


def test_the_text_for_graphviz_names_nodes_and_edges(context, words, graph, tmp_path):
    first = ok(cu.cuGraphAddMemsetNode(graph, [], 0, memset_params(words.address, 3), context))
    ok(cu.cuGraphAddKernelNode(graph, [first], 1, kernel_params(function("add"), add_to(words.address, 1))))
    path = tmp_path / "graph.dot"
    ok(cu.cuGraphDebugDotPrint(graph, str(path).encode(), 0))
    text, number = path.read_text(), ok(cu.cuGraphGetId(graph))
    assert f'"graph_{number}_node_0" -> "graph_{number}_node_1";' in text
    assert "KERNEL" in text
    assert "| add |" in text
    assert status(cu.cuGraphDebugDotPrint(graph, b"/nowhere/graph.dot", 0)) == 304


def test_attributes_of_kernel_nodes_are_kept_and_copied(context, words, graph):
    kernel = kernel_params(function("add"), add_to(words.address, 1))
    first, second = (ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel)) for _ in range(2))
    cooperative, cluster, priority = (cu.CUkernelNodeAttrID(number) for number in (2, 4, 8))
    value = cu.CUkernelNodeAttrValue()
    value.cooperative = 1
    ok(cu.cuGraphKernelNodeSetAttribute(first, cooperative, value))
    value = cu.CUkernelNodeAttrValue()
    value.priority = -3
    ok(cu.cuGraphKernelNodeSetAttribute(first, priority, value))
    assert ok(cu.cuGraphKernelNodeGetAttribute(second, cooperative)).cooperative == 0
    ok(cu.cuGraphKernelNodeCopyAttributes(second, first))
    assert ok(cu.cuGraphKernelNodeGetAttribute(second, cooperative)).cooperative == 1
    twin = ok(cu.cuGraphNodeFindInClone(second, clone := ok(cu.cuGraphClone(graph))))
    assert ok(cu.cuGraphKernelNodeGetAttribute(twin, priority)).priority == -3
    value = cu.CUkernelNodeAttrValue()
    value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = 2, 1, 1
    assert status(cu.cuGraphKernelNodeSetAttribute(first, cluster, value)) == 912, "one block is no cluster of two"
    assert status(cu.cuGraphKernelNodeSetAttribute(first, cu.CUkernelNodeAttrID(3), value)) == 1
    ok(cu.cuGraphDestroy(clone))
