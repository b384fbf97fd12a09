"""MC1201 to MC1249: graphs, their nodes, and executable graphs."""

from .book import rule
from .graph_calls import ADD, CUT, EDGES, INSTANTIATE, recorded
from .source import Document
from .status import Status


@rule(
    "MC1201",
    "a graph handle is valid",
    calls=(*ADD, *EDGES, *CUT, *INSTANTIATE, "cuGraphDestroy", "cuGraphClone", "cuGraphGetNodes"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(recorded("graph_destroyed", "add"), recorded("graph_null", "instantiate")),
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
    "MC1204",
    "the flags of a graph are known",
    calls=("cuGraphCreate", *INSTANTIATE),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        recorded("graph_build", "create.flags"),
        recorded("graph_build", "instantiate.flags16"),
        recorded("graph_build", "instantiate.flags2"),
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
    "MC1215",
    "a child graph is instantiated with its parent",
    calls=INSTANTIATE,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=recorded("graph_build", "child.graph.instantiate"),
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
        recorded("capture_begin", "to_graph.destroy"),
    ),
)
def graph_at_rest(graph: int, capturing: bool) -> str | None:
    """End the capture first.

        stream_begin_capture_to_graph(s, g, …); graph_destroy(g)   # refused
        stream_end_capture(s); graph_destroy(g)                    # good

    Fix: destroy the graph behind stream_end_capture.
    """
    return f"a capture adds to graph {graph:#x}" if capturing else None
