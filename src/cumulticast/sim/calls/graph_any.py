"""Nodes of any kind: cuGraphAddNode, cuGraphNodeGetParams and their kin, through CUgraphNodeParams."""

from __future__ import annotations

from cumulticast.rules import graph_nodes
from cumulticast.sim.calls.graph import node_of
from cumulticast.sim.calls.graph_node import (
    add,
    change,
    changed_kernel,
    child_work,
    context_or_current,
    event_in_graph,
    named,
    shown,
)
from cumulticast.sim.entry import entry
from cumulticast.sim.fills import Fill
from cumulticast.sim.graph_params import (
    COPY_BODY,
    NODE_PARAMS,
    UNION,
    WORD,
    KernelParams,
    copy_body,
    copy_work,
    fill_body,
    fill_work,
    host_params,
    host_work,
    kernel_work,
    kind_of,
    whole,
    word_at,
)
from cumulticast.sim.graph_work import (
    CHILD,
    EMPTY,
    EVENT_RECORD,
    HOST,
    KERNEL,
    KINDS,
    MEMCPY,
    MEMSET,
    WAIT_EVENT,
    ChildWork,
    CopyWork,
    EmptyWork,
    FillWork,
    HostWork,
    RecordWork,
    WaitWork,
    Work,
)
from cumulticast.sim.graphs import Node
from cumulticast.sim.planes import Volume
from cumulticast.sim.process import Process

KERNEL_SIZE, COPY_SIZE, FILL_SIZE = 72, 200, 40
MOVE = 1  # CUgraphChildGraphNodeOwnership
WRITABLE = (KERNEL, MEMCPY, MEMSET, HOST, CHILD, EMPTY, WAIT_EVENT, EVENT_RECORD)


def read_work(process: Process, thread: int, data: bytes, graph: int = 0) -> Work:
    """Make work of a CUgraphNodeParams; called without the driver's lock.

    Raises
    ------
    Refused
        801: a kind that is not simulated. Or as the call for that kind alone.
    """
    kind = kind_of(data)
    with process.driver.lock:
        process.driver.judge(graph_nodes.node_simulated, KINDS.get(kind, str(kind)), kind in WRITABLE)
    if kind == KERNEL:
        params = KernelParams.read(data[UNION : UNION + KERNEL_SIZE])
        function = named(process, thread, params)
        with process.driver.lock:
            return kernel_work(process, function, params, params.shape)
    with process.driver.lock:
        return read_other(process, thread, kind, data, graph)


def read_other(process: Process, thread: int, kind: int, data: bytes, graph: int) -> Work:
    """Make work of any kind but a kernel."""
    if kind == MEMCPY:
        context = context_or_current(process, thread, word_at(data, WORD))
        return copy_work(process, Volume.read(data[COPY_BODY : COPY_BODY + COPY_SIZE]), context)
    if kind == MEMSET:
        context = context_or_current(process, thread, word_at(data, FILL_SIZE))
        return fill_work(process, Fill.read(data[UNION : UNION + FILL_SIZE]), context)
    if kind == HOST:
        return host_work(process, data[UNION:])
    if kind == CHILD:
        work = child_work(process, graph, word_at(data, 0))
        return ChildWork(work.graph, moved=word_at(data, WORD) & 0xFFFFFFFF == MOVE)
    if kind in (WAIT_EVENT, EVENT_RECORD):
        event = event_in_graph(process, word_at(data, 0))
        return WaitWork(event) if kind == WAIT_EVENT else RecordWork(event)
    return EmptyWork()


def written(node: Node) -> bytes:
    """Write a node's parameters as a CUgraphNodeParams."""
    work = node.work
    if isinstance(work, CopyWork):
        return whole(MEMCPY, copy_body(work))
    if isinstance(work, FillWork):
        return whole(MEMSET, fill_body(work))
    if isinstance(work, HostWork):
        return whole(HOST, host_params(work))
    if isinstance(work, ChildWork):
        return whole(CHILD, work.graph.value.to_bytes(WORD, "little"))
    if isinstance(work, RecordWork | WaitWork):
        return whole(work.kind, work.event.value.to_bytes(WORD, "little"))
    return whole(KERNEL, shown(node)) if work.kind == KERNEL else whole(work.kind, b"")


@entry("cuGraphAddNode", locked=False)
def graph_add_node(
    process: Process, thread: int, graph: int, dependencies: bytes | None, count: int, params: bytes
) -> tuple[int, bytes]:
    """Add a node of any kind."""
    return graph_add_node_v2(process, thread, graph, dependencies, None, count, params)


@entry("cuGraphAddNode_v2", "cuGraphAddNode_v3", locked=False)
def graph_add_node_v2(
    process: Process,
    thread: int,
    graph: int,
    dependencies: bytes | None,
    data: bytes | None,
    count: int,
    params: bytes,
) -> tuple[int, bytes]:
    """Add a node of any kind, with the data of its edges; the parameters are answered as they came."""
    work = read_work(process, thread, params, graph)
    with process.driver.lock:
        return add(process, graph, dependencies, data, count, work), params


@entry("cuGraphNodeSetParams", "cuGraphNodeSetParams_v2", locked=False)
def graph_node_set_params(process: Process, thread: int, node: int, params: bytes) -> None:
    """Change the parameters of a node; its kind stays."""
    with process.driver.lock:
        found = node_of(process, node)
    work = changed(process, thread, found, params)
    with process.driver.lock:
        change(found, work)


def changed(process: Process, thread: int, node: Node, params: bytes) -> Work:
    """Make work of other parameters of the same kind, or refuse (1); called without the driver's lock."""
    kind = kind_of(params)
    with process.driver.lock:
        process.driver.judge(graph_nodes.node_kind, node.value, KINDS[node.work.kind], KINDS.get(kind, str(kind)))
        process.driver.judge(graph_nodes.node_simulated, "GRAPH with other children", kind != CHILD)
    if kind == KERNEL:
        return changed_kernel(process, thread, node.work, params[UNION : UNION + KERNEL_SIZE])
    return read_work(process, thread, params)


@entry("cuGraphNodeGetParams")
def graph_node_get_params(process: Process, node: int) -> bytes:
    """Answer the parameters of a node."""
    data = written(node_of(process, node))
    assert len(data) == NODE_PARAMS
    return data
