"""MC1201 to MC1249: graphs, their nodes, and executable graphs."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status

_ADD = (
    "cuGraphAddKernelNode_v2", "cuGraphAddMemcpyNode", "cuGraphAddMemsetNode", "cuGraphAddHostNode",
    "cuGraphAddChildGraphNode", "cuGraphAddEmptyNode", "cuGraphAddEventRecordNode", "cuGraphAddEventWaitNode",
    "cuGraphAddNode_v2", "cuGraphAddNode_v3",
)  # fmt: skip
_EDGES = ("cuGraphAddDependencies_v2",)
_CUT = ("cuGraphRemoveDependencies_v2",)
_INSTANTIATE = ("cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams")
_SET = (
    "cuGraphKernelNodeGetParams_v2", "cuGraphKernelNodeSetParams_v2", "cuGraphMemcpyNodeGetParams",
    "cuGraphMemcpyNodeSetParams", "cuGraphMemsetNodeGetParams", "cuGraphMemsetNodeSetParams",
    "cuGraphHostNodeGetParams", "cuGraphHostNodeSetParams", "cuGraphChildGraphNodeGetGraph",
    "cuGraphEventRecordNodeGetEvent", "cuGraphEventRecordNodeSetEvent", "cuGraphEventWaitNodeGetEvent",
    "cuGraphEventWaitNodeSetEvent", "cuGraphNodeSetParams", "cuGraphNodeSetParams_v2",
)  # fmt: skip
_EXEC_SET = (
    "cuGraphExecKernelNodeSetParams_v2", "cuGraphExecMemcpyNodeSetParams", "cuGraphExecMemsetNodeSetParams",
    "cuGraphExecHostNodeSetParams", "cuGraphExecChildGraphNodeSetParams", "cuGraphExecEventRecordNodeSetEvent",
    "cuGraphExecEventWaitNodeSetEvent", "cuGraphExecNodeSetParams",
)  # fmt: skip
_ENABLED = ("cuGraphNodeSetEnabled", "cuGraphNodeGetEnabled")
_UPDATE = ("cuGraphExecUpdate_v2",)


def _recorded(group: str, step: str) -> Transcript:
    return Transcript(group, step, recording="graphs")


@rule(
    "MC1201",
    "a graph handle is valid",
    calls=(*_ADD, *_EDGES, *_CUT, *_INSTANTIATE, "cuGraphDestroy", "cuGraphClone", "cuGraphGetNodes"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_destroyed", "add"), _recorded("graph_null", "instantiate")),
)
def graph_valid(graph: int, known: bool) -> str | None:
    """Use a graph until it is destroyed.

        graph_destroy(g); graph_add_empty_node(g, …)   # refused
        graph_add_empty_node(g, …); graph_destroy(g)   # good

    What was instantiated from it lives on. A capture that fails destroys the graph that it made.

    Fix: destroy graphs last.
    """
    return None if known else f"graph {graph:#x} is not a graph of this process"


@rule(
    "MC1202",
    "a node handle is valid",
    calls=(*_SET, *_EXEC_SET, *_ENABLED, "cuGraphDestroyNode", "cuGraphNodeGetType", "cuGraphNodeFindInClone"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_null", "type"), _recorded("graph_null", "destroy_node")),
)
def node_valid(node: int, known: bool) -> str | None:
    """Use a node until it, or its graph, is destroyed.

    A real driver may crash on one that was.

        graph_destroy_node(n); graph_node_get_type(n)   # refused
        graph_node_get_type(n); graph_destroy_node(n)   # good

    Fix: forget the handles with the graph.
    """
    return None if known else f"node {node:#x} is not a node of a graph of this process"


@rule(
    "MC1203",
    "a handle of an executable graph is valid",
    calls=(*_EXEC_SET, *_ENABLED, *_UPDATE, "cuGraphLaunch", "cuGraphUpload", "cuGraphExecDestroy"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_exec_destroyed", "launch"), _recorded("graph_build", "launch.bad_exec")),
)
def exec_valid(graph: int, known: bool) -> str | None:
    """Launch what graph_instantiate answered, not the graph itself, until it is destroyed.

        graph_launch(graph, s)                               # refused
        graph_launch(graph_instantiate_with_flags(graph, 0), s)   # good

    Fix: keep both handles apart.
    """
    return None if known else f"{graph:#x} is not an executable graph of this process"


@rule(
    "MC1204",
    "the flags of a graph are known",
    calls=("cuGraphCreate", *_INSTANTIATE),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        _recorded("graph_build", "create.flags"),
        _recorded("graph_build", "instantiate.flags16"),
        _recorded("graph_build", "instantiate.flags2"),
    ),
)
def graph_flags(flags: int, known: int) -> str | None:
    """Pass 0 to create; AUTO_FREE_ON_LAUNCH (1) and USE_NODE_PRIORITY (8) to instantiate.

    UPLOAD (2) is for instantiate_with_params. `known` is the mask of the flags that the call has.

        graph_instantiate_with_flags(g, 2)   # refused
        graph_instantiate_with_flags(g, 8)   # good

    Fix: take members of GraphInstantiate_flags.
    """
    extra = flags & ~known
    return f"flags {flags:#x} has {extra:#x}, which is not defined here; {known:#x} is" if extra else None


@rule(
    "MC1205",
    "edges lie within one graph",
    calls=(*_ADD, *_EDGES, *_CUT),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_build", "empty.foreign"), _recorded("graph_build", "edge.foreign")),
)
def edge_within(index: int, node: int, inside: bool) -> str | None:
    """Let nodes depend on nodes of the same graph; a clone and a child graph are other graphs.

        graph_add_empty_node(g, [node_of_another_graph], 1)   # refused
        graph_add_empty_node(g, [node_of_g], 1)               # good

    Fix: graph_node_find_in_clone answers the node's twin in a clone.
    """
    return None if inside else f"index {index}: node {node:#x} is not in the graph"


@rule(
    "MC1206",
    "an edge is added once",
    calls=(*_ADD, *_EDGES),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_build", "edge.again"), _recorded("graph_build", "empty.twice")),
)
def edge_new(index: int, known: bool) -> str | None:
    """Name each dependency once.

        graph_add_empty_node(g, [a, a], 2)   # refused
        graph_add_empty_node(g, [a], 1)      # good

    Fix: make a set of the dependencies first.
    """
    return f"index {index}: the edge exists already" if known else None


@rule(
    "MC1207",
    "a node does not depend on itself",
    calls=_EDGES,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=_recorded("graph_build", "edge.self"),
)
def edge_apart(index: int, same: bool) -> str | None:
    """Connect two nodes.

        graph_add_dependencies_v2(g, [a], [a], 0, 1)   # refused
        graph_add_dependencies_v2(g, [a], [b], 0, 1)   # good

    Longer circles are refused when the graph is instantiated: MC1210.

    Fix: leave the edge out.
    """
    return f"index {index}: from and to are the same node" if same else None


@rule(
    "MC1208",
    "an edge that is removed exists",
    calls=_CUT,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=_recorded("graph_build", "remove.missing"),
)
def edge_known(index: int, known: bool) -> str | None:
    """Remove edges that are there, in their direction, with their data.

        graph_remove_dependencies_v2(g, [b], [a], 0, 1)   # the edge is from a to b: refused
        graph_remove_dependencies_v2(g, [a], [b], 0, 1)   # good

    Fix: graph_get_edges_v2 lists them.
    """
    return None if known else f"index {index}: there is no such edge"


@rule(
    "MC1209",
    "the data of an edge fits its nodes",
    calls=("cuGraphAddDependencies_v2", "cuGraphAddNode_v2", "cuGraphAddNode_v3"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        _recorded("graph_build", "edge.data.(1,0,0)"),
        _recorded("graph_build", "edge.data.(0,1,0)"),
        _recorded("graph_build", "edge.data.(0,0,2)"),
    ),
)
def edge_data(index: int, from_port: int, to_port: int, kind: int, kernels: bool) -> str | None:
    """Use ports and PROGRAMMATIC (type 1) between kernel nodes only; leave all other edges zero.

    A kernel has the ports 0, 1 (PROGRAMMATIC) and 2 (LAUNCH_ORDER); no node has another input than 0.

        graph_add_dependencies_v2(g, [memset], [kernel], [data(1, 0, 1)], 1)   # refused
        graph_add_dependencies_v2(g, [memset], [kernel], [data(0, 0, 0)], 1)   # good

    Fix: pass no edge data.
    """
    ports, kinds = (2, 1) if kernels else (0, 0)
    if from_port > ports or to_port or kind > kinds or (kind and not from_port):
        return (
            f"index {index}: edge data (from_port {from_port}, to_port {to_port}, type {kind}) does not fit its nodes"
        )
    return None


@rule(
    "MC1210",
    "a graph has no circle",
    calls=_INSTANTIATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_build", "cycle.instantiate"), _recorded("graph_build", "cycle.with_params")),
)
def graph_acyclic(graph: int, circular: bool) -> str | None:
    """Add edges in one direction: nodes that wait for each other never run.

        edges a → b, b → a; graph_instantiate_with_flags(g, 0)   # refused
        edges a → b; graph_instantiate_with_flags(g, 0)          # good

    Fix: remove an edge of the circle.
    """
    return f"nodes of graph {graph:#x} wait for each other in a circle" if circular else None


@rule(
    "MC1211",
    "a node has the kind that the call is for",
    calls=(*_SET, *_EXEC_SET),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_build", "kernel.set.other_kind"), _recorded("graph_update", "set.kernel.other_kind")),
)
def node_kind(node: int, kind: str, needed: str) -> str | None:
    """Ask a kernel node for the parameters of a kernel node, and so on.

        graph_kernel_node_get_params_v2(memset_node)   # refused
        graph_memset_node_get_params(memset_node)      # good

    Fix: graph_node_get_type tells.
    """
    return None if kind == needed else f"node {node:#x} is of kind {kind}, not {needed}"


@rule(
    "MC1212",
    "a kind of node is simulated",
    calls=("cuGraphAddNode_v2", "cuGraphAddNode_v3", "cuMemAllocAsync", "cuMemFreeAsync"),
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=Note("settled here", "what nobody wrote fails closed instead of pretending"),
)
def node_simulated(kind: str, written: bool) -> str | None:
    """Build graphs of kernels, copies, memsets, host functions, events, values in memory, and graphs of these.

    Nodes that allocate and free, conditional ones and external semaphores are not simulated.

        stream_begin_capture(s, 2); mem_alloc_async(4096, s)   # refused: a MEM_ALLOC node
        mem_alloc_async(4096, s); stream_begin_capture(s, 2)   # good

    Fix: allocate before the graph, and let its nodes use the memory.
    """
    return None if written else f"nodes of kind {kind} are not simulated"


@rule(
    "MC1213",
    "a memset node sets elements",
    calls=("cuGraphAddMemsetNode", "cuGraphMemsetNodeSetParams", "cuGraphExecMemsetNodeSetParams", "cuGraphAddNode_v2"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        _recorded("graph_build", "memset.element3"),
        _recorded("graph_build", "memset.width0"),
        _recorded("graph_build", "memset.height0"),
    ),
)
def memset_elements(element: int, width: int, height: int) -> str | None:
    """Give a memset node elements of 1, 2 or 4 bytes, at least one of them.

    Memsets of streams may be empty.

        MEMSET_NODE_PARAMS(element_size=4, width=0, height=1)   # refused
        MEMSET_NODE_PARAMS(element_size=4, width=1, height=1)   # good

    Fix: leave the node out where there is nothing to set.
    """
    if element not in (1, 2, 4):
        return f"element_size {element} is none of 1, 2, 4"
    return None if width and height else f"width {width} and height {height} leave nothing to set; nearest 1"


@rule(
    "MC1214",
    "a copy node copies bytes",
    calls=("cuGraphAddMemcpyNode", "cuGraphMemcpyNodeSetParams", "cuGraphExecMemcpyNodeSetParams", "cuGraphAddNode_v2"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        _recorded("graph_build", "copy.width0"),
        _recorded("graph_build", "copy.height0"),
        _recorded("graph_build", "copy.depth0"),
    ),
)
def copy_bytes(width: int, height: int, depth: int) -> str | None:
    """Give a copy node a width, a height and a depth; 1 where there is no such dimension.

        MEMCPY3D(width_in_bytes=64, height=0, depth=0)   # refused
        MEMCPY3D(width_in_bytes=64, height=1, depth=1)   # good

    Fix: leave the node out where there is nothing to copy.
    """
    if width and height and depth:
        return None
    return f"width {width}, height {height} and depth {depth} leave nothing to copy; nearest 1"


@rule(
    "MC1215",
    "a child graph is instantiated with its parent",
    calls=_INSTANTIATE,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=_recorded("graph_build", "child.graph.instantiate"),
)
def graph_independent(graph: int, owned: bool) -> str | None:
    """Instantiate the graph that has the node; the child graph in it is a copy.

        graph_instantiate_with_flags(graph_child_graph_node_get_graph(node), 0)   # refused
        graph_instantiate_with_flags(parent, 0)                                   # good

    Fix: keep the graph that the node was made of, and instantiate that.
    """
    return f"graph {graph:#x} belongs to a node of another graph" if owned else None


@rule(
    "MC1216",
    "a child graph is destroyed with its node",
    calls=("cuGraphDestroy",),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("cuGraphChildGraphNodeGetGraph", "the node retains ownership of the graph"),
)
def graph_own(graph: int, owned: bool) -> str | None:
    """Destroy the node, or the graph that has it.

        graph_destroy(graph_child_graph_node_get_graph(node))   # refused
        graph_destroy_node(node)                                # good

    Fix: leave it to the parent.
    """
    return f"graph {graph:#x} belongs to a node of another graph" if owned else None


@rule(
    "MC1217",
    "a graph is not taken apart while a capture adds to it",
    calls=("cuGraphDestroy", "cuGraphDestroyNode"),
    status=Status.ILLEGAL_STATE,
    evidence="recorded",
    source=(
        Document("cuStreamGetCaptureInfo", "operations other than destroy and node removal are permitted on the"),
        _recorded("capture_begin", "to_graph.destroy"),
    ),
)
def graph_at_rest(graph: int, capturing: bool) -> str | None:
    """End the capture first.

        stream_begin_capture_to_graph(s, g, …); graph_destroy(g)   # refused
        stream_end_capture(s); graph_destroy(g)                    # good

    Fix: destroy the graph behind stream_end_capture.
    """
    return f"a capture adds to graph {graph:#x}" if capturing else None


@rule(
    "MC1218",
    "an executable graph has the node",
    calls=(*_EXEC_SET, *_ENABLED),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=_recorded("graph_update", "set.kernel.stranger"),
)
def exec_node(node: int, inside: bool) -> str | None:
    """Name nodes of the graph that was instantiated, or that it was updated from last.

        e = graph_instantiate_with_flags(g, 0)
        graph_exec_kernel_node_set_params_v2(e, node_of_another_graph, …)   # refused
        graph_exec_kernel_node_set_params_v2(e, node_of_g, …)               # good

    Fix: keep the graph and its nodes as long as the executable graph is changed.
    """
    return None if inside else f"node {node:#x} is not of the graph that this was instantiated or updated from"


@rule(
    "MC1219",
    "an update changes parameters, not the graph",
    calls=_UPDATE,
    status=Status.GRAPH_EXEC_UPDATE_FAILURE,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "included changes which violated constraints"),
        _recorded("graph_update", "kinds"),
        _recorded("graph_update", "fewer"),
        _recorded("graph_update", "edges"),
        _recorded("graph_update", "rows"),
    ),
)
def update_same(change: str) -> str | None:
    """Update from a graph with the same nodes, added in the same order, and the same edges.

    The result tells what differs: TOPOLOGY_CHANGED, NODE_TYPE_CHANGED or PARAMETERS_CHANGED, and at which node.

        graph_exec_update_v2(e, graph_with_one_node_more)   # refused
        graph_exec_update_v2(e, captured_once_more)         # good

    Fix: instantiate anew.
    """
    return change or None


@rule(
    "MC1220",
    "the parameters of an executable node change within its shape",
    calls=("cuGraphExecMemcpyNodeSetParams", "cuGraphExecMemsetNodeSetParams", "cuGraphExecNodeSetParams"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_update", "set.memset.rows"), _recorded("graph_update", "set.copy.rows")),
)
def exec_shape(what: str) -> str | None:
    """Keep the number of dimensions and the context of copies and memsets, and the context of kernels.

        graph_exec_memset_node_set_params(e, n, height=2)   # it was 1: refused
        graph_exec_memset_node_set_params(e, n, width=9)    # good

    Fix: instantiate anew.
    """
    return what or None


@rule(
    "MC1221",
    "only kernels, copies and memsets are switched off",
    calls=_ENABLED,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuGraphNodeSetEnabled", "Disabled nodes are functionally equivalent to empty nodes"),
        _recorded("graph_update", "disable.empty"),
    ),
)
def node_switchable(kind: str, switchable: bool) -> str | None:
    """Disable kernel, memset and copy nodes; all others always run.

        graph_node_set_enabled(e, host_node, 0)     # refused
        graph_node_set_enabled(e, kernel_node, 0)   # good

    Fix: let the host function decide by itself.
    """
    return None if switchable else f"nodes of kind {kind} cannot be switched off"


@rule(
    "MC1222",
    "a clone has a twin of the node",
    calls=("cuGraphNodeFindInClone",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_recorded("graph_build", "clone.find.foreign"), _recorded("graph_build", "clone.find.unrelated")),
)
def clone_twin(node: int, found: bool) -> str | None:
    """Look for nodes of the original in the graph that graph_clone made of it.

        graph_node_find_in_clone(node_of_another_graph, clone)   # refused
        graph_node_find_in_clone(node_of_the_original, clone)    # good

    Fix: a clone has the nodes that its original had at that time.
    """
    return None if found else f"the graph has no twin of node {node:#x}"


@rule(
    "MC1223",
    "a kernel node names a kernel",
    calls=("cuGraphAddKernelNode_v2", "cuGraphKernelNodeSetParams_v2", "cuGraphAddNode_v2"),
    status=Status.INVALID_HANDLE,
    evidence="recorded",
    source=_recorded("graph_build", "kernel.null"),
)
def kernel_named(func: int, kern: int) -> str | None:
    """Set func, or kern with func 0.

        KERNEL_NODE_PARAMS(func=0, kern=0, …)   # refused
        KERNEL_NODE_PARAMS(func=f, kern=0, …)   # good

    Fix: module_get_function or library_get_kernel.
    """
    return None if func or kern else "neither func nor kern is set"


@rule(
    "MC1224",
    "a user object's handle is valid",
    calls=("cuUserObjectRetain", "cuUserObjectRelease", "cuGraphRetainUserObject", "cuGraphReleaseUserObject"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("cuUserObjectRetain", "CUDA_ERROR_INVALID_VALUE"),
)
def object_valid(handle: int, known: bool) -> str | None:
    """Use a user object while somebody has a reference: it ends with the last.

        user_object_release(o, 1); user_object_retain(o, 1)   # refused
        user_object_retain(o, 1); user_object_release(o, 1)   # good

    Fix: forget the handle after the last release.
    """
    return None if known else f"user object {handle:#x} does not exist"


@rule(
    "MC1225",
    "references of user objects are counted in positive numbers",
    calls=(
        "cuUserObjectCreate", "cuUserObjectRetain", "cuUserObjectRelease", "cuGraphRetainUserObject",
        "cuGraphReleaseUserObject",
    ),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("cuUserObjectRetain", "not larger than INT_MAX"),
)  # fmt: skip
def reference_count(count: int) -> str | None:
    """Count at least one reference, and at most 2147483647.

        user_object_retain(o, 0)   # refused
        user_object_retain(o, 1)   # good

    Fix: leave the call out where there is nothing to count.
    """
    return None if 0 < count < 1 << 31 else f"{count} references are not between 1 and 2147483647; nearest 1"


@rule(
    "MC1226",
    "nobody releases more references than he has",
    calls=("cuUserObjectRelease", "cuGraphRetainUserObject", "cuGraphReleaseUserObject"),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("cuUserObjectCreate", "initial references are owned by the"),
)
def references_held(count: int, held: int) -> str | None:
    """Release what was retained: callers their references, each graph its own.

        user_object_create(p, f, 1, 1); user_object_release(o, 2)   # refused
        user_object_create(p, f, 1, 1); user_object_release(o, 1)   # good

    Moving references into a graph takes them from the caller.

    Fix: pair retain and release.
    """
    return None if count <= held else f"{count} references are released, {held} are held; nearest {held}"


@rule(
    "MC1227",
    "a user object is made with NO_DESTRUCTOR_SYNC",
    calls=("cuUserObjectCreate",),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("cuUserObjectCreate", "Currently it is required to pass"),
)
def user_object_flags(flags: int) -> str | None:
    """Pass the one flag that there is: no call waits for the destructor.

        user_object_create(p, f, 1, 0)   # refused
        user_object_create(p, f, 1, 1)   # good

    Fix: UserObject_flags.NO_DESTRUCTOR_SYNC.
    """
    return None if flags == 1 else f"flags {flags:#x} is not 1 (NO_DESTRUCTOR_SYNC)"
