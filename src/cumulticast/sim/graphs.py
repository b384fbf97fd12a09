"""Graphs: nodes of work and the order between them (CUgraph, CUgraphNode).

What a node does is a frozen value (`graph_work`); a graph that runs is another thing (`graph_exec`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from cumulticast.sim.graph_work import ChildWork, Work
from cumulticast.sim.user_objects import Held, UserObjects

if TYPE_CHECKING:
    from cumulticast.sim.graph_exec import Exec

FIRST_GRAPH, FIRST_NODE, FIRST_EXEC = 0x6772_0000_0000, 0x6E6F_0000_0000, 0x6778_0000_0000
STEP = 0x100
NO_DATA = bytes(8)  # a CUgraphEdgeData of zeros: all of one node before all of the other


@dataclass(slots=True, eq=False)
class Node:
    """A CUgraphNode.

    Attributes
    ----------
    after
        What it depends on, each with the edge's data.
    before
        What depends on it.
    number
        How many were added to the graph before.
    origin
        The handle of the node that it was cloned from, 0 without.
    attributes
        CUlaunchAttributeID → value, of a kernel, as far as set and not part of its shape.
    shown
        Memory that a caller was given the address of; it lives until the parameters change.
    """

    value: int
    graph: Graph = field(repr=False)
    work: Work = field(repr=False)
    after: dict[Node, bytes] = field(default_factory=dict["Node", bytes], repr=False)
    before: dict[Node, None] = field(default_factory=dict["Node", None], repr=False)
    number: int = 0
    origin: int = 0
    attributes: dict[int, bytes] = field(default_factory=dict[int, bytes], repr=False)
    shown: tuple[bytearray, ...] = field(default=(), repr=False)


@dataclass(slots=True, eq=False)
class Graph:
    """A CUgraph.

    Attributes
    ----------
    nodes
        In the order in which they were added.
    owner
        The node whose child graph it is.
    origin
        The handle of the graph that it was cloned from, 0 without.
    capturing
        Whether a capture adds to it.
    added
        How many nodes were ever added.
    objects
        The user objects that it keeps alive, each with its number of references.
    """

    value: int
    nodes: dict[Node, None] = field(default_factory=dict[Node, None], repr=False)
    owner: Node | None = None
    origin: int = 0
    capturing: bool = False
    added: int = 0
    objects: Held = field(default_factory=Held)

    @property
    def number(self) -> int:
        """A number that no other graph of the process has."""
        return (self.value - FIRST_GRAPH) // STEP

    @property
    def roots(self) -> list[Node]:
        """The nodes that depend on nothing."""
        return [node for node in self.nodes if not node.after]

    @property
    def leaves(self) -> list[Node]:
        """The nodes that nothing depends on."""
        return [node for node in self.nodes if not node.before]

    @property
    def edges(self) -> Iterator[tuple[Node, Node, bytes]]:
        """From, to and data."""
        for node in self.nodes:
            for earlier, data in node.after.items():
                yield earlier, node, data

    @property
    def circular(self) -> bool:
        """Whether nodes wait for each other in a circle, here or in a child graph."""
        children = (node.work.graph for node in self.nodes if isinstance(node.work, ChildWork))
        return self.order is None or any(child.circular for child in children)

    @property
    def order(self) -> list[Node] | None:
        """The nodes, each behind all that it depends on; None: they wait for each other in a circle."""
        try:
            return list(TopologicalSorter({node: node.after for node in self.nodes}).static_order())
        except CycleError:
            return None


def connect(earlier: Node, later: Node, data: bytes = NO_DATA) -> None:
    """Let one node wait for another."""
    later.after[earlier] = data
    earlier.before[later] = None


def disconnect(earlier: Node, later: Node) -> None:
    """Take an edge away."""
    del later.after[earlier], earlier.before[later]


def ancestors(nodes: Iterable[Node]) -> set[Node]:
    """Answer nodes, and all that they depend on."""
    found, left = set[Node](), list(nodes)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += node.after
    return found


class Graphs:
    """All graphs, nodes and executable graphs of a process."""

    def __init__(self, objects: UserObjects) -> None:
        self._objects = objects
        self._graphs: dict[int, Graph] = {}
        self._nodes: dict[int, Node] = {}
        self._execs: dict[int, Exec] = {}
        self._made = 0

    def next(self, first: int) -> int:
        """Answer a handle that was never one."""
        self._made += 1
        return first + STEP * self._made

    def held(self) -> list[Graph | Exec]:
        """Answer what a caller has yet to destroy."""
        return [*(g for g in self._graphs.values() if g.owner is None), *self._execs.values()]

    # ---- graphs

    def create(self, owner: Node | None = None) -> Graph:
        """Make an empty graph."""
        graph = Graph(self.next(FIRST_GRAPH), owner=owner)
        self._graphs[graph.value] = graph
        return graph

    def find(self, value: int) -> Graph | None:
        """Answer a graph that lives."""
        return self._graphs.get(value)

    def destroy(self, graph: Graph) -> None:
        """End a graph and its nodes."""
        for node in list(graph.nodes):
            self.remove(node)
        self._objects.release(graph.objects)
        del self._graphs[graph.value]

    def clone(self, graph: Graph, owner: Node | None = None) -> Graph:
        """Copy a graph, its nodes and their child graphs."""
        made, twins = self.create(owner), dict[Node, Node]()
        made.origin, made.objects = graph.value, graph.objects.copy()
        self._objects.retain(made.objects)
        for node in graph.nodes:
            twins[node] = twin = self.add(made, node.work)
            twin.origin, twin.attributes = node.value, dict(node.attributes)
        for earlier, later, data in graph.edges:
            connect(twins[earlier], twins[later], data)
        return made

    # ---- nodes

    def add(self, graph: Graph, work: Work, after: Iterable[tuple[Node, bytes]] = ()) -> Node:
        """Add a node; a child graph is copied into it, or moved."""
        node = Node(self.next(FIRST_NODE), graph, work, number=graph.added)
        graph.added += 1
        if isinstance(work, ChildWork):
            child = work.graph if work.moved else self.clone(work.graph, node)
            child.owner, node.work = node, ChildWork(child)
        graph.nodes[node] = None
        self._nodes[node.value] = node
        for earlier, data in after:
            connect(earlier, node, data)
        return node

    def find_node(self, value: int) -> Node | None:
        """Answer a node that lives."""
        return self._nodes.get(value)

    def remove(self, node: Node) -> None:
        """End a node and its edges."""
        for earlier in list(node.after):
            disconnect(earlier, node)
        for later in list(node.before):
            disconnect(node, later)
        if isinstance(node.work, ChildWork):
            self.destroy(node.work.graph)
        del node.graph.nodes[node], self._nodes[node.value]

    # ---- executable graphs

    def add_exec(self, made: Exec) -> None:
        """Register an executable graph; it keeps its graph's user objects alive, too."""
        self._execs[made.value] = made
        self._objects.retain(made.objects)

    def find_exec(self, value: int) -> Exec | None:
        """Answer an executable graph that lives."""
        return self._execs.get(value)

    def forget_exec(self, made: Exec) -> None:
        """End the handle of an executable graph."""
        del self._execs[made.value]

    def destroy_exec(self, made: Exec) -> None:
        """End an executable graph, and what it keeps alive; its launches are done."""
        self._execs.pop(made.value, None)
        self._objects.release(made.objects)
