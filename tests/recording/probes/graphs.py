"""Graphs: built, asked about, instantiated, updated, launched; and what is refused."""

from __future__ import annotations

import ctypes

from cuda.bindings import driver as cu
from recorder import Recorder, group

from probes.captures import Bench


def kernel_params(function: object, grid: tuple[int, int, int] = (1, 1, 1), block: int = 1) -> object:
    """Describe a kernel node without parameters."""
    made = cu.CUDA_KERNEL_NODE_PARAMS()
    made.func = function
    made.gridDimX, made.gridDimY, made.gridDimZ = grid
    made.blockDimX, made.blockDimY, made.blockDimZ = block, 1, 1
    made.sharedMemBytes = 0
    return made


def memset_params(dst: int, width: int = 4, height: int = 1, element: int = 4, pitch: int = 0) -> object:
    """Describe a memset node."""
    made = cu.CUDA_MEMSET_NODE_PARAMS()
    made.dst, made.pitch, made.value, made.elementSize, made.width, made.height = dst, pitch, 7, element, width, height
    return made


def copy_params(dst: int, src: int, width: int = 64, height: int = 1, depth: int = 1, kind: int = 2) -> object:
    """Describe a copy node between device memories."""
    made = cu.CUDA_MEMCPY3D()
    made.srcMemoryType, made.dstMemoryType = cu.CUmemorytype(kind), cu.CUmemorytype(kind)
    made.srcDevice, made.dstDevice = src, dst
    made.srcPitch = made.dstPitch = width
    made.srcHeight = made.dstHeight = height
    made.WidthInBytes, made.Height, made.Depth = width, height, depth
    return made


def host_params(bench: Bench) -> object:
    """Describe a host node."""
    made = cu.CUDA_HOST_NODE_PARAMS()
    made.fn, made.userData = bench.host, 0
    return made


@group(kind="graphs")
def graph_build(step: Recorder) -> None:
    """Nodes and edges."""
    bench = Bench(step)
    step("create.flags", "cuGraphCreate", 1)
    graph, other = step.quiet("cuGraphCreate", 0), step.quiet("cuGraphCreate", 0)
    a = step("empty", "cuGraphAddEmptyNode", graph, [], 0, hide=True)
    b = step("empty.after", "cuGraphAddEmptyNode", graph, [a], 1, hide=True)
    foreign = step.quiet("cuGraphAddEmptyNode", other, [], 0)
    step("empty.foreign", "cuGraphAddEmptyNode", graph, [foreign], 1, hide=True)
    step("empty.twice", "cuGraphAddEmptyNode", graph, [a, a], 2, hide=True)
    for name, one, two in (("again", a, b), ("self", a, a), ("cycle", b, a), ("foreign", a, foreign)):
        step(f"edge.{name}", "cuGraphAddDependencies", graph, [one], [two], [cu.CUgraphEdgeData()], 1)
    step("edges.after", "cuGraphGetEdges", graph, 0, hide=True)
    step.note("edges.count", cu.cuGraphGetEdges(graph)[4] if len(cu.cuGraphGetEdges(graph)) > 4 else "v1")
    step("cycle.instantiate", "cuGraphInstantiate", graph, 0, hide=True)
    params = cu.CUDA_GRAPH_INSTANTIATE_PARAMS()
    step("cycle.with_params", "cuGraphInstantiateWithParams", graph, params, hide=True)
    step.note("cycle.result", int(params.result_out))
    step("cycle.remove", "cuGraphRemoveDependencies", graph, [b], [a], [cu.CUgraphEdgeData()], 1)
    step("remove.missing", "cuGraphRemoveDependencies", graph, [b], [a], [cu.CUgraphEdgeData()], 1)
    for edge in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 0, 2)):
        data = cu.CUgraphEdgeData()
        data.from_port, data.to_port, data.type = edge
        c = step.quiet("cuGraphAddEmptyNode", graph, [], 0)
        step(f"edge.data.{edge}".replace(" ", ""), "cuGraphAddDependencies", graph, [a], [c], [data], 1)
    k = step("kernel", "cuGraphAddKernelNode", graph, [b], 1, kernel_params(bench.function), hide=True)
    step("kernel.type", "cuGraphNodeGetType", k)
    step("kernel.bad_grid", "cuGraphAddKernelNode", graph, [], 0, kernel_params(bench.function, (0, 1, 1)), hide=True)
    step("kernel.bad_block", "cuGraphAddKernelNode", graph, [], 0, kernel_params(bench.function, block=1025), hide=True)
    step("kernel.null", "cuGraphAddKernelNode", graph, [], 0, kernel_params(0), hide=True)
    takes = step.quiet("cuModuleGetFunction", bench.module, b"takes")
    step("kernel.no_arguments", "cuGraphAddKernelNode", graph, [], 0, kernel_params(takes), hide=True)
    got = step("kernel.get", "cuGraphKernelNodeGetParams", k, hide=True)
    step.note(
        "kernel.got",
        got.gridDimX,
        got.blockDimX,
        int(got.func) == int(bench.function),
        int(got.kern) == 0,
        int(got.ctx) == 0,
        int(got.ctx) == int(step.context),
        got.kernelParams,
        got.extra,
    )
    step("kernel.set", "cuGraphKernelNodeSetParams", k, kernel_params(bench.function, (2, 1, 1)))
    step("kernel.set.other_kind", "cuGraphKernelNodeSetParams", a, kernel_params(bench.function))
    step("kernel.get.other_kind", "cuGraphKernelNodeGetParams", a, hide=True)
    ctx = step.context
    d, e = bench.device, bench.second
    step("memset", "cuGraphAddMemsetNode", graph, [], 0, memset_params(d), ctx, hide=True)
    for name, made in {
        "element3": memset_params(d, element=3),
        "width0": memset_params(d, width=0),
        "height0": memset_params(d, height=0),
        "misaligned": memset_params(d + 1),
        "wild": memset_params(16),
        "beyond": memset_params(d, width=1 << 30),
        "pitch_small": memset_params(d, width=16, height=2, element=4, pitch=4),
        "rows": memset_params(d, width=4, height=2, element=4, pitch=64),
    }.items():
        step(f"memset.{name}", "cuGraphAddMemsetNode", graph, [], 0, made, ctx, hide=True)
    step("memset.null_ctx", "cuGraphAddMemsetNode", graph, [], 0, memset_params(d), 0, hide=True)
    step("copy", "cuGraphAddMemcpyNode", graph, [], 0, copy_params(d, e), ctx, hide=True)
    for name, made in {
        "width0": copy_params(d, e, 0),
        "height0": copy_params(d, e, 64, 0),
        "depth0": copy_params(d, e, 64, 1, 0),
        "wild": copy_params(16, e),
        "beyond": copy_params(d, e, 1 << 30),
        "rows": copy_params(d, e, 64, 4),
        "planes": copy_params(d, e, 64, 4, 2),
        "kind0": copy_params(d, e, kind=4),
    }.items():
        step(f"copy.{name}", "cuGraphAddMemcpyNode", graph, [], 0, made, ctx, hide=True)
    step("copy.null_ctx", "cuGraphAddMemcpyNode", graph, [], 0, copy_params(d, e), 0, hide=True)
    step("host", "cuGraphAddHostNode", graph, [], 0, host_params(bench), hide=True)
    step("record", "cuGraphAddEventRecordNode", graph, [], 0, bench.event, hide=True)
    step("record.null", "cuGraphAddEventRecordNode", graph, [], 0, 0, hide=True)
    step("wait", "cuGraphAddEventWaitNode", graph, [], 0, bench.event, hide=True)
    child = step("child", "cuGraphAddChildGraphNode", graph, [], 0, other, hide=True)
    step("child.null", "cuGraphAddChildGraphNode", graph, [], 0, 0, hide=True)
    inside = step("child.graph", "cuGraphChildGraphNodeGetGraph", child, hide=True)
    step.note("child.graph.other", int(inside) != int(other))
    step("child.graph.add", "cuGraphAddEmptyNode", inside, [], 0, hide=True)
    step("child.graph.instantiate", "cuGraphInstantiate", inside, 0, hide=True)
    clone = step("clone", "cuGraphClone", graph, hide=True)
    step.note("clone.nodes", cu.cuGraphGetNodes(clone)[2], cu.cuGraphGetNodes(graph)[2])
    step("clone.find", "cuGraphNodeFindInClone", a, clone, hide=True)
    step("clone.find.foreign", "cuGraphNodeFindInClone", foreign, clone, hide=True)
    step("clone.find.unrelated", "cuGraphNodeFindInClone", a, other, hide=True)
    step("destroy_node", "cuGraphDestroyNode", b)
    for node in (1, 2, 40):
        got = cu.cuGraphGetNodes(graph, node)
        step.note(f"nodes.{node}", *[int(x) != 0 for x in got[1]], got[2], status=int(got[0]))
    exec_ = step("instantiate", "cuGraphInstantiate", graph, 0, hide=True)
    step("instantiate.flags16", "cuGraphInstantiate", graph, 16, hide=True)
    step("instantiate.flags15", "cuGraphInstantiate", graph, 15, hide=True)
    step("instantiate.flags2", "cuGraphInstantiate", graph, 2, hide=True)
    step("flags", "cuGraphExecGetFlags", exec_)
    step("destroy", "cuGraphDestroy", graph)
    step("launch", "cuGraphLaunch", exec_, bench.stream)
    step("launch.null", "cuGraphLaunch", exec_, 0)
    step.synchronize("synchronize")
    step("launch.bad_exec", "cuGraphLaunch", 0, bench.stream)
    step("upload", "cuGraphUpload", exec_, bench.stream)
    step("exec_destroy", "cuGraphExecDestroy", exec_)


@group(kind="graphs")
def graph_destroyed(step: Recorder) -> None:
    """A graph used after its end."""
    graph = step.quiet("cuGraphCreate", 0)
    step("destroy", "cuGraphDestroy", graph)
    step("add", "cuGraphAddEmptyNode", graph, [], 0, hide=True)
    step("again", "cuGraphDestroy", graph)


@group(kind="graphs")
def graph_node_destroyed(step: Recorder) -> None:
    """A node used after its end."""
    graph = step.quiet("cuGraphCreate", 0)
    node = step.quiet("cuGraphAddEmptyNode", graph, [], 0)
    step("destroy", "cuGraphDestroyNode", node)
    step("type", "cuGraphNodeGetType", node)


@group(kind="graphs")
def graph_exec_destroyed(step: Recorder) -> None:
    """An executable graph used after its end."""
    graph = step.quiet("cuGraphCreate", 0)
    exec_ = step.quiet("cuGraphInstantiate", graph, 0)
    step("destroy", "cuGraphExecDestroy", exec_)
    step("launch", "cuGraphLaunch", exec_, 0)
    step("again", "cuGraphExecDestroy", exec_)


@group(kind="graphs")
def graph_null(step: Recorder) -> None:
    """Null handles."""
    step("destroy", "cuGraphDestroy", 0)
    step("exec_destroy", "cuGraphExecDestroy", 0)
    step("destroy_node", "cuGraphDestroyNode", 0)
    step("type", "cuGraphNodeGetType", 0)
    step("nodes", "cuGraphGetNodes", 0, hide=True)
    step("instantiate", "cuGraphInstantiate", 0, 0, hide=True)
    step("clone", "cuGraphClone", 0, hide=True)
    step("add", "cuGraphAddEmptyNode", 0, [], 0, hide=True)


@group(kind="graphs")
def graph_child_self(step: Recorder) -> None:
    """A graph as a child of itself."""
    graph = step.quiet("cuGraphCreate", 0)
    step("child", "cuGraphAddChildGraphNode", graph, [], 0, graph, hide=True)


@group(kind="graphs")
def graph_host_null(step: Recorder) -> None:
    """A host node without a function."""
    graph = step.quiet("cuGraphCreate", 0)
    step("host", "cuGraphAddHostNode", graph, [], 0, cu.CUDA_HOST_NODE_PARAMS(), hide=True)


@group(kind="graphs")
def graph_update(step: Recorder) -> None:
    """Executable graphs changed in place."""
    bench = Bench(step)
    wide = step.quiet("cuModuleGetFunction", bench.spare_module, b"nothing")

    def chain(kinds: str, function: object = bench.function, *, linked: bool = True) -> tuple[object, list]:
        """Make a graph of nodes: kernel, memset, memset of two rows, copy, empty."""
        graph, nodes = step.quiet("cuGraphCreate", 0), []
        for kind in kinds:
            after = nodes[-1:] if linked else []
            made = {
                "k": ("Kernel", kernel_params(function)),
                "m": ("Memset", memset_params(bench.device), step.context),
                "2": ("Memset", memset_params(bench.device, width=4, height=2, pitch=64), step.context),
                "c": ("Memcpy", copy_params(bench.device, bench.second), step.context),
                "e": ("Empty",),
            }[kind]
            nodes.append(step.quiet(f"cuGraphAdd{made[0]}Node", graph, after, len(after), *made[1:]))
        return graph, nodes

    graph, nodes = chain("kmc")
    exec_ = step.quiet("cuGraphInstantiate", graph, 0)

    def update(name: str, made: tuple[object, list]) -> None:
        info = (ctypes.c_uint64 * 3)()  # result, node, node that it depends on
        step.mark(name)
        status = step.library.cuGraphExecUpdate_v2(ctypes.c_void_p(int(exec_)), ctypes.c_void_p(int(made[0])), info)
        places = [next((k for k, n in enumerate(made[1]) if int(n) == node), -1) for node in info[1:]]
        step.note(name, info[0] & 0xFFFFFFFF, *places, info[1] != 0, info[2] != 0, status=status)

    update("same", chain("kmc"))
    update("function", chain("kmc", wide))
    update("kinds", chain("kme"))
    update("fewer", chain("km"))
    update("more", chain("kmce"))
    update("edges", chain("kmc", linked=False))
    update("order", chain("mkc"))
    update("rows", chain("k2c"))
    update("itself", (graph, nodes))
    k, m, c = nodes
    kernel, fill, copy = (f"cuGraphExec{kind}NodeSetParams" for kind in ("Kernel", "Memset", "Memcpy"))
    step("set.kernel", kernel, exec_, k, kernel_params(bench.function, (2, 1, 1)))
    step("set.kernel.function", kernel, exec_, k, kernel_params(wide))
    step("set.kernel.bad", kernel, exec_, k, kernel_params(bench.function, (0, 1, 1)))
    step("set.kernel.other_kind", kernel, exec_, m, kernel_params(bench.function))
    stranger = chain("k")[1][0]
    step("set.kernel.stranger", kernel, exec_, stranger, kernel_params(bench.function))
    d, e, ctx = bench.device, bench.second, step.context
    step("set.memset", fill, exec_, m, memset_params(e), ctx)
    step("set.memset.width", fill, exec_, m, memset_params(e, width=8), ctx)
    step("set.memset.rows", fill, exec_, m, memset_params(e, width=4, height=2, pitch=64), ctx)
    step("set.copy", copy, exec_, c, copy_params(e, d), ctx)
    step("set.copy.width", copy, exec_, c, copy_params(e, d, 32), ctx)
    step("set.copy.rows", copy, exec_, c, copy_params(e, d, 32, 2), ctx)
    step("enabled", "cuGraphNodeGetEnabled", exec_, k)
    step("disable", "cuGraphNodeSetEnabled", exec_, k, 0)
    step("disabled", "cuGraphNodeGetEnabled", exec_, k)
    step("enable.2", "cuGraphNodeSetEnabled", exec_, k, 2)
    extra = chain("e")
    e2 = step.quiet("cuGraphInstantiate", extra[0], 0)
    step("disable.empty", "cuGraphNodeSetEnabled", e2, extra[1][0], 0)
    step("destroy_node", "cuGraphDestroyNode", k)
    step("launch", "cuGraphLaunch", exec_, bench.stream)
    step.synchronize("synchronize")


@group(kind="graphs")
def graph_nodes(step: Recorder) -> None:
    """What nodes of captured work say about themselves."""
    bench = Bench(step)
    step.quiet("cuStreamBeginCapture", bench.stream, cu.CUstreamCaptureMode(2))
    for name in ("copy", "copy.pinned", "copy.pageable", "memset", "memset_2d"):
        step.quiet(*bench.captured()[name])
    step.quiet("cuMemcpyHtoDAsync", bench.device, bench.pinned, 64, bench.stream)
    step.quiet("cuMemsetD16Async", bench.device, 3, 16, bench.stream)
    graph = step.quiet("cuStreamEndCapture", bench.stream)
    count = cu.cuGraphGetNodes(graph)[2]
    for k, node in enumerate(cu.cuGraphGetNodes(graph, count)[1]):
        if int(cu.cuGraphNodeGetType(node)[1]) == 1:
            p = cu.cuGraphMemcpyNodeGetParams(node)[1]
            kinds = int(p.srcMemoryType), int(p.dstMemoryType)
            fields = p.WidthInBytes, p.Height, p.Depth, p.srcPitch, p.srcHeight, p.dstPitch, p.dstHeight
            step.note(f"{k}.copy", *kinds, *fields, int(p.dstDevice) == bench.device, int(p.srcHost or 0) != 0)
        else:
            p = cu.cuGraphMemsetNodeGetParams(node)[1]
            step.note(f"{k}.memset", p.pitch, p.value, p.elementSize, p.width, p.height, int(p.dst) == bench.device)
    step("dot", "cuGraphDebugDotPrint", graph, b"/tmp/probe.dot", 1)
    with open("/tmp/probe.dot") as file:
        step.note("dot.text", file.read()[:6000])
    step("dot.nowhere", "cuGraphDebugDotPrint", graph, b"/nonexistent/x.dot", 0)
    made = ctypes.c_uint64()
    step.raw("user_object.null", "cuUserObjectCreate", ctypes.byref(made), None, None, 1, 1)
