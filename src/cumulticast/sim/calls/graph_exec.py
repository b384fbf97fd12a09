"""Executable graphs: made, launched, asked about."""

from __future__ import annotations

import struct

from cumulticast.rules import Refused, Status, graph_edges, graph_nodes, graph_updates, graphs
from cumulticast.sim import captures, graph_exec
from cumulticast.sim.calls.graph import graph_of, node_of
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.entry import RefusedWith, entry
from cumulticast.sim.graph_exec import Exec
from cumulticast.sim.graph_work import KERNEL, KINDS, MEMCPY, MEMSET
from cumulticast.sim.graphs import FIRST_EXEC
from cumulticast.sim.process import Process

AUTO_FREE, UPLOAD, DEVICE_LAUNCH, NODE_PRIORITY = 1, 2, 4, 8  # CUgraphInstantiate_flags
FLAGS = AUTO_FREE | DEVICE_LAUNCH | NODE_PRIORITY
_PARAMS = struct.Struct("<QQQi4x")
SUCCESS, ERROR, INVALID_STRUCTURE = range(3)  # CUgraphInstantiateResult
SWITCHABLE = (KERNEL, MEMCPY, MEMSET)


def exec_of(process: Process, value: int) -> Exec:
    """Answer the executable graph behind a handle, or refuse (1)."""
    found = process.graphs.find_exec(value)
    process.driver.judge(graph_updates.exec_valid, value, found is not None)
    assert found is not None
    return found


def instantiated(process: Process, value: int, flags: int, known: int) -> int:
    """Make a graph executable."""
    graph = graph_of(process, value)
    process.driver.judge(graphs.graph_flags, flags, known)
    if flags & DEVICE_LAUNCH:
        raise Refused(Status.NOT_SUPPORTED, None, "launches of graphs by kernels are not simulated")
    process.driver.judge(graphs.graph_independent, value, graph.owner is not None)
    process.driver.judge(graph_edges.graph_acyclic, value, graph.circular)
    made = graph_exec.instantiate(process.graphs.next(FIRST_EXEC), graph, flags)
    process.graphs.add_exec(made)
    return made.value


@entry("cuGraphInstantiateWithFlags")
def graph_instantiate_with_flags(process: Process, graph: int, flags: int) -> int:
    """Make a graph executable."""
    return instantiated(process, graph, flags, FLAGS)


@entry("cuGraphInstantiateWithParams")
def graph_instantiate_with_params(process: Process, graph: int, params: bytes) -> tuple[int, bytes]:
    """Make a graph executable; the structure says how it went, also where it is refused."""
    flags, stream, _, _ = _PARAMS.unpack(params)
    try:
        made = instantiated(process, graph, flags, FLAGS | UPLOAD)
    except Refused as refused:
        result = INVALID_STRUCTURE if refused.rule is graph_edges.graph_acyclic else ERROR
        raise RefusedWith(refused, (None, _PARAMS.pack(flags, stream, 0, result))) from refused
    return made, _PARAMS.pack(flags, stream, 0, SUCCESS)


@entry("cuGraphExecGetFlags")
def graph_exec_get_flags(process: Process, value: int) -> int:
    """Answer the flags."""
    return exec_of(process, value).flags


@entry("cuGraphExecDestroy")
def graph_exec_destroy(process: Process, value: int) -> None:
    """End an executable graph; what was launched is carried out."""
    graph_exec.end(process, exec_of(process, value))


@entry("cuGraphUpload")
def graph_upload(process: Process, thread: int, call: str, value: int, stream: int) -> None:
    """Prepare a launch: nothing needs to be done here."""
    exec_of(process, value)
    captures.forbid_work(process, stream_of(process, thread, stream, call), "an upload of a graph")


@entry("cuGraphLaunch")
def graph_launch(process: Process, thread: int, call: str, value: int, stream: int) -> None:
    """Launch a graph in stream order, behind its launch before."""
    made, where = exec_of(process, value), stream_of(process, thread, stream, call)
    captures.forbid_work(process, where, "a launch of a graph")
    graph_exec.launch(process, made, where)


# ---- nodes switched off


def step_of(process: Process, value: int, node: int) -> graph_exec.Step:
    """Answer the step of a node that can be switched off."""
    made, found = exec_of(process, value), node_of(process, node)
    process.driver.judge(graph_updates.exec_node, node, found in made.nodes)
    kind = found.work.kind
    process.driver.judge(graph_nodes.node_switchable, KINDS[kind], kind in SWITCHABLE)
    return made.steps[made.nodes[found]]


@entry("cuGraphNodeSetEnabled")
def graph_node_set_enabled(process: Process, value: int, node: int, enabled: int) -> None:
    """Switch a node off in future launches, or on again; any number but 0 is on (recorded)."""
    step_of(process, value, node).enabled = bool(enabled)


@entry("cuGraphNodeGetEnabled")
def graph_node_get_enabled(process: Process, value: int, node: int) -> int:
    """Tell whether a node is switched on."""
    return int(step_of(process, value, node).enabled)
