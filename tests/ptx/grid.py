"""Run kernels without a driver: compile, deal the blocks out to threads, look at the fault.

    run = Grid(text)                     # PTX of one module
    run("kernel", grid=4, block=128, args=[array, np.int32(7)])

Arrays are passed as addresses, and the kernel may read and write them; other arguments as their bytes.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cumulticast.ptx import kernel, layout, machine_code
from cumulticast.ptx.compiled import ENTRY, Compiled
from cumulticast.ptx.flow.pointers import address_taken, addresses
from cumulticast.ptx.parser import parse
from cumulticast.ptx.runtime import ffi, lib
from cumulticast.ptx.syntax import Variable

RIGHTS = layout.RIGHT_READ | layout.RIGHT_WRITE


@dataclass(frozen=True)
class Fault:
    """What ended a kernel; status 0: nothing did."""

    status: int
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    address: int
    reason: str


class Rights:
    """A device's table of rights, to which memory is added piece by piece."""

    def __init__(self) -> None:
        self.table = mmap.mmap(-1, layout.GRANULES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.table))

    def allow(self, address: int, size: int, rights: int = RIGHTS) -> None:
        """Grant access to all granules that a range touches."""
        first, last = address >> layout.RIGHTS_SHIFT, (address + max(size, 1) - 1) >> layout.RIGHTS_SHIFT
        self.table[first : last + 1] = bytes([rights]) * (last + 1 - first)


class Grid:
    """The kernels of one PTX text."""

    def __init__(self, text: str | bytes, *, stack: int = 1024, adversary: Any = ffi.NULL) -> None:
        self.module = parse(text)
        self.stack, self.adversary = stack, adversary
        self.numbers = {v.name: n for n, v in enumerate(self.module.variables.values())}
        self.symbols = np.zeros(max(len(self.numbers), 1), np.uint64)
        self.rights = Rights()
        self.kept: list[Any] = []
        self.compiled: dict[str, tuple[Compiled, machine_code.Linked]] = {}
        for variable in self.module.variables.values():
            if variable.space in ("global", "const"):
                self._place(variable.name, variable.initial.ljust(variable.size, b"\0"))
        for variable in self.module.variables.values():
            self._relocate(variable)

    def _place(self, name: str, content: bytes) -> None:
        room = np.zeros(len(content) + 256, np.uint8)
        at = -room.ctypes.data % 256
        room[at : at + len(content)] = np.frombuffer(content, np.uint8)
        self.kept.append(room)
        self.symbols[self.numbers[name]] = room.ctypes.data + at
        self.rights.allow(room.ctypes.data, room.nbytes)

    def variable(self, name: str, kind: type[np.generic], count: int) -> np.ndarray:
        """Look at a variable of the module: what is written to it, the kernels read."""
        place = int(self.symbols[self.numbers[name]])
        return np.ctypeslib.as_array((ctypes.c_uint8 * (count * np.dtype(kind).itemsize)).from_address(place)).view(
            kind
        )

    def _relocate(self, variable: Variable) -> None:
        for one in variable.relocations:
            number = self.numbers.get(one.symbol)
            base = addresses(address_taken(self.module))[one.symbol] if number is None else int(self.symbols[number])
            place = int(self.symbols[self.numbers[variable.name]]) + one.at
            ctypes.memmove(place, (base + one.offset).to_bytes(one.size, "little"), one.size)

    def code(self, name: str) -> tuple[Compiled, int]:
        """Compile a kernel, once."""
        if name not in self.compiled:
            compiled = kernel.compile_kernel(self.module, name, self.numbers)
            self.compiled[name] = compiled, machine_code.link(compiled.code)
        compiled, linked = self.compiled[name]
        return compiled, linked.address(ENTRY)

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any] = (),
        *,
        dynamic: int = 0,
        cluster: Sequence[int] = (1, 1, 1),
        work: int = 0,
        multicast: int = 0,
        workspace: int = 0,
    ) -> tuple[Any, Compiled]:
        """Make a launch ready and answer struct ptx_run *.

        A cooperative grid has a ``workspace``: the address of two words for its barrier.
        """
        compiled, address = self.code(name)
        given = ffi.new("struct ptx_launch *")
        head = given.head
        shape = [_three(value) for value in (grid, block, cluster)]
        head.nctaid, head.ntid, head.cluster = shape
        head.ncluster = [n // c for n, c in zip(shape[0], shape[2], strict=True)]
        head.shared_size = -(-compiled.shared_size // 16) * 16 + dynamic
        head.dynamic_shared = dynamic
        head.local_size = -(-compiled.local_size // 16) * 16 + (self.stack if compiled.stack else 0)
        head.smcount = 4
        head.multicast = ffi.cast("void *", multicast)
        head.envreg[1], head.envreg[2] = workspace >> 32, workspace & 0xFFFFFFFF
        params = self._parameters(name, args)
        given.code = ffi.cast("void *", address)
        buffer = ffi.new("char[]", params + b"\0")
        given.params, given.params_size = buffer, len(params)
        given.frame_size, given.places, given.work = compiled.frame_size, compiled.places, work
        given.symbols = ffi.cast("uint64_t *", self.symbols.ctypes.data)
        given.rights = ffi.cast("uint8_t *", self.rights.address)
        given.adversary = self.adversary
        run = lib.ptx_run_begin(given)
        assert run != ffi.NULL
        return run, compiled

    def _parameters(self, name: str, args: Sequence[Any]) -> bytes:
        function = self.module.functions[name]
        packed = bytearray()
        for (offset, size), value in zip(kernel.parameter_offsets(function), args, strict=True):
            packed = packed.ljust(offset, b"\0")
            if isinstance(value, np.ndarray):
                self.rights.allow(value.ctypes.data, value.nbytes)
                content = np.uint64(value.ctypes.data).tobytes()
            else:
                content = np.asarray(value).tobytes()
            assert len(content) == size, f"{name}: an argument has {len(content)} bytes instead of {size}"
            packed += content
        return bytes(packed)

    def __call__(self, name: str, *args: Any, threads: int = 2, limit: float = 20.0, **options: Any) -> Fault:
        """Run a kernel to its end, and answer its fault (status 702 after ``limit`` seconds)."""
        run, compiled = self.launch(name, *args, **options)
        return finish([(run, compiled)], threads=threads, limit=limit)[0]


def finish(runs: Sequence[tuple[Any, Compiled]], *, threads: int = 2, limit: float = 20.0) -> list[Fault]:
    """Carry launches on side by side, on ``threads`` threads, until all have ended."""
    until = time.monotonic() + limit
    over = [False] * len(runs)

    def work() -> None:
        while not all(over):
            for n, (run, _) in enumerate(runs):
                if not over[n]:
                    over[n] |= lib.ptx_run_turn(run) == lib.PTX_FINISHED
                if time.monotonic() > until:
                    lib.ptx_run_stop(run, 702, b"it ran longer than the test allows")

    helpers = [threading.Thread(target=work) for _ in range(threads)]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    return [_end(run, compiled) for run, compiled in runs]


def _end(run: Any, compiled: Compiled) -> Fault:
    fault = lib.ptx_run_fault(run)
    found = Fault(
        fault.status,
        compiled.lines[fault.instruction] if fault.instruction < len(compiled.lines) else 0,
        tuple(fault.block),
        tuple(fault.thread),
        fault.address,
        ffi.string(fault.reason).decode(),
    )
    lib.ptx_run_end(run)
    return found


def _three(value: int | Sequence[int]) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values + [1] * (3 - len(values))
