"""Record what a CUDA driver answers: one line of JSON per step, with the error log's lines beside it.

A step is ``[name, status, [outputs as printed]]``. A worker (one fresh interpreter per group) writes
each step as soon as it is known, so a group that crashes the process still shows everything before the crash.
Before each step the worker writes a marker line to stderr; the driver logs there too
(``CUDA_LOG_FILE=stderr``), so every line of the log can be given to the step that caused it.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from cuda.bindings import driver as cu

MARK = "#step "
MIB = 1 << 20
PAGE = 2 * MIB  # the granularity of device memory on every machine recorded so far


@dataclass(frozen=True, slots=True)
class Group:
    """One group of steps: a function, and the environment its interpreter runs in."""

    run: Callable[[Recorder], None]
    context: bool = True
    environment: dict[str, str] = field(default_factory=dict)
    kind: str = "driver"


GROUPS: dict[str, Group] = {}


def group(*, context: bool = True, environment: dict[str, str] | None = None, kind: str = "driver"):
    """Register a function of one recorder as a group under its own name."""

    def register(run: Callable[[Recorder], None]):
        GROUPS[run.__name__] = Group(run, context, environment or {}, kind)
        return run

    return register


def printed(value: object) -> str:
    """Print an output the way the recordings hold it: enumerations as numbers, the rest by ``str``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(printed(item) for item in value) + "]"
    return str(value)


class Recorder:
    """Make calls and record each one's status and outputs."""

    def __init__(self, name: str, out: int) -> None:
        self.name = name
        self.out = out
        self.device = None
        self.context = None
        self._library: ctypes.CDLL | None = None

    def note(self, step: str, *outputs: object, status: int | str = 0) -> None:
        """Record a step that is not a call of its own (a comparison, bytes read back)."""
        row = [step, status, [printed(item) for item in outputs]]
        os.write(self.out, (json.dumps(row) + "\n").encode())

    def mark(self, step: str) -> None:
        """Tell the log's reader which step comes next."""
        os.write(2, f"{MARK}{step}\n".encode())

    def __call__(self, step: str, function: str, *arguments: object, hide: bool = False):
        """Call ``cuda.bindings.driver.<function>``; record it; return its first output, None without one."""
        self.mark(step)
        try:
            status, *outputs = getattr(cu, function)(*arguments)
        except Exception as problem:  # the binding's own refusal is part of the record
            self.note(step, status=f"EXC {type(problem).__name__}: {str(problem)[:200]}")
            return None
        self.note(step, *([] if hide else outputs), status=int(status))
        if int(status) or not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    def quiet(self, function: str, *arguments: object):
        """Call without recording; return the outputs; raise when the driver refuses."""
        status, *outputs = getattr(cu, function)(*arguments)
        if int(status):
            raise RuntimeError(f"{self.name}: {function} answered {int(status)}")
        return outputs[0] if len(outputs) == 1 else outputs

    @property
    def library(self) -> ctypes.CDLL:
        """The driver library itself, for calls that the binding would reshape."""
        if self._library is None:
            self._library = ctypes.CDLL("libcuda.so.1")
        return self._library

    def raw(self, step: str, symbol: str, *arguments: object) -> int | None:
        """Call an exported symbol with C arguments; record its status alone (outputs by `note`)."""
        self.mark(step)
        if not hasattr(self.library, symbol):
            self.note(step, status="MISSING")
            return None
        status = int(getattr(self.library, symbol)(*arguments))
        self.note(step, status=status)
        return status

    def bytes_at(self, step: str, address: int, count: int) -> None:
        """Record device bytes as hexadecimal."""
        host = bytearray(count)
        self.mark(step)
        status = int(cu.cuMemcpyDtoH(host, address, count)[0])
        self.note(step, host.hex(), status=status)

    def synchronize(self, step: str) -> None:
        """Record whether the context is still healthy."""
        self(step, "cuCtxSynchronize")


def properties(handles: int = 1, location: int = 1, identity: int = 0) -> cu.CUmemAllocationProp:
    """Build the properties of pinned memory; plain numbers, so that odd ones can be tried."""
    made = cu.CUmemAllocationProp()
    made.type = cu.CUmemAllocationType(1)
    made.location.type = cu.CUmemLocationType(location)
    made.location.id = identity
    made.requestedHandleTypes = cu.CUmemAllocationHandleType(handles)
    return made


def access(flags: int = 3, location: int = 1, identity: int = 0) -> cu.CUmemAccessDesc:
    """Build an access descriptor: flags 0 none, 1 read, 3 read and write."""
    made = cu.CUmemAccessDesc()
    made.location.type = cu.CUmemLocationType(location)
    made.location.id = identity
    made.flags = cu.CUmemAccess_flags(flags)
    return made


def location(kind: int = 1, identity: int = 0) -> cu.CUmemLocation:
    """Build a memory location: kind 1 device, 2 host, 3 host NUMA node."""
    made = cu.CUmemLocation()
    made.type = cu.CUmemLocationType(kind)
    made.id = identity
    return made


def mapped(step: Recorder, pages: int = 1, reserved: int = 4, flags: int | None = 3) -> tuple[int, object]:
    """Reserve ``reserved`` pages, map one of ``pages`` at the start, grant; return address and handle."""
    handle = step.quiet("cuMemCreate", pages * PAGE, properties(), 0)
    start = int(step.quiet("cuMemAddressReserve", reserved * PAGE, 0, 0, 0))
    step.quiet("cuMemMap", start, pages * PAGE, 0, handle, 0)
    if flags is not None:
        step.quiet("cuMemSetAccess", start, pages * PAGE, [access(flags)], 1)
    return start, handle
