"""Nodes of graphs: added, their parameters asked for and changed."""

from __future__ import annotations

from cumulticast.rules import contexts, general, graph_edges, graph_nodes, graphs
from cumulticast.sim.calls.context import context_of
from cumulticast.sim.calls.event import event_of
from cumulticast.sim.calls.graph import check_data, edge_data, graph_of, node_of, nodes_in
from cumulticast.sim.calls.launch import launched
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.fills import Fill
from cumulticast.sim.graph_params import (
    KernelParams,
    copy_work,
    fill_work,
    host_params,
    host_work,
    kernel_params,
    kernel_work,
)
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
    CopyWork,
    EmptyWork,
    FillWork,
    HostWork,
    KernelWork,
    RecordWork,
    WaitWork,
    Work,
)
from cumulticast.sim.graphs import Node
from cumulticast.sim.modules import Function
from cumulticast.sim.planes import Volume
from cumulticast.sim.process import Process
from cumulticast.sim.streams import Event


def add(process: Process, value: int, dependencies: bytes | None, data: bytes | None, count: int, work: Work) -> int:
    """Add a node behind others of the graph."""
    graph = graph_of(process, value)
    after = list(zip(nodes_in(process, graph, dependencies), edge_data(data, count), strict=True))
    check_edges(process, [node for node, _ in after])
    for index, (node, each) in enumerate(after):
        check_data(process, index, each, kernels=node.work.kind == work.kind == KERNEL)
    return process.graphs.add(graph, work, after).value


def check_edges(process: Process, nodes: list[Node]) -> None:
    """Refuse (1) a dependency that is named twice."""
    for index, node in enumerate(nodes):
        process.driver.judge(graph_edges.edge_new, index, node in nodes[:index])


def of_kind(process: Process, value: int, kind: int) -> Node:
    """Answer a node of one kind, or refuse (1)."""
    node = node_of(process, value)
    process.driver.judge(graph_nodes.node_kind, value, KINDS[node.work.kind], KINDS[kind])
    return node


def context_or_current(process: Process, thread: int, value: int) -> Context:
    """Answer a context; 0 is the current one (recorded), 201 without."""
    if value:
        return context_of(process, value)
    context = process.contexts.current(thread)
    process.driver.judge(contexts.context_current, 0 if context is None else context.value)
    assert context is not None
    return context


def change(node: Node, work: Work) -> None:
    """Give a node other parameters; memory shown of the old ones goes."""
    node.work, node.shown = work, ()


# ---- kernels


def named(process: Process, thread: int, params: KernelParams) -> Function:
    """Answer the function that a kernel node names, loaded; called without the driver's lock."""
    with process.driver.lock:
        process.driver.judge(graph_nodes.kernel_named, params.func, params.kern)
        context = context_or_current(process, thread, 0 if params.func else params.ctx)
    return launched(process, params.func or params.kern, context)


@entry("cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", locked=False)
def graph_add_kernel_node(
    process: Process, thread: int, graph: int, dependencies: bytes | None, count: int, data: bytes
) -> int:
    """Add a kernel."""
    params = KernelParams.read(data)
    function = named(process, thread, params)
    with process.driver.lock:
        work = kernel_work(process, function, params, params.shape)
        return add(process, graph, dependencies, None, count, work)


@entry("cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams_v2")
def graph_kernel_node_get_params(process: Process, node: int) -> bytes:
    """Answer the parameters; their pointers hold until they are changed."""
    return shown(of_kind(process, node, KERNEL))


def shown(node: Node) -> bytes:
    """Write a kernel node's parameters, with memory for what they point to."""
    assert isinstance(node.work, KernelWork)
    params, node.shown = kernel_params(node.work)
    return params.write()


@entry("cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2", locked=False)
def graph_kernel_node_set_params(process: Process, thread: int, node: int, data: bytes) -> None:
    """Change the parameters; the attributes stay."""
    with process.driver.lock:
        found = of_kind(process, node, KERNEL)
    work = changed_kernel(process, thread, found.work, data)
    with process.driver.lock:
        change(found, work)


def changed_kernel(process: Process, thread: int, before: Work, data: bytes) -> KernelWork:
    """Make a kernel's work of parameters, with the attributes that it had; called without the driver's lock."""
    assert isinstance(before, KernelWork)
    params = KernelParams.read(data)
    function = named(process, thread, params)
    with process.driver.lock:
        return kernel_work(process, function, params, before.with_sizes(params.grid, params.block, params.dynamic))


# ---- copies and memsets


@entry("cuGraphAddMemcpyNode")
def graph_add_memcpy_node(
    process: Process, thread: int, graph: int, dependencies: bytes | None, count: int, data: bytes, ctx: int
) -> int:
    """Add a copy."""
    work = copy_work(process, Volume.read(data), context_or_current(process, thread, ctx))
    return add(process, graph, dependencies, None, count, work)


@entry("cuGraphMemcpyNodeGetParams")
def graph_memcpy_node_get_params(process: Process, node: int) -> bytes:
    """Answer the CUDA_MEMCPY3D."""
    work = of_kind(process, node, MEMCPY).work
    assert isinstance(work, CopyWork)
    return work.volume.write()


@entry("cuGraphMemcpyNodeSetParams")
def graph_memcpy_node_set_params(process: Process, node: int, data: bytes) -> None:
    """Change the copy; its context stays."""
    found = of_kind(process, node, MEMCPY)
    assert isinstance(found.work, CopyWork)
    change(found, copy_work(process, Volume.read(data), found.work.context))


@entry("cuGraphAddMemsetNode")
def graph_add_memset_node(
    process: Process, thread: int, graph: int, dependencies: bytes | None, count: int, data: bytes, ctx: int
) -> int:
    """Add a memset."""
    work = fill_work(process, Fill.read(data), context_or_current(process, thread, ctx))
    return add(process, graph, dependencies, None, count, work)


@entry("cuGraphMemsetNodeGetParams")
def graph_memset_node_get_params(process: Process, node: int) -> bytes:
    """Answer the parameters."""
    work = of_kind(process, node, MEMSET).work
    assert isinstance(work, FillWork)
    return work.fill.write()


@entry("cuGraphMemsetNodeSetParams")
def graph_memset_node_set_params(process: Process, node: int, data: bytes) -> None:
    """Change the memset; its context stays."""
    found = of_kind(process, node, MEMSET)
    assert isinstance(found.work, FillWork)
    change(found, fill_work(process, Fill.read(data), found.work.context))


# ---- host functions, events, child graphs, nothing


@entry("cuGraphAddHostNode")
def graph_add_host_node(process: Process, graph: int, dependencies: bytes | None, count: int, data: bytes) -> int:
    """Add a host function."""
    return add(process, graph, dependencies, None, count, host_work(process, data))


@entry("cuGraphHostNodeGetParams")
def graph_host_node_get_params(process: Process, node: int) -> bytes:
    """Answer function and argument."""
    work = of_kind(process, node, HOST).work
    assert isinstance(work, HostWork)
    return host_params(work)


@entry("cuGraphHostNodeSetParams")
def graph_host_node_set_params(process: Process, node: int, data: bytes) -> None:
    """Change function and argument."""
    change(of_kind(process, node, HOST), host_work(process, data))


@entry("cuGraphAddChildGraphNode")
def graph_add_child_graph_node(process: Process, graph: int, dependencies: bytes | None, count: int, child: int) -> int:
    """Add a copy of another graph."""
    return add(process, graph, dependencies, None, count, child_work(process, graph, child))


def child_work(process: Process, graph: int, child: int) -> ChildWork:
    """Answer a graph as a child; no graph is its own (1; a real driver crashes, as recorded)."""
    process.driver.judge(graphs.graph_valid, child, child != graph)
    return ChildWork(graph_of(process, child))


@entry("cuGraphChildGraphNodeGetGraph")
def graph_child_graph_node_get_graph(process: Process, node: int) -> int:
    """Answer the graph in a node."""
    work = of_kind(process, node, CHILD).work
    assert isinstance(work, ChildWork)
    return work.graph.value


@entry("cuGraphAddEmptyNode")
def graph_add_empty_node(process: Process, graph: int, dependencies: bytes | None, count: int) -> int:
    """Add a node that does nothing."""
    return add(process, graph, dependencies, None, count, EmptyWork())


@entry("cuGraphAddEventRecordNode")
def graph_add_event_record_node(
    process: Process, graph: int, dependencies: bytes | None, count: int, event: int
) -> int:
    """Add the recording of an event."""
    return add(process, graph, dependencies, None, count, RecordWork(event_in_graph(process, event)))


def event_in_graph(process: Process, value: int) -> Event:
    """Answer an event for a node; 0 is refused with 1 (recorded), other numbers as everywhere."""
    process.driver.judge(general.pointer_given, "event", value)
    return event_of(process, value)


@entry("cuGraphEventRecordNodeGetEvent")
def graph_event_record_node_get_event(process: Process, node: int) -> int:
    """Answer the event."""
    return event_in(of_kind(process, node, EVENT_RECORD))


@entry("cuGraphEventRecordNodeSetEvent")
def graph_event_record_node_set_event(process: Process, node: int, event: int) -> None:
    """Change the event."""
    change(of_kind(process, node, EVENT_RECORD), RecordWork(event_in_graph(process, event)))


@entry("cuGraphAddEventWaitNode")
def graph_add_event_wait_node(process: Process, graph: int, dependencies: bytes | None, count: int, event: int) -> int:
    """Add a wait for an event."""
    return add(process, graph, dependencies, None, count, WaitWork(event_in_graph(process, event)))


@entry("cuGraphEventWaitNodeGetEvent")
def graph_event_wait_node_get_event(process: Process, node: int) -> int:
    """Answer the event."""
    return event_in(of_kind(process, node, WAIT_EVENT))


@entry("cuGraphEventWaitNodeSetEvent")
def graph_event_wait_node_set_event(process: Process, node: int, event: int) -> None:
    """Change the event."""
    change(of_kind(process, node, WAIT_EVENT), WaitWork(event_in_graph(process, event)))


def event_in(node: Node) -> int:
    """Answer the handle of a node's event."""
    assert isinstance(node.work, RecordWork | WaitWork)
    return node.work.event.value
