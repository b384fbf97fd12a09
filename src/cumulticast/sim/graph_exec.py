"""Executable graphs (CUgraphExec): what was instantiated, and how it is handed over to streams.

The nodes are laid out in lanes: a node goes on in a lane whose last node must be over by then; what runs beside it gets
a lane of its own. A launch uses the caller's stream as the first lane and inner streams as the
others, so that branches run beside each other, as kernels that wait for each other need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.rules import contexts
from cumulticast.sim.graph_work import ChildWork, EmptyWork, Work
from cumulticast.sim.graphs import Graph, Node
from cumulticast.sim.streams import queue
from cumulticast.sim.user_objects import Held

if TYPE_CHECKING:
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.engine import Op
    from cumulticast.sim.process import Process
    from cumulticast.sim.streams import Stream


@dataclass(slots=True, eq=False)
class Step:
    """One node of an executable graph that has something to do.

    Attributes
    ----------
    after
        The steps that it waits for.
    lane
        The number of its lane.
    awaited
        Whether another lane waits for it.
    """

    node: Node
    work: Work
    after: tuple[Step, ...] = field(repr=False)
    lane: int = 0
    awaited: bool = False
    enabled: bool = True


@dataclass(slots=True, eq=False)
class Exec:
    """A CUgraphExec.

    Attributes
    ----------
    edges
        What an update must not change: for each node, as `every_node` counts them, those that it depends on.
    steps
        By node, in an order in which they may run.
    lanes
        The context of each lane; None: any.
    nodes
        The nodes of the graph that it was instantiated from, or updated from last, each with the one that it was first.
    works
        What each of those nodes does, by what it was first.
    objects
        The user objects that it keeps alive.
    last, where
        What is done when its last launch is: the next one waits for that; and the stream that it was given to.
    """

    value: int
    flags: int
    edges: list[tuple[int, ...]] = field(repr=False)
    steps: dict[Node, Step] = field(repr=False)
    lanes: list[Context | None]
    nodes: dict[Node, Node] = field(repr=False)
    works: dict[Node, Work] = field(repr=False)
    objects: Held
    last: Op | None = None
    where: Stream | None = None

    def set_work(self, kept: Node, work: Work) -> None:
        """Give a node other work of its kind, for future launches."""
        self.works[kept] = work
        if kept in self.steps:
            self.steps[kept].work = work


def instantiate(value: int, graph: Graph, flags: int) -> Exec:
    """Make a graph without circles executable."""
    steps = {step.node: step for step in Layout().steps_of(graph)}
    lanes = laid_out(list(steps.values()))
    nodes = list(every_node(graph))
    works = {node: node.work for node in nodes}
    same = dict(zip(nodes, nodes, strict=True))
    return Exec(value, flags, edges_of(graph), steps, lanes, same, works, objects_of(graph))


def objects_of(graph: Graph) -> Held:
    """Answer the user objects of a graph and the graphs in it."""
    held = graph.objects.copy()
    for node in graph.nodes:
        if isinstance(node.work, ChildWork):
            held += objects_of(node.work.graph)
    return held


def edges_of(graph: Graph) -> list[tuple[int, ...]]:
    """Answer what every node depends on, by number."""
    numbers = {node: number for number, node in enumerate(every_node(graph))}
    return [tuple(numbers[earlier] for earlier in node.after) for node in numbers]


def every_node(graph: Graph) -> Iterator[Node]:
    """Answer all nodes, those of child graphs behind their node, in the order of their adding."""
    for node in graph.nodes:
        yield node
        if isinstance(node.work, ChildWork):
            yield from every_node(node.work.graph)


class Layout:
    """Turns graphs in graphs into one row of steps; what does nothing leaves only its order."""

    def __init__(self) -> None:
        self._done: dict[Node, tuple[Step, ...]] = {}

    def steps_of(self, graph: Graph, outer: tuple[Step, ...] = ()) -> Iterator[Step]:
        """Answer the steps of a graph that begins when ``outer`` are done."""
        for node in graph.order or ():
            before = [step for earlier in node.after for step in self._done[earlier]]
            after = tuple(dict.fromkeys(before)) if node.after else outer
            if isinstance(node.work, ChildWork):
                yield from self.steps_of(node.work.graph, after)
                ends = [step for leaf in node.work.graph.leaves for step in self._done[leaf]]
                self._done[node] = tuple(dict.fromkeys(ends)) or after
            elif isinstance(node.work, EmptyWork):
                self._done[node] = after
            else:
                step = Step(node, node.work, after)
                self._done[node] = (step,)
                yield step


def laid_out(steps: list[Step]) -> list[Context | None]:
    """Give every step its lane, and answer the lanes' contexts.

    A lane can be gone on with where its last step is one that must be over anyway, directly or not.
    """
    lanes, tails, over = list["Context | None"](), list[Step](), dict[Step, int]()
    for number, step in enumerate(steps):
        before = 0
        for earlier in step.after:
            before |= over[earlier]
        over[step] = before | 1 << number
        step.lane = lane_for(step, lanes, [before & over[tail] == over[tail] for tail in tails])
        if step.lane == len(lanes):
            lanes.append(step.work.context)
            tails.append(step)
        lanes[step.lane] = lanes[step.lane] or step.work.context
        tails[step.lane] = step
        for earlier in step.after:
            earlier.awaited = earlier.awaited or earlier.lane != step.lane
    return lanes


def lane_for(step: Step, lanes: list[Context | None], over: list[bool]) -> int:
    """Choose a lane whose work is over by then, best one of a step that is waited for; else the next new one."""
    free = [k for k, context in enumerate(lanes) if over[k] and meets(context, step.work.context)]
    near = [earlier.lane for earlier in step.after if earlier.lane in free]
    return [*near, *free, len(lanes)][0]


def meets(one: Context | None, other: Context | None) -> bool:
    """Tell whether work of two contexts can share a stream."""
    return one is None or other is None or one is other


# ---- launching


def launch(process: Process, made: Exec, stream: Stream) -> None:
    """Hand all steps over, behind what the stream was given and behind this graph's launch before.

    The driver's lock is held throughout: nobody's work gets between.
    """
    for context in made.lanes:
        process.driver.judge(contexts.context_alive, 0 if context is None else context.value, gone(context))
    own = queue(process, stream)
    if made.last is not None and not made.last.done:
        own.after(made.last)
    lanes = [stream_of_lane(process, made, k, stream) for k in range(len(made.lanes))]
    others = [lane for lane in lanes if lane is not stream]
    start = own.record() if others else None
    for lane in others:
        assert start is not None
        queue(process, lane).after(start)
    hand_over(process, made, lanes)
    for lane in others:
        own.after(queue(process, lane).record())
    made.last, made.where = own.record(), stream


def end(process: Process, made: Exec) -> None:
    """Destroy an executable graph: at once, or what it keeps alive behind its last launch."""
    if made.last is None or made.last.done or made.where is None:
        process.graphs.destroy_exec(made)
    else:
        process.graphs.forget_exec(made)
        behind = queue(process, process.streams.inner(made.where.context, (made.value, len(made.lanes))))
        behind.after(made.last)
        behind.call(lambda: _end_later(process, made))
    process.streams.end_inner(made.value)


def _end_later(process: Process, made: Exec) -> None:
    with process.driver.lock:
        process.graphs.destroy_exec(made)


def gone(context: Context | None) -> bool:
    """Tell whether the context of some work was destroyed."""
    return context is not None and context.destroyed


def stream_of_lane(process: Process, made: Exec, lane: int, stream: Stream) -> Stream:
    """Answer the stream that a lane runs in."""
    context = made.lanes[lane] or stream.context
    if lane == 0 and context is stream.context:
        return stream
    return process.streams.inner(context, (made.value, lane))


def hand_over(process: Process, made: Exec, lanes: list[Stream]) -> None:
    """Hand the steps over to their lanes."""
    done = dict[Step, "Op"]()
    for step in made.steps.values():
        lane = queue(process, lanes[step.lane])
        for earlier in step.after:
            if earlier.lane != step.lane:
                lane.after(done[earlier])
        if step.enabled:
            step.work.hand_over(process, lanes[step.lane])
        if step.awaited:
            done[step] = lane.record()
