"""What the nodes of graphs do. Each kind is a value that can hand itself over to a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from cumulticast.sim import engine_launch
from cumulticast.sim.copies import check, give_memory, move
from cumulticast.sim.streams import queue, record, wait_for_event

if TYPE_CHECKING:
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.fills import Fill
    from cumulticast.sim.graphs import Graph
    from cumulticast.sim.launches import Launch, Shape, Shape3
    from cumulticast.sim.planes import Volume
    from cumulticast.sim.process import Process
    from cumulticast.sim.streams import Event, Stream

CALL = "cuGraphLaunch"
# CUgraphNodeType
KERNEL, MEMCPY, MEMSET, HOST, CHILD, EMPTY, WAIT_EVENT, EVENT_RECORD = range(8)
SEMAPHORE_SIGNAL, SEMAPHORE_WAIT, MEM_ALLOC, MEM_FREE, BATCH_MEM_OP, CONDITIONAL = range(8, 14)
KINDS = {
    **{KERNEL: "KERNEL", MEMCPY: "MEMCPY", MEMSET: "MEMSET", HOST: "HOST", CHILD: "GRAPH", EMPTY: "EMPTY"},
    **{WAIT_EVENT: "WAIT_EVENT", EVENT_RECORD: "EVENT_RECORD", SEMAPHORE_SIGNAL: "EXT_SEMAS_SIGNAL"},
    **{SEMAPHORE_WAIT: "EXT_SEMAS_WAIT", MEM_ALLOC: "MEM_ALLOC", MEM_FREE: "MEM_FREE"},
    **{BATCH_MEM_OP: "BATCH_MEM_OP", CONDITIONAL: "CONDITIONAL", 14: "MEMCPY_BATCH"},
    **{17: "EXTERNAL_ENGINE", 18: "FABRIC_CPY_BATCH"},
}


class Work(Protocol):
    """One kind of work.

    Attributes
    ----------
    kind
        CUgraphNodeType.
    """

    kind: ClassVar[int]

    @property
    def context(self) -> Context | None:
        """Whose streams carry it out; None: any."""
        ...

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Give it to a stream of its context, with the driver's lock held."""
        ...


class Anywhere:
    """Work that any stream can carry out."""

    __slots__ = ()

    @property
    def context(self) -> Context | None:
        """Whose streams carry it out: any."""
        return None


@dataclass(frozen=True, slots=True)
class KernelWork:
    """A kernel.

    Attributes
    ----------
    shape
        What the launch asked for.
    kern
        The CUkernel that it was named by, or 0.
    """

    kind: ClassVar[int] = KERNEL
    launch: Launch
    shape: Shape
    kern: int = 0

    @property
    def context(self) -> Context:
        """The context of its module."""
        return self.launch.function.module.context

    def with_sizes(self, grid: Shape3, block: Shape3, dynamic: int) -> Shape:
        """Answer its shape with other sizes; what attributes asked for stays."""
        return replace(self.shape, grid=grid, block=block, dynamic=dynamic)

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Launch it."""
        engine_launch.enqueue(process, stream, self.launch)


@dataclass(frozen=True, slots=True)
class CopyWork:
    """A copy. What it reads from ordinary host memory it reads when its turn has come."""

    kind: ClassVar[int] = MEMCPY
    volume: Volume
    context: Context

    def check(self, process: Process) -> None:
        """Refuse (1) what the context's device may not touch."""
        for plane in self.volume.planes:
            for side in plane.sides:
                check(process, self.context, side)

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Copy plane after plane."""
        queue(process, stream).call(lambda: self._copy(process))

    def _copy(self, process: Process) -> None:
        for plane in self.volume.planes:
            sides = plane.sides
            move(process, CALL, self.context, sides, lambda work=plane.work, sides=sides: work(sides))


@dataclass(frozen=True, slots=True)
class FillWork:
    """A memset."""

    kind: ClassVar[int] = MEMSET
    fill: Fill
    context: Context

    def check(self, process: Process) -> None:
        """Refuse (1) what the context's device may not touch."""
        check(process, self.context, self.fill.side)

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Write."""
        queue(process, stream).call(lambda: move(process, CALL, self.context, [self.fill.side], self.fill.work))


@dataclass(frozen=True, slots=True)
class HostWork(Anywhere):
    """A C function."""

    kind: ClassVar[int] = HOST
    function: int
    data: int

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Call it."""
        queue(process, stream).host(self.function, self.data)


@dataclass(frozen=True, slots=True)
class EmptyWork(Anywhere):
    """Nothing but a place for edges to meet."""

    kind: ClassVar[int] = EMPTY

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class ChildWork(Anywhere):
    """Another graph; an executable graph has its nodes in this one's place.

    Attributes
    ----------
    moved
        Whether a node that is added takes the graph over, instead of a copy.
    """

    kind: ClassVar[int] = CHILD
    graph: Graph
    moved: bool = False

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Do nothing: its nodes do it."""


@dataclass(frozen=True, slots=True)
class RecordWork:
    """An event recorded."""

    kind: ClassVar[int] = EVENT_RECORD
    event: Event

    @property
    def context(self) -> Context:
        """The event's."""
        return self.event.context

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Record it."""
        record(process, stream, self.event)


@dataclass(frozen=True, slots=True)
class WaitWork(Anywhere):
    """A wait for what an event was recorded as last."""

    kind: ClassVar[int] = WAIT_EVENT
    event: Event

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Wait."""
        wait_for_event(process, stream, self.event)


@dataclass(frozen=True, slots=True)
class MemoryWork:
    """Values waited for and written in memory: (address, value, kind, bytes) each, in order."""

    kind: ClassVar[int] = BATCH_MEM_OP
    ops: tuple[tuple[int, int, int, int], ...]
    pieces: tuple[tuple[int, int, int], ...]
    context: Context

    def hand_over(self, process: Process, stream: Stream) -> None:
        """Do them."""
        give_memory(process, list(self.pieces))
        queue(process, stream).memory(list(self.ops))
