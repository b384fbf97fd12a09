"""Executable graphs changed in place: one node, or all of them from a graph of the same shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.sim.graph_exec import edges_of, every_node, objects_of
from cumulticast.sim.graph_work import CopyWork, FillWork, KernelWork, Work

if TYPE_CHECKING:
    from cumulticast.sim.graph_exec import Exec
    from cumulticast.sim.graphs import Graph, Node
    from cumulticast.sim.user_objects import UserObjects

# CUgraphExecUpdateResult
SUCCESS, ERROR, TOPOLOGY, NODE_TYPE, FUNCTION, PARAMETERS, UNSUPPORTED, FUNCTION_CHANGE, ATTRIBUTES = range(9)


@dataclass(frozen=True, slots=True)
class Change:
    """What an update cannot do.

    Attributes
    ----------
    result
        CUgraphExecUpdateResult.
    node
        The node of the new graph where it shows, if it does at one.
    """

    result: int
    reason: str
    node: Node | None = None


def unchangeable(before: Work, after: Work) -> tuple[int, str]:
    """Answer why a node's work cannot become another of its kind; 0 and nothing where it can.

    Source: cuGraphExecUpdate, Limitations.
    """
    if after.context is not before.context:
        return (FUNCTION_CHANGE if isinstance(after, KernelWork) else PARAMETERS), "the context changes"
    if isinstance(before, KernelWork) and isinstance(after, KernelWork):
        return unchangeable_kernel(before, after)
    if isinstance(before, FillWork) and isinstance(after, FillWork):
        return unchangeable_fill(before, after)
    if isinstance(before, CopyWork) and isinstance(after, CopyWork):
        return unchangeable_copy(before, after)
    return SUCCESS, ""


def unchangeable_kernel(before: KernelWork, after: KernelWork) -> tuple[int, str]:
    """Likewise for kernels: cooperative ones stay so."""
    if before.launch.cooperative != after.launch.cooperative:
        return ATTRIBUTES, "whether the kernel is cooperative changes"
    return SUCCESS, ""


def unchangeable_fill(before: FillWork, after: FillWork) -> tuple[int, str]:
    """Likewise for memsets: the sizes of one with rows stay; one without may get longer or shorter."""
    one, other = before.fill, after.fill
    if one.rows != other.rows:
        return PARAMETERS, f"the height changes from {one.rows} to {other.rows}"
    if one.rows > 1 and (one.columns, one.width, one.pitch) != (other.columns, other.width, other.pitch):
        return PARAMETERS, "of a memset with rows only address and value may change"
    return SUCCESS, ""


def unchangeable_copy(before: CopyWork, after: CopyWork) -> tuple[int, str]:
    """Likewise for copies: one with rows stays as it is; the kinds of memory stay."""
    one, other = before.volume, after.volume
    if (one.src.memory_type, one.dst.memory_type) != (other.src.memory_type, other.dst.memory_type):
        return PARAMETERS, "the kind of memory of a side changes"
    if any(one.shape + other.shape) and one != other:
        return PARAMETERS, "copies with rows or planes cannot be changed"
    return SUCCESS, ""


def difference(made: Exec, graph: Graph) -> Change | None:
    """Answer what keeps an executable graph from becoming like another; last nodes are looked at first (recorded)."""
    new, edges = list(every_node(graph)), edges_of(graph)
    if len(new) != len(made.nodes):
        return Change(TOPOLOGY, f"the graph has {len(new)} nodes, not {len(made.nodes)}")
    kept = list(made.nodes.values())
    for number in reversed(range(len(new))):
        found = changed(made, kept[number], new[number])
        if found is not None:
            return found
        if set(edges[number]) != set(made.edges[number]):
            return Change(TOPOLOGY, f"node {number} depends on other nodes", new[number])
    return None


def changed(made: Exec, kept: Node, new: Node) -> Change | None:
    """Answer what keeps one node from taking over another's work."""
    before = made.works[kept]
    if before.kind != new.work.kind:
        return Change(NODE_TYPE, "the kind of a node changes", new)
    result, reason = unchangeable(before, new.work)
    return Change(result, reason, new) if reason else None


def adopt(made: Exec, graph: Graph, objects: UserObjects) -> None:
    """Take the parameters over, be known by the new graph's nodes from now on, and keep its user objects alive, too."""
    objects.retain(objects_of(graph))
    pairs = list(zip(every_node(graph), made.nodes.values(), strict=True))
    for new, kept in pairs:
        made.set_work(kept, new.work)
    made.nodes = dict(pairs)
    made.objects += objects_of(graph)
