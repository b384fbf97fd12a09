"""Graphs: made, copied, asked about, taken apart; and the edges in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cumulticast.rules import captures, graph_edges, graph_nodes, graphs
from cumulticast.sim import raw
from cumulticast.sim.entry import entry
from cumulticast.sim.graph_work import KERNEL
from cumulticast.sim.graphs import NO_DATA, Graph, Node, connect, disconnect
from cumulticast.sim.process import Process

WORD = 8


def graph_of(process: Process, value: int) -> Graph:
    """Answer the graph behind a handle, or refuse (1)."""
    graph = process.graphs.find(value)
    process.driver.judge(graphs.graph_valid, value, graph is not None)
    assert graph is not None
    return graph


def node_of(process: Process, value: int) -> Node:
    """Answer the node behind a handle, or refuse (1)."""
    node = process.graphs.find_node(value)
    process.driver.judge(graph_nodes.node_valid, value, node is not None)
    assert node is not None
    return node


# ---- arrays of handles


def words(data: bytes | None) -> list[int]:
    """Read an array of handles."""
    data = data or b""
    return [int.from_bytes(data[k : k + WORD], "little") for k in range(0, len(data), WORD)]


def nodes_in(process: Process, graph: Graph, data: bytes | None) -> list[Node]:
    """Read an array of nodes, each of which is in the graph."""
    found: list[Node] = []
    for index, value in enumerate(words(data)):
        node = process.graphs.find_node(value)
        process.driver.judge(graph_edges.edge_within, index, value, node is not None and node.graph is graph)
        assert node is not None
        found.append(node)
    return found


def edge_data(data: bytes | None, count: int) -> list[bytes]:
    """Read an array of CUgraphEdgeData; none are zeros."""
    return [data[k : k + WORD] for k in range(0, WORD * count, WORD)] if data else [NO_DATA] * count


def give(process: Process, room: int, count: int, *arrays: tuple[str, int, Sequence[bytes]]) -> int:
    """Write arrays of words, as many as there is room for, and zeros behind them; answer how many, or all there are.

    Without an array only the number is asked for.
    """
    if not any(address for _, address, _ in arrays):
        return count
    for name, address, values in arrays:
        if address:
            raw.put(process, name, address, b"".join(values[:room]).ljust(WORD * min(room, 1 << 16), b"\0"))
    return min(room, count)


def handles(nodes: Iterable[Node]) -> list[bytes]:
    """Answer the handles as they lie in memory."""
    return [node.value.to_bytes(WORD, "little") for node in nodes]


# ---- graphs


@entry("cuGraphCreate")
def graph_create(process: Process, flags: int) -> int:
    """Make an empty graph."""
    process.driver.judge(graphs.graph_flags, flags, 0)
    return process.graphs.create().value


@entry("cuGraphDestroy")
def graph_destroy(process: Process, value: int) -> None:
    """End a graph with its nodes; what was instantiated from it stays."""
    graph = graph_of(process, value)
    process.driver.judge(graphs.graph_own, value, graph.owner is not None)
    process.driver.judge(graphs.graph_at_rest, value, graph.capturing)
    process.graphs.destroy(graph)


@entry("cuGraphClone")
def graph_clone(process: Process, value: int) -> int:
    """Copy a graph."""
    return process.graphs.clone(graph_of(process, value)).value


@entry("cuGraphNodeFindInClone")
def graph_node_find_in_clone(process: Process, value: int, clone: int) -> int:
    """Answer the twin of a node in a clone of its graph."""
    node, graph = node_of(process, value), graph_of(process, clone)
    twin = next((twin for twin in graph.nodes if twin.origin == node.value), None)
    process.driver.judge(graph_nodes.clone_twin, value, twin is not None)
    assert twin is not None
    return twin.value


@entry("cuGraphGetNodes")
def graph_get_nodes(process: Process, value: int, nodes: int, room: int) -> int:
    """Answer the nodes."""
    found = graph_of(process, value).nodes
    return give(process, room, len(found), ("nodes", nodes, handles(found)))


@entry("cuGraphGetRootNodes")
def graph_get_root_nodes(process: Process, value: int, nodes: int, room: int) -> int:
    """Answer the nodes that depend on nothing."""
    found = graph_of(process, value).roots
    return give(process, room, len(found), ("rootNodes", nodes, handles(found)))


# ---- edges


@entry("cuGraphGetEdges")
def graph_get_edges(process: Process, value: int, earlier: int, later: int, room: int) -> int:
    """Answer the edges, none of which may have data."""
    return graph_get_edges_v2(process, value, earlier, later, 0, room)


@entry("cuGraphGetEdges_v2")
def graph_get_edges_v2(process: Process, value: int, earlier: int, later: int, data: int, room: int) -> int:
    """Answer the edges with their data."""
    edges = list(graph_of(process, value).edges)
    check_room(process, [edge[2] for edge in edges], earlier or later, data)
    arrays = (
        ("from", earlier, handles(edge[0] for edge in edges)),
        ("to", later, handles(edge[1] for edge in edges)),
        ("edgeData", data, [edge[2] for edge in edges]),
    )
    return give(process, room, len(edges), *arrays)


def check_room(process: Process, found: list[bytes], nodes: int, data: int) -> None:
    """Refuse (402) to answer edges without the data that they have."""
    if nodes:
        process.driver.judge(captures.edges_whole, any(map(any, found)), bool(data))


@entry("cuGraphNodeGetDependencies")
def graph_node_get_dependencies(process: Process, value: int, nodes: int, room: int) -> int:
    """Answer what a node depends on."""
    return graph_node_get_dependencies_v2(process, value, nodes, 0, room)


@entry("cuGraphNodeGetDependencies_v2")
def graph_node_get_dependencies_v2(process: Process, value: int, nodes: int, data: int, room: int) -> int:
    """Likewise, with the data of the edges."""
    after = node_of(process, value).after
    check_room(process, list(after.values()), nodes, data)
    arrays = ("dependencies", nodes, handles(after)), ("edgeData", data, list(after.values()))
    return give(process, room, len(after), *arrays)


@entry("cuGraphNodeGetDependentNodes")
def graph_node_get_dependent_nodes(process: Process, value: int, nodes: int, room: int) -> int:
    """Answer what depends on a node."""
    return graph_node_get_dependent_nodes_v2(process, value, nodes, 0, room)


@entry("cuGraphNodeGetDependentNodes_v2")
def graph_node_get_dependent_nodes_v2(process: Process, value: int, nodes: int, data: int, room: int) -> int:
    """Likewise, with the data of the edges."""
    node = node_of(process, value)
    found = [later.after[node] for later in node.before]
    check_room(process, found, nodes, data)
    arrays = ("dependentNodes", nodes, handles(node.before)), ("edgeData", data, found)
    return give(process, room, len(found), *arrays)


@entry("cuGraphAddDependencies")
def graph_add_dependencies(
    process: Process, value: int, earlier: bytes | None, later: bytes | None, count: int
) -> None:
    """Add edges."""
    graph_add_dependencies_v2(process, value, earlier, later, None, count)


@entry("cuGraphAddDependencies_v2")
def graph_add_dependencies_v2(
    process: Process, value: int, earlier: bytes | None, later: bytes | None, data: bytes | None, count: int
) -> None:
    """Add edges with data; none when one of them is refused."""
    graph = graph_of(process, value)
    pairs = list(zip(nodes_in(process, graph, earlier), nodes_in(process, graph, later), strict=True))
    added = list(zip(pairs, edge_data(data, count), strict=True))
    seen = set[tuple[Node, Node]]()
    for index, ((one, other), each) in enumerate(added):
        process.driver.judge(graph_edges.edge_apart, index, one is other)
        process.driver.judge(graph_edges.edge_new, index, one in other.after or (one, other) in seen)
        check_data(process, index, each, kernels=one.work.kind == other.work.kind == KERNEL)
        seen.add((one, other))
    for (one, other), each in added:
        connect(one, other, each)


def check_data(process: Process, index: int, data: bytes, *, kernels: bool) -> None:
    """Refuse (1) edge data that do not fit the two nodes."""
    process.driver.judge(graph_edges.edge_data, index, data[0], data[1], data[2], kernels)


@entry("cuGraphRemoveDependencies")
def graph_remove_dependencies(
    process: Process, value: int, earlier: bytes | None, later: bytes | None, count: int
) -> None:
    """Remove edges."""
    graph_remove_dependencies_v2(process, value, earlier, later, None, count)


@entry("cuGraphRemoveDependencies_v2")
def graph_remove_dependencies_v2(
    process: Process, value: int, earlier: bytes | None, later: bytes | None, data: bytes | None, count: int
) -> None:
    """Remove edges with this data; none when one of them is not there."""
    graph = graph_of(process, value)
    pairs = list(zip(nodes_in(process, graph, earlier), nodes_in(process, graph, later), strict=True))
    for index, ((one, other), each) in enumerate(zip(pairs, edge_data(data, count), strict=True)):
        process.driver.judge(graph_edges.edge_known, index, other.after.get(one) == each)
    for one, other in dict.fromkeys(pairs):
        disconnect(one, other)


# ---- single nodes


@entry("cuGraphNodeGetType")
def graph_node_get_type(process: Process, value: int) -> int:
    """Answer the CUgraphNodeType."""
    return node_of(process, value).work.kind


@entry("cuGraphDestroyNode")
def graph_destroy_node(process: Process, value: int) -> None:
    """Remove a node and its edges."""
    node = node_of(process, value)
    process.driver.judge(graphs.graph_at_rest, node.graph.value, node.graph.capturing)
    process.graphs.remove(node)


@entry("cuGraphNodeGetContainingGraph")
def graph_node_get_containing_graph(process: Process, value: int) -> int:
    """Answer the graph that a node is in."""
    return node_of(process, value).graph.value
