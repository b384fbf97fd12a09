"""Nodes of graphs."""

from .book import rule
from .graph_calls import ENABLED, EXEC_SET, recorded
from .source import Document, Note
from .status import Status

_SET = (
    "cuGraphKernelNodeGetParams_v2", "cuGraphKernelNodeSetParams_v2", "cuGraphMemcpyNodeGetParams",
    "cuGraphMemcpyNodeSetParams", "cuGraphMemsetNodeGetParams", "cuGraphMemsetNodeSetParams",
    "cuGraphHostNodeGetParams", "cuGraphHostNodeSetParams", "cuGraphChildGraphNodeGetGraph",
    "cuGraphEventRecordNodeGetEvent", "cuGraphEventRecordNodeSetEvent", "cuGraphEventWaitNodeGetEvent",
    "cuGraphEventWaitNodeSetEvent", "cuGraphNodeSetParams", "cuGraphNodeSetParams_v2",
)  # fmt: skip


@rule(
    "MC1202",
    "a node handle is valid",
    calls=(*_SET, *EXEC_SET, *ENABLED, "cuGraphDestroyNode", "cuGraphNodeGetType", "cuGraphNodeFindInClone"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(recorded("graph_null", "type"), recorded("graph_null", "destroy_node")),
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
    "MC1211",
    "a node has the kind that the call is for",
    calls=(*_SET, *EXEC_SET),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(recorded("graph_build", "kernel.set.other_kind"), recorded("graph_update", "set.kernel.other_kind")),
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
        recorded("graph_build", "memset.element3"),
        recorded("graph_build", "memset.width0"),
        recorded("graph_build", "memset.height0"),
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
        recorded("graph_build", "copy.width0"),
        recorded("graph_build", "copy.height0"),
        recorded("graph_build", "copy.depth0"),
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
    "MC1221",
    "only kernels, copies and memsets are switched off",
    calls=ENABLED,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuGraphNodeSetEnabled", "Disabled nodes are functionally equivalent to empty nodes"),
        recorded("graph_update", "disable.empty"),
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
    source=(recorded("graph_build", "clone.find.foreign"), recorded("graph_build", "clone.find.unrelated")),
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
    source=recorded("graph_build", "kernel.null"),
)
def kernel_named(func: int, kern: int) -> str | None:
    """Set func, or kern with func 0.

        KERNEL_NODE_PARAMS(func=0, kern=0, …)   # refused
        KERNEL_NODE_PARAMS(func=f, kern=0, …)   # good

    Fix: module_get_function or library_get_kernel.
    """
    return None if func or kern else "neither func nor kern is set"
