"""Streams that are held back, and kernels without PTX: machine code by hand, which the engine runs like any other."""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cuda.bindings import driver as cu

from answers import ok, status
from cumulticast.ptx import kernel, layout, machine_code
from cumulticast.ptx._runtime import ffi
from cumulticast.ptx.parser import parse
from cumulticast.sim import current
from cumulticast.sim.engine import Fault
from cumulticast.sim.streams import Stream, enqueue_launch

NOT_READY = 600
LIMIT = 20.0  # seconds after which a gate opens by itself
Host = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Gate:
    """A host function that holds its stream until the gate opens."""

    def __init__(self) -> None:
        self.opened, self.entered = threading.Event(), threading.Event()
        self._call = Host(self._wait)
        self.function = cu.CUhostFn(ctypes.cast(self._call, ctypes.c_void_p).value)

    def _wait(self, data: int) -> None:
        self.entered.set()
        self.opened.wait(LIMIT)


@contextmanager
def held(stream: object, memory: int) -> Iterator[None]:
    """Hold a stream back for the time of a ``with``: it waits for a word at the end of the page ``memory``."""
    word = ctypes.c_uint32.from_address(memory + 4092)
    word.value = 0
    ok(cu.cuStreamWaitValue32(stream, memory + 4092, 1, 1))
    try:
        yield
    finally:
        word.value = 1


class Told:
    """Host functions that note in which order they were called."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._call = Host(lambda data: self.seen.append(data or 0))
        self._function = cu.CUhostFn(ctypes.cast(self._call, ctypes.c_void_p).value)

    def tell(self, stream: object, number: int) -> None:
        """Note a number when the stream has come so far."""
        ok(cu.cuLaunchHostFunc(stream, self._function, number))


# ---- kernels of one parameter: the address of a word

ADD = "atom.global.add.u32 %r, [%word], 1;"
SPIN = """again:
ld.acquire.gpu.global.u32 %r, [%word];
setp.eq.u32 %p, %r, 0;
@%p bra again;"""
TRAP = "trap;"
_TEXT = """.version 8.5
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 p)
{{
.reg .u64 %word; .reg .u32 %r; .reg .pred %p;
ld.param.u64 %word, [p];
{body}
ret;
}}
"""
_RIGHTS = mmap.mmap(-1, layout.GRANULES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
_RIGHTS_AT = ctypes.addressof(ctypes.c_char.from_buffer(_RIGHTS))


class Kernel:
    """A kernel of a few instructions, launched through the simulator's own entrance for launches."""

    def __init__(self, body: str) -> None:
        self._compiled = kernel.compile_kernel(parse(_TEXT.format(body=body)), "kernel", {})
        self._linked = machine_code.link(self._compiled.code)
        self.faults: list[Fault] = []

    def launch(self, stream: object, word: int, *, blocks: int = 1, threads: int = 1, seconds: float = 0) -> None:
        """Launch it."""
        _RIGHTS[word >> layout.RIGHTS_SHIFT] = layout.RIGHT_READ | layout.RIGHT_WRITE
        launch, params = ffi.new("struct ptx_launch *"), ffi.new("uint64_t *", word)
        head = launch.head
        head.nctaid, head.ntid = (blocks, 1, 1), (threads, 1, 1)
        head.ncluster, head.cluster, head.smcount = (blocks, 1, 1), (1, 1, 1), 4
        launch.code = ffi.cast("void *", self._linked.address(kernel.ENTRY))
        launch.params, launch.params_size = params, 8
        launch.frame_size, launch.places = self._compiled.frame_size, self._compiled.places
        launch.rights, launch.seconds = ffi.cast("uint8_t *", _RIGHTS_AT), seconds
        enqueue_launch(_process(), sim_stream(stream), launch, self, self._failed)

    def _failed(self, fault: Fault) -> str:
        self.faults.append(fault)
        return f"kernel by hand: {fault.reason}"


def _process():
    process = current().process
    assert process is not None
    return process


def sim_stream(stream: object) -> Stream:
    """Answer the simulator's stream behind a handle; 0: the legacy default stream of device 0's primary context."""
    process = _process()
    found = process.streams.find(int(stream))
    if found is None:
        found = process.streams.default(process.contexts.primary(0).context, int(stream), 0)
    return found


def ready(stream: object) -> bool:
    """Ask whether a stream is done."""
    answer = status(cu.cuStreamQuery(stream))
    assert answer in (0, NOT_READY)
    return answer == 0
