"""Edges of graphs."""

from .book import rule
from .graph_calls import ADD, CUT, EDGES, INSTANTIATE, recorded
from .status import Status


@rule(
    "MC1205",
    "edges lie within one graph",
    calls=(*ADD, *EDGES, *CUT),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(recorded("graph_build", "empty.foreign"), recorded("graph_build", "edge.foreign")),
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
    calls=(*ADD, *EDGES),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(recorded("graph_build", "edge.again"), recorded("graph_build", "empty.twice")),
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
    calls=EDGES,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=recorded("graph_build", "edge.self"),
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
    calls=CUT,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=recorded("graph_build", "remove.missing"),
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
        recorded("graph_build", "edge.data.(1,0,0)"),
        recorded("graph_build", "edge.data.(0,1,0)"),
        recorded("graph_build", "edge.data.(0,0,2)"),
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
    calls=INSTANTIATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(recorded("graph_build", "cycle.instantiate"), recorded("graph_build", "cycle.with_params")),
)
def graph_acyclic(graph: int, circular: bool) -> str | None:
    """Add edges in one direction: nodes that wait for each other never run.

        edges a → b, b → a; graph_instantiate_with_flags(g, 0)   # refused
        edges a → b; graph_instantiate_with_flags(g, 0)          # good

    Fix: remove an edge of the circle.
    """
    return f"nodes of graph {graph:#x} wait for each other in a circle" if circular else None
