"""A graph as text for Graphviz, in the form of a real driver's (cuGraphDebugDotPrint)."""

from __future__ import annotations

from collections.abc import Iterator

from cumulticast.sim.graph_work import KINDS, ChildWork, CopyWork, FillWork, HostWork, KernelWork, RecordWork, WaitWork
from cumulticast.sim.graphs import Graph, Node


def dot(graph: Graph) -> str:
    """Write a graph, its nodes with what they do, its edges, and the graphs in it."""
    return "\n".join(["digraph dot {", *cluster(graph), "}", ""])


def cluster(graph: Graph) -> Iterator[str]:
    """Write one graph, then those in it; the numbers are those of cuGraphGetId and cuGraphNodeGetLocalId."""
    names = {node: f"graph_{graph.number}_node_{node.number}" for node in graph.nodes}
    yield f'subgraph cluster_{graph.number} {{\nlabel="graph_{graph.number}" graph[style="dashed"];'
    for node, name in names.items():
        yield f'"{name}"[style="solid" shape="record" label="{{{label(node)}}}"];'
    for earlier, later, data in graph.edges:
        ports = f' [headlabel="from_port {data[0]}, type {data[2]}"]' if any(data) else ""
        yield f'"{names[earlier]}" -> "{names[later]}"{ports};'
    yield "}"
    for node in graph.nodes:
        if isinstance(node.work, ChildWork):
            yield from cluster(node.work.graph)


def label(node: Node) -> str:
    """Say what a node does, as fields of a record."""
    pairs = {"ID": str(node.number), "node handle": f"{node.value:#018X}", **details(node)}
    return f"{KINDS[node.work.kind]} | {{{{{' | '.join(pairs)}}} | {{{' | '.join(pairs.values())}}}}}"


def details(node: Node) -> dict[str, str]:
    """Answer the parameters of a node, by name."""
    work = node.work
    if isinstance(work, KernelWork):
        launch = work.launch
        name = launch.function.kernel.name
        return {"func": name, "grid": f"{launch.grid}", "block": f"{launch.block}", "dynamic": f"{launch.dynamic}"}
    if isinstance(work, FillWork):
        fill = work.fill
        found = {"dptr": f"{fill.dst:#018X}", "pitch": fill.pitch, "value": fill.value, "elementSize": fill.width}
        return {name: str(value) for name, value in {**found, "width": fill.columns, "height": fill.rows}.items()}
    if isinstance(work, CopyWork):
        volume = work.volume
        sides = {"src": volume.src.host or volume.src.device, "dst": volume.dst.host or volume.dst.device}
        extent = f"{volume.width} x {volume.height} x {volume.depth}"
        return {**{name: f"{address:#018X}" for name, address in sides.items()}, "extent": extent}
    if isinstance(work, HostWork):
        return {"fn": f"{work.function:#018X}", "userData": f"{work.data:#018X}"}
    return {"event": f"{work.event.value:#018X}"} if isinstance(work, RecordWork | WaitWork) else {}
