"""Executable graphs changed in place."""

from __future__ import annotations

import struct

from cumulticast.rules import Refused, broken, graph_nodes, graph_updates
from cumulticast.sim import graph_update
from cumulticast.sim.calls.graph import graph_of
from cumulticast.sim.calls.graph_any import changed
from cumulticast.sim.calls.graph_exec import exec_of
from cumulticast.sim.calls.graph_node import changed_kernel, context_or_current, event_in_graph, of_kind
from cumulticast.sim.entry import RefusedWith, entry
from cumulticast.sim.fills import Fill
from cumulticast.sim.graph_exec import Exec, edges_of, every_node
from cumulticast.sim.graph_params import copy_work, fill_work, host_work
from cumulticast.sim.graph_update import ERROR, SUCCESS, Change
from cumulticast.sim.graph_work import (
    CHILD,
    EVENT_RECORD,
    HOST,
    KERNEL,
    KINDS,
    MEMCPY,
    MEMSET,
    WAIT_EVENT,
    ChildWork,
    RecordWork,
    WaitWork,
    Work,
)
from cumulticast.sim.graphs import Node
from cumulticast.sim.planes import Volume
from cumulticast.sim.process import Process

_RESULT = struct.Struct("<i4xQQ")  # CUgraphExecUpdateResultInfo


def target(process: Process, value: int, node: int, kind: int) -> tuple[Exec, Node]:
    """Answer an executable graph, and what a node of one kind was first in it."""
    made, found = exec_of(process, value), of_kind(process, node, kind)
    process.driver.judge(graph_updates.exec_node, node, found in made.nodes)
    return made, made.nodes[found]


def replace(process: Process, made: Exec, kept: Node, work: Work) -> None:
    """Give a node other work, if that fits what was laid out for it (1)."""
    process.driver.judge(graph_updates.exec_shape, graph_update.unchangeable(made.works[kept], work)[1])
    made.set_work(kept, work)


@entry("cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2", locked=False)
def graph_exec_kernel_node_set_params(process: Process, thread: int, value: int, node: int, data: bytes) -> None:
    """Change a kernel; its attributes stay."""
    with process.driver.lock:
        made, kept = target(process, value, node, KERNEL)
    work = changed_kernel(process, thread, made.works[kept], data)
    with process.driver.lock:
        replace(process, made, kept, work)


@entry("cuGraphExecMemcpyNodeSetParams")
def graph_exec_memcpy_node_set_params(
    process: Process, thread: int, value: int, node: int, data: bytes, ctx: int
) -> None:
    """Change a copy."""
    made, kept = target(process, value, node, MEMCPY)
    context = context_or_current(process, thread, ctx)
    replace(process, made, kept, copy_work(process, Volume.read(data), context))


@entry("cuGraphExecMemsetNodeSetParams")
def graph_exec_memset_node_set_params(
    process: Process, thread: int, value: int, node: int, data: bytes, ctx: int
) -> None:
    """Change a memset."""
    made, kept = target(process, value, node, MEMSET)
    context = context_or_current(process, thread, ctx)
    replace(process, made, kept, fill_work(process, Fill.read(data), context))


@entry("cuGraphExecHostNodeSetParams")
def graph_exec_host_node_set_params(process: Process, value: int, node: int, data: bytes) -> None:
    """Change a host function."""
    made, kept = target(process, value, node, HOST)
    replace(process, made, kept, host_work(process, data))


@entry("cuGraphExecEventRecordNodeSetEvent")
def graph_exec_event_record_node_set_event(process: Process, value: int, node: int, event: int) -> None:
    """Change the event that is recorded."""
    made, kept = target(process, value, node, EVENT_RECORD)
    replace(process, made, kept, RecordWork(event_in_graph(process, event)))


@entry("cuGraphExecEventWaitNodeSetEvent")
def graph_exec_event_wait_node_set_event(process: Process, value: int, node: int, event: int) -> None:
    """Change the event that is waited for."""
    made, kept = target(process, value, node, WAIT_EVENT)
    replace(process, made, kept, WaitWork(event_in_graph(process, event)))


@entry("cuGraphExecNodeSetParams", locked=False)
def graph_exec_node_set_params(process: Process, thread: int, value: int, node: int, params: bytes) -> None:
    """Change a node of any kind but a child graph."""
    with process.driver.lock:
        found = process.graphs.find_node(node)
        process.driver.judge(graph_nodes.node_valid, node, found is not None)
        assert found is not None
        made, kept = target(process, value, node, found.work.kind)
    work = changed(process, thread, found, params)
    with process.driver.lock:
        replace(process, made, kept, work)


@entry("cuGraphExecChildGraphNodeSetParams")
def graph_exec_child_graph_node_set_params(process: Process, value: int, node: int, child: int) -> None:
    """Give the nodes of a child graph the parameters of another graph's of the same shape."""
    made, kept = target(process, value, node, CHILD)
    work, graph = made.works[kept], graph_of(process, child)
    assert isinstance(work, ChildWork)
    old, new = list(every_node(work.graph)), list(every_node(graph))
    same = edges_of(work.graph) == edges_of(graph) and all(each in made.nodes for each in old)
    process.driver.judge(graph_updates.exec_shape, "" if same else "the child graph's nodes or edges change")
    for before, after in zip(old, new, strict=True):
        kinds = KINDS[after.work.kind], KINDS[before.work.kind]
        process.driver.judge(graph_nodes.node_kind, after.value, *kinds)
        process.driver.judge(
            graph_updates.exec_shape, graph_update.unchangeable(made.works[made.nodes[before]], after.work)[1]
        )
    for before, after in zip(old, new, strict=True):
        made.set_work(made.nodes[before], after.work)


# ---- all nodes


def updated(process: Process, value: int, graph: int) -> tuple[int, Node | None, Refused | None]:
    """Take over a graph's parameters, or answer what differs, where, and the refusal (910)."""
    made, found = exec_of(process, value), graph_of(process, graph)
    change = graph_update.difference(made, found)
    if change is None and found.circular:
        change = Change(ERROR, "its nodes wait for each other in a circle")
    if change is not None:
        return change.result, change.node, broken(graph_updates.update_same, change.reason)
    graph_update.adopt(made, found, process.user_objects)
    return SUCCESS, None, None


@entry("cuGraphExecUpdate")
def graph_exec_update(process: Process, value: int, graph: int) -> tuple[int, int]:
    """Take over the parameters of a graph of the same shape; answer where it differs, and how."""
    result, node, refused = updated(process, value, graph)
    outputs = node.value if node is not None else 0, result
    if refused is not None:
        raise RefusedWith(refused, outputs)
    return outputs


@entry("cuGraphExecUpdate_v2")
def graph_exec_update_v2(process: Process, value: int, graph: int) -> bytes:
    """Likewise, with the answers in one structure."""
    result, node, refused = updated(process, value, graph)
    output = _RESULT.pack(result, node.value if node is not None else 0, 0)
    if refused is not None:
        raise RefusedWith(refused, output)
    return output
