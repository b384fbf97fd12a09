"""Executable graphs, and what may change in them."""

from .book import rule
from .graph_calls import ENABLED, EXEC_SET, recorded
from .source import Document
from .status import Status

_UPDATE = ("cuGraphExecUpdate_v2",)


@rule(
    "MC1203",
    "a handle of an executable graph is valid",
    calls=(*EXEC_SET, *ENABLED, *_UPDATE, "cuGraphLaunch", "cuGraphUpload", "cuGraphExecDestroy"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(recorded("graph_exec_destroyed", "launch"), recorded("graph_build", "launch.bad_exec")),
)
def exec_valid(graph: int, known: bool) -> str | None:
    """Launch what graph_instantiate answered, not the graph itself, until it is destroyed.

        graph_launch(graph, s)                               # refused
        graph_launch(graph_instantiate_with_flags(graph, 0), s)   # good

    Fix: keep both handles apart.
    """
    return None if known else f"{graph:#x} is not an executable graph of this process"


@rule(
    "MC1218",
    "an executable graph has the node",
    calls=(*EXEC_SET, *ENABLED),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=recorded("graph_update", "set.kernel.stranger"),
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
        recorded("graph_update", "kinds"),
        recorded("graph_update", "fewer"),
        recorded("graph_update", "edges"),
        recorded("graph_update", "rows"),
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
    source=(recorded("graph_update", "set.memset.rows"), recorded("graph_update", "set.copy.rows")),
)
def exec_shape(what: str) -> str | None:
    """Keep the number of dimensions and the context of copies and memsets, and the context of kernels.

        graph_exec_memset_node_set_params(e, n, height=2)   # it was 1: refused
        graph_exec_memset_node_set_params(e, n, width=9)    # good

    Fix: instantiate anew.
    """
    return what or None
