"""Which call made what, and where in the test it stands: so that a leak can name its maker.

While a test runs, the functions behind the calls that make something are wrapped. Nobody else pays for this.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from cumulticast.libcuda import serve
from cumulticast.sim import native
from cumulticast.sim.structs import POSIX_FILE_DESCRIPTOR

Kind = Literal[
    "handle", "reservation", "mapping", "allocation", "pool", "stream", "event", "context", "descriptor", "graph",
    "executable graph",
]  # fmt: skip
Function = Callable[..., Any]

OUTPUT = -1  # what the call makes is its (first) output; else the input of that number names it
MAKERS: dict[str, tuple[Kind, int]] = {
    "cuMemCreate": ("handle", OUTPUT),
    "cuMulticastCreate": ("handle", OUTPUT),
    "cuMemImportFromShareableHandle": ("handle", OUTPUT),
    "cuMemRetainAllocationHandle": ("handle", OUTPUT),
    "cuMemAddressReserve": ("reservation", OUTPUT),
    "cuMemMap": ("mapping", 0),
    "cuMemAlloc_v2": ("allocation", OUTPUT),
    "cuMemAllocPitch_v2": ("allocation", OUTPUT),
    "cuMemAllocManaged": ("allocation", OUTPUT),
    "cuMemAllocAsync": ("allocation", OUTPUT),
    "cuMemAllocFromPoolAsync": ("allocation", OUTPUT),
    "cuMemAllocHost_v2": ("allocation", OUTPUT),
    "cuMemHostAlloc": ("allocation", OUTPUT),
    "cuMemHostRegister": ("allocation", 0),
    "cuMemHostRegister_v2": ("allocation", 0),
    "cuMemPoolCreate": ("pool", OUTPUT),
    "cuStreamCreate": ("stream", OUTPUT),
    "cuStreamCreateWithPriority": ("stream", OUTPUT),
    "cuEventCreate": ("event", OUTPUT),
    "cuGraphCreate": ("graph", OUTPUT),
    "cuGraphClone": ("graph", OUTPUT),
    "cuStreamEndCapture": ("graph", OUTPUT),
    "cuGraphInstantiateWithFlags": ("executable graph", OUTPUT),
    "cuGraphInstantiateWithParams": ("executable graph", OUTPUT),
    "cuCtxCreate": ("context", OUTPUT),
    "cuCtxCreate_v2": ("context", OUTPUT),
    "cuCtxCreate_v3": ("context", OUTPUT),
    "cuCtxCreate_v4": ("context", OUTPUT),
    "cuMemExportToShareableHandle": ("descriptor", 0),
}


@dataclass(frozen=True, slots=True)
class Birth:
    """A call, and the line of the test (or of code that it uses) that made it."""

    call: str
    file: str
    line: int


class Births:
    """What the calls of this process have made since `watch`."""

    def __init__(self) -> None:
        self._births: dict[tuple[Kind, int], Birth] = {}

    def of(self, kind: Kind, value: int) -> Birth | None:
        """Answer who made something, if a call of this process did."""
        return self._births.get((kind, value))

    def watch(self) -> None:
        """Note what the driver now in service makes; it ends with that driver."""
        functions = serve.SERVER.functions
        for index, entry in enumerate(serve.ENTRIES):
            if entry.plain in MAKERS:
                functions[index] = self._noting(functions[index], entry.symbol, *MAKERS[entry.plain])

    def _noting(self, function: Function, symbol: str, kind: Kind, position: int) -> Function:
        """Wrap the function of one entry: ``function(thread, *inputs)``."""

        def noting(thread: int, *inputs: Any) -> Any:
            answer = function(thread, *inputs)
            made = _first(answer) if position == OUTPUT else inputs[position]
            if kind != "descriptor":
                self._note(kind, made, symbol)
            elif inputs[2] == POSIX_FILE_DESCRIPTOR:
                self._note(kind, int.from_bytes(native.get(made, 4), "little"), symbol)
            return answer

        return noting

    def _note(self, kind: Kind, made: int, symbol: str) -> None:
        if symbol == "cuMemRetainAllocationHandle" and (kind, made) in self._births:
            return  # one more reference; who made the handle says more
        self._births[kind, made] = Birth(symbol, *_line_of_the_caller())


def _first(answer: int | tuple[int, ...]) -> int:
    """Answer the first output of a call."""
    return answer[0] if isinstance(answer, tuple) else answer


def _line_of_the_caller() -> tuple[str, int]:
    """Find the innermost Python line outside of this package and of NVIDIA's."""
    frame = inspect.currentframe()
    assert frame is not None
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("cumulticast.", "cuda.")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
