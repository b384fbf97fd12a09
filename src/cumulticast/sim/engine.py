"""The engine of streams (ptx/native/engine.h) as the simulator sees it: what is pending, and who carries it out.

Made when work first has to wait: a program whose work can all be done at once never has one. Kernels, waits for values
and host functions are carried out by threads of the engine. What Python does (copies, memsets, frees) runs in one
thread of Python's when its time has come, by functions that take the driver's lock themselves.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cumulticast.rules import Refused, Status, contexts

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver

Work = Callable[[], None]
GRACE = 5.0  # seconds that kernels have to stop in when their context ends
ILLEGAL_ADDRESS = 700


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a kernel was ended (struct ptx_fault).

    Attributes
    ----------
    status
        The CUresult: 700, 702, 710, 716, 719, …
    instruction
        Number of the instruction in the kernel.
    block, thread
        Which thread met it, in the grid and in the block.
    address
        What it touched, or 0.
    reason
        One line for people, without the kernel's name and line.
    """

    status: int
    instruction: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    address: int
    reason: str


#: Told of a launch's fault, once, with the driver's lock held: answers the reason with kernel and line for the log.
OnFault = Callable[[Fault], str]


class Op:
    """One piece of work that was handed over; it lives as long as somebody looks at it."""

    __slots__ = ("c",)

    def __init__(self, c: Any) -> None:
        self.c = c

    @property
    def done(self) -> bool:
        """Whether it is over, carried out or not."""
        return self.c.done != 0

    @property
    def time(self) -> int:
        """When it was over (time.perf_counter_ns), once it is."""
        return self.c.time


class Engine:
    """What one initialised process hands over."""

    def __init__(self, driver: Driver) -> None:
        from cumulticast.ptx import _runtime  # few programs need it: it is loaded for those

        self.driver = driver
        self.lib, self.ffi = _runtime.lib, _runtime.ffi
        self.c = self.own(self.lib.ptx_engine_begin(), self.lib.ptx_engine_release)
        self._calls: dict[int, tuple[Queues, Work]] = {}
        self._numbers = 0
        self._thread: threading.Thread | None = None

    def own(self, c: Any, release: Any) -> Any:
        """Take a thing of the engine's, to be given back with the object that answers.

        Raises
        ------
        Refused
            2: the host has no memory.
        """
        if c == self.ffi.NULL:
            raise Refused(Status.OUT_OF_MEMORY, None, "the host has no memory for the work")
        return self.ffi.gc(c, release)

    def op(self, c: Any) -> Op:
        """Take an op that the engine answered."""
        return Op(self.own(c, self.lib.ptx_op_release))

    def watch(self, op: Op) -> int:
        """Answer the address of the futex word that is 0 until the op is done."""
        return self.lib.ptx_op_watch(op.c)

    def place(self, op: Op) -> int:
        """Answer the number that an op is known by in faults."""
        return int(self.ffi.cast("uintptr_t", op.c))

    def end(self) -> int:
        """Carry nothing more out; answer how many kernels still run although they were asked to stop."""
        left = self.lib.ptx_engine_end(self.c, GRACE)
        self._calls.clear()
        return left

    # ---- calls of Python's

    def number(self, queues: Queues, work: Work) -> int:
        """Keep a function for when its time has come, and answer what it is known by."""
        self._numbers += 1
        self._calls[self._numbers] = queues, work
        if self._thread is None:
            self._thread = threading.Thread(target=self._carry_out, name="cumulticast streams", daemon=True)
            self._thread.start()
        return self._numbers

    def forget(self, queues: Queues) -> None:
        """Let go the functions of a context that has ended."""
        self._calls = {number: call for number, call in self._calls.items() if call[0] is not queues}

    def _carry_out(self) -> None:
        while True:
            op = self.lib.ptx_call_next(self.c)
            if op == self.ffi.NULL:
                return
            queues, work = self._calls.pop(op.number, (None, None))
            if work is not None and queues is not None and not op.status:
                self._do(queues, work)
            self.lib.ptx_call_done(op)

    def _do(self, queues: Queues, work: Work) -> None:
        """Do what was handed over. What fails now has no caller to answer: the context fails."""
        try:
            with self.driver.undisturbed():
                work()
        except Refused as refused:
            # Its arguments were good when it was handed over: memory has been taken away since.
            status = ILLEGAL_ADDRESS if refused.status == Status.INVALID_VALUE else int(refused.status)
            queues.fail(status, refused.reason)
        except BaseException as error:  # whatever it is, the stream must go on
            print("cumulticast: work of a stream failed inside the simulator (please report):", file=sys.stderr)
            traceback.print_exception(error)
            queues.fail(int(Status.UNKNOWN), f"inside the simulator: {error!r}")


class Queues:
    """The streams of one context."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.c = engine.own(engine.lib.ptx_context_begin(engine.c), engine.lib.ptx_context_release)
        self.streams: list[Queue] = []
        self._fault: Refused | None = None

    @property
    def busy(self) -> bool:
        """Whether any work of the context is not done."""
        return self.c.pending != 0

    def join(self) -> Op:
        """Answer an op that is done when all work of now is."""
        found = self.engine.ffi.new("struct ptx_op **")
        self.engine.lib.ptx_context_join(self.c, found)
        return self.engine.op(found[0])

    def after(self, op: Op) -> None:
        """Let all future work of the context wait for an op, too."""
        if self.engine.lib.ptx_context_after(self.c, op.c):
            raise Refused(Status.OUT_OF_MEMORY, None, "the host has no memory for the work")

    def fail(self, status: int, reason: str) -> None:
        """Let the context fail, as a kernel's fault does."""
        self.engine.lib.ptx_context_fail(self.c, status, reason.encode()[:500])

    def check(self) -> None:
        """Refuse if the context has failed: nothing but its end helps.

        Raises
        ------
        Refused
            The fault's status.
        """
        if self.c.faulted:
            if self._fault is None:
                with self.engine.driver.lock:
                    self._fault = self._fault or self._refusal()
            raise Refused(self._fault.status, self._fault.rule, self._fault.reason)

    def _refusal(self) -> Refused:
        fault = self._read_fault()
        at = self.engine.lib.ptx_context_fault_op(self.c)
        told = [k.on_fault(fault) for k in self._kept() if k.on_fault is not None and self.engine.place(k.op) == at]
        reason = contexts.context_unbroken.check(told[0] if told else fault.reason)
        assert reason is not None
        return Refused(Status(fault.status), contexts.context_unbroken, reason)

    def _read_fault(self) -> Fault:
        c = self.engine.lib.ptx_context_fault(self.c)
        reason = self.engine.ffi.string(c.reason).decode(errors="replace")
        block, thread = ((place[0], place[1], place[2]) for place in (c.block, c.thread))
        return Fault(c.status, c.instruction, block, thread, c.address, reason)

    def _kept(self) -> Iterator[Kept]:
        for stream in self.streams:
            yield from stream.kept

    def end(self) -> int:
        """Carry nothing more out; answer how many kernels still run although they were asked to stop."""
        left = self.engine.lib.ptx_context_end(self.c, GRACE)
        self.engine.forget(self)
        return left


@dataclass(frozen=True, slots=True)
class Kept:
    """What must live until an op is done."""

    op: Op
    thing: object
    on_fault: OnFault | None


class Queue:
    """One stream. Every method but `idle` hands work over."""

    def __init__(self, queues: Queues, kind: int) -> None:
        self._queues, self._engine = queues, queues.engine
        lib = self._engine.lib
        self.c = self._engine.own(lib.ptx_stream_begin(queues.c, kind), lib.ptx_stream_end)
        self.kept: deque[Kept] = deque()
        self._ended = False
        queues.streams = [s for s in queues.streams if not s.over()]
        queues.streams.append(self)

    @property
    def idle(self) -> bool:
        """Whether work handed over now would wait for nothing."""
        return self._engine.lib.ptx_stream_idle(self.c) != 0

    def end(self) -> None:
        """Note that the stream was destroyed; what it was given is carried out."""
        self._ended = True

    def over(self) -> bool:
        """Tell whether it was destroyed and all its work is done."""
        self._forget()
        return self._ended and not self.kept

    def _forget(self) -> None:
        """Let go what has been used; not what met a fault, until that was explained."""
        kept = self.kept
        while kept and kept[0].op.done and not self._queues.c.faulted:
            kept.popleft()

    def _keep(self, c: Any, thing: object, on_fault: OnFault | None = None) -> Op:
        op = self._engine.op(c)
        self._forget()
        self.kept.append(Kept(op, thing, on_fault))
        return op

    def call(self, work: Work) -> Op:
        """Do something in Python."""
        number = self._engine.number(self._queues, work)
        return self._keep(self._engine.lib.ptx_enqueue_call(self.c, number), None)

    def launch(self, launch: Any, thing: object, on_fault: OnFault) -> Op:
        """Launch a kernel (struct ptx_launch *); ``thing`` is what its memory belongs to."""
        return self._keep(self._engine.lib.ptx_enqueue_launch(self.c, launch), thing, on_fault)

    def record(self) -> Op:
        """Take the time."""
        return self._engine.op(self._engine.lib.ptx_enqueue_record(self.c))

    def after(self, op: Op) -> Op:
        """Wait for an op of any stream."""
        return self._engine.op(self._engine.lib.ptx_enqueue_after(self.c, op.c))

    def host(self, function: int, data: int) -> Op:
        """Call a C function."""
        cast, lib = self._engine.ffi.cast, self._engine.lib
        return self._engine.op(lib.ptx_enqueue_host(self.c, cast("void *", function), cast("void *", data)))

    def callback(self, function: int, data: int, handle: int) -> Op:
        """Call a C function with the stream's handle and the context's status."""
        words = [self._engine.ffi.cast("void *", word) for word in (function, data, handle)]
        return self._engine.op(self._engine.lib.ptx_enqueue_callback(self.c, *words))

    def memory(self, ops: list[tuple[int, int, int, int]]) -> Op:
        """Wait for values in memory, and write some: (address, value, kind, bytes) each, in order."""
        array = self._engine.ffi.new("struct ptx_memory_op[]", ops)
        return self._engine.op(self._engine.lib.ptx_enqueue_memory(self.c, array, len(ops)))

    def join(self) -> Op | None:
        """Answer an op that is done when all work of now is; None when it is."""
        found = self._engine.ffi.new("struct ptx_op **")
        if self._engine.lib.ptx_stream_join(self.c, found):
            raise Refused(Status.OUT_OF_MEMORY, None, "the host has no memory for the work")
        return None if found[0] == self._engine.ffi.NULL else self._engine.op(found[0])
