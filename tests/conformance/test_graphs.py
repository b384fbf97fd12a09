"""Graphs, their nodes and executable graphs: each rule with the neighbour that it lets through."""

from __future__ import annotations

import ctypes

import pytest
from builders import accepted, refused, use
from cuda.bindings import driver as cu

from answers import ok

PTX = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry nothing() { ret; }
\0"""
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: None)


@pytest.fixture(autouse=True)
def current(hardware) -> None:
    use(0)


@pytest.fixture
def graph():
    return ok(cu.cuGraphCreate(0))


@pytest.fixture
def stream():
    return ok(cu.cuStreamCreate(1))


@pytest.fixture
def memory():
    return int(ok(cu.cuMemAlloc(4096)))


@pytest.fixture
def context():
    return ok(cu.cuCtxGetCurrent())


def kernel(**fields):
    """Describe a kernel node of one thread."""
    made = cu.CUDA_KERNEL_NODE_PARAMS()
    made.gridDimX = made.gridDimY = made.gridDimZ = made.blockDimX = made.blockDimY = made.blockDimZ = 1
    made.func = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(PTX)), b"nothing"))
    return with_fields(made, fields)


def fill(dst, **fields):
    """Describe a memset of one word."""
    made = cu.CUDA_MEMSET_NODE_PARAMS()
    made.dst, made.elementSize, made.width, made.height = dst, 4, 1, 1
    return with_fields(made, fields)


def copy(dst, src, **fields):
    """Describe a copy of a word."""
    made = cu.CUDA_MEMCPY3D()
    made.srcMemoryType = made.dstMemoryType = cu.CUmemorytype(2)
    made.dstDevice, made.srcDevice, made.WidthInBytes, made.Height, made.Depth = dst, src, 4, 1, 1
    return with_fields(made, fields)


def with_fields(made, fields):
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def edge(from_port=0, to_port=0, kind=0):
    """Describe the data of an edge."""
    made = cu.CUgraphEdgeData()
    made.from_port, made.to_port, made.type = from_port, to_port, kind
    return made


def empty(graph):
    return ok(cu.cuGraphAddEmptyNode(graph, [], 0))


def test_handles_are_used_while_they_live(graph, stream):
    node, made = empty(graph), ok(cu.cuGraphInstantiate(graph, 0))
    assert refused(cu.cuGraphLaunch, graph, stream) == (1, "MC1203")
    assert accepted(cu.cuGraphLaunch, made, stream) == ""
    assert refused(cu.cuGraphNodeGetType, 5) == (1, "MC1202")
    assert accepted(cu.cuGraphNodeGetType, node) == ""
    for call, given, code in (
        (cu.cuGraphDestroyNode, node, "MC1202"),
        (cu.cuGraphExecDestroy, made, "MC1203"),
        (cu.cuGraphDestroy, graph, "MC1201"),
    ):
        assert accepted(call, given) == ""
        assert refused(call, given) == (1, code)


def test_flags_are_known(graph):
    assert refused(cu.cuGraphCreate, 1) == (1, "MC1204")
    for flags in (2, 16):
        assert refused(cu.cuGraphInstantiate, graph, flags) == (1, "MC1204")
    assert accepted(cu.cuGraphInstantiate, graph, 9) == ""


def test_edges_lie_in_one_graph_once_and_between_two_nodes(graph):
    one, other, stranger = empty(graph), empty(graph), empty(ok(cu.cuGraphCreate(0)))
    assert refused(cu.cuGraphAddEmptyNode, graph, [stranger], 1) == (1, "MC1205")
    assert refused(cu.cuGraphAddDependencies, graph, [one], [stranger], None, 1) == (1, "MC1205")
    assert refused(cu.cuGraphAddEmptyNode, graph, [one, one], 2) == (1, "MC1206")
    assert refused(cu.cuGraphAddDependencies, graph, [one], [one], None, 1) == (1, "MC1207")
    assert accepted(cu.cuGraphAddDependencies, graph, [one], [other], None, 1) == ""
    assert refused(cu.cuGraphAddDependencies, graph, [one], [other], None, 1) == (1, "MC1206")
    assert refused(cu.cuGraphRemoveDependencies, graph, [other], [one], None, 1) == (1, "MC1208")
    assert accepted(cu.cuGraphRemoveDependencies, graph, [one], [other], None, 1) == ""


def test_a_refused_edge_leaves_the_others_out(graph):
    one, other = empty(graph), empty(graph)
    assert refused(cu.cuGraphAddDependencies, graph, [one, one], [other, one], None, 2) == (1, "MC1207")
    assert ok(cu.cuGraphGetEdges(graph))[-1] == 0


def test_edge_data_fit_their_nodes_and_are_asked_for(graph):
    first, second = (ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel())) for _ in range(2))
    other = empty(graph)
    assert refused(cu.cuGraphAddDependencies, graph, [first], [other], [edge(1, 0, 1)], 1) == (1, "MC1209")
    assert refused(cu.cuGraphAddDependencies, graph, [first], [second], [edge(1, 1, 1)], 1) == (1, "MC1209")
    assert accepted(cu.cuGraphAddDependencies, graph, [first], [second], [edge(1, 0, 1)], 1) == ""
    room, count = (ctypes.c_uint64 * 4)(), ctypes.c_uint64(4)
    library = ctypes.CDLL("libcuda.so.1")
    node = ctypes.c_void_p(int(second))
    assert library.cuGraphNodeGetDependencies(node, room, ctypes.byref(count)) == 402
    assert library.cuGraphNodeGetDependencies_v2(node, room, (ctypes.c_uint64 * 4)(), ctypes.byref(count)) == 0
    assert (room[0], count.value) == (int(first), 1)


def test_a_circle_is_not_instantiated(graph):
    one, other = empty(graph), empty(graph)
    ok(cu.cuGraphAddDependencies(graph, [one, other], [other, one], None, 2))
    assert refused(cu.cuGraphInstantiate, graph, 0) == (1, "MC1210")
    params = cu.CUDA_GRAPH_INSTANTIATE_PARAMS()
    assert refused(cu.cuGraphInstantiateWithParams, graph, params) == (1, "MC1210")
    assert int(params.result_out) == 2
    ok(cu.cuGraphRemoveDependencies(graph, [other], [one], None, 1))
    assert accepted(cu.cuGraphInstantiateWithParams, graph, params) == ""
    assert int(params.result_out) == 0


def test_a_node_answers_for_its_kind(graph, context, memory):
    node = ok(cu.cuGraphAddMemsetNode(graph, [], 0, fill(memory), context))
    assert refused(cu.cuGraphKernelNodeGetParams, node) == (1, "MC1211")
    assert accepted(cu.cuGraphMemsetNodeGetParams, node) == ""
    made = ok(cu.cuGraphInstantiate(graph, 0))
    assert refused(cu.cuGraphExecKernelNodeSetParams, made, node, kernel()) == (1, "MC1211")
    assert accepted(cu.cuGraphExecMemsetNodeSetParams, made, node, fill(memory), context) == ""


def test_memset_and_copy_nodes_have_work(graph, context, memory):
    for fields in ({"width": 0}, {"height": 0}, {"elementSize": 3}):
        assert refused(cu.cuGraphAddMemsetNode, graph, [], 0, fill(memory, **fields), context) == (1, "MC1213")
    for fields in ({"WidthInBytes": 0}, {"Height": 0}, {"Depth": 0}):
        given = copy(memory, memory + 64, **fields)
        assert refused(cu.cuGraphAddMemcpyNode, graph, [], 0, given, context) == (1, "MC1214")
    assert accepted(cu.cuGraphAddMemsetNode, graph, [], 0, fill(memory), context) == ""
    assert accepted(cu.cuGraphAddMemcpyNode, graph, [], 0, copy(memory, memory + 64), context) == ""


def test_nodes_touch_memory_that_is_there(graph, context, memory):
    assert refused(cu.cuGraphAddMemsetNode, graph, [], 0, fill(16), context) == (1, "MC951")
    assert refused(cu.cuGraphAddMemcpyNode, graph, [], 0, copy(memory, 16), context) == (1, "MC951")


def test_a_child_graph_belongs_to_its_node(graph):
    node = ok(cu.cuGraphAddChildGraphNode(graph, [], 0, ok(cu.cuGraphCreate(0))))
    inside = ok(cu.cuGraphChildGraphNodeGetGraph(node))
    assert refused(cu.cuGraphInstantiate, inside, 0) == (801, "MC1215")
    assert refused(cu.cuGraphDestroy, inside) == (1, "MC1216")
    assert refused(cu.cuGraphAddChildGraphNode, graph, [], 0, graph) == (1, "MC1201")
    assert accepted(cu.cuGraphInstantiate, graph, 0) == ""
    assert accepted(cu.cuGraphDestroyNode, node) == ""
    assert refused(cu.cuGraphGetNodes, inside) == (1, "MC1201")


def test_a_graph_is_at_rest_when_it_is_taken_apart(graph, stream):
    node = empty(graph)
    ok(cu.cuStreamBeginCaptureToGraph(stream, graph, [], None, 0, cu.CUstreamCaptureMode(2)))
    assert refused(cu.cuGraphDestroyNode, node) == (401, "MC1217")
    assert refused(cu.cuGraphDestroy, graph) == (401, "MC1217")
    ok(cu.cuStreamEndCapture(stream))
    assert accepted(cu.cuGraphDestroyNode, node) == ""
    assert accepted(cu.cuGraphDestroy, graph) == ""


def test_an_executable_graph_knows_the_nodes_of_its_graph(graph):
    node = ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel()))
    made, late = ok(cu.cuGraphInstantiate(graph, 0)), ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel()))
    assert refused(cu.cuGraphExecKernelNodeSetParams, made, late, kernel()) == (1, "MC1218")
    assert refused(cu.cuGraphNodeSetEnabled, made, late, 0) == (1, "MC1218")
    assert accepted(cu.cuGraphExecKernelNodeSetParams, made, node, kernel()) == ""
    assert accepted(cu.cuGraphNodeSetEnabled, made, node, 0) == ""


def test_only_kernels_copies_and_memsets_are_switched_off(graph):
    node, other = empty(graph), ok(cu.cuGraphAddKernelNode(graph, [], 0, kernel()))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    assert refused(cu.cuGraphNodeSetEnabled, made, node, 0) == (1, "MC1221")
    assert accepted(cu.cuGraphNodeSetEnabled, made, other, 0) == ""
    assert ok(cu.cuGraphNodeGetEnabled(made, other)) == 0


def test_an_update_keeps_the_shape(graph, context, memory):
    node = ok(cu.cuGraphAddMemsetNode(graph, [], 0, fill(memory), context))
    made = ok(cu.cuGraphInstantiate(graph, 0))
    rows = fill(memory, height=2, pitch=16)
    assert refused(cu.cuGraphExecMemsetNodeSetParams, made, node, rows, context) == (1, "MC1220")
    assert accepted(cu.cuGraphExecMemsetNodeSetParams, made, node, fill(memory, width=2), context) == ""
    ok(cu.cuGraphMemsetNodeSetParams(node, fill(memory, value=3)))
    assert accepted(cu.cuGraphExecUpdate, made, graph) == ""
    empty(graph)
    assert refused(cu.cuGraphExecUpdate, made, graph) == (910, "MC1219")


def test_a_clone_has_twins_of_its_originals_nodes(graph):
    node = empty(graph)
    clone, late = ok(cu.cuGraphClone(graph)), empty(graph)
    assert refused(cu.cuGraphNodeFindInClone, late, clone) == (1, "MC1222")
    assert accepted(cu.cuGraphNodeFindInClone, node, clone) == ""


def test_a_kernel_node_names_a_kernel_and_is_checked_as_a_launch(graph):
    assert refused(cu.cuGraphAddKernelNode, graph, [], 0, kernel(func=0)) == (400, "MC1223")
    assert refused(cu.cuGraphAddKernelNode, graph, [], 0, kernel(gridDimX=0)) == (1, "MC1101")
    assert accepted(cu.cuGraphAddKernelNode, graph, [], 0, kernel()) == ""


def test_user_objects_are_counted(graph):
    destroy = cu.CUhostFn(ctypes.cast(HOST, ctypes.c_void_p).value)
    assert refused(cu.cuUserObjectCreate, 0, destroy, 1, 0) == (1, "MC1227")
    assert refused(cu.cuUserObjectCreate, 0, destroy, 0, 1) == (1, "MC1225")
    made = ok(cu.cuUserObjectCreate(0, destroy, 1, 1))
    assert refused(cu.cuUserObjectRelease, made, 2) == (1, "MC1226")
    assert refused(cu.cuGraphReleaseUserObject, graph, made, 1) == (1, "MC1226")
    assert accepted(cu.cuGraphRetainUserObject, graph, made, 1, 1) == ""
    assert refused(cu.cuUserObjectRelease, made, 1) == (1, "MC1226"), "it was moved into the graph"
    assert accepted(cu.cuGraphReleaseUserObject, graph, made, 1) == ""
    assert refused(cu.cuUserObjectRetain, made, 1) == (1, "MC1224")
