"""The register of what NVML answers: C symbol → Python function, and the functions that the door calls.

A handler takes the service first, then the inputs of the call in C order; a parameter that NVML calls ``device``,
``device1`` or ``device2`` comes as a `Gpu`. What it returns are the outputs, in C order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cumulticast.libcuda.table import Entry, unversioned
from cumulticast.libnvml.service import Service
from cumulticast.libnvml.status import Refused, Status

Function = Callable[..., Any]
HANDLERS: dict[str, Function] = {}
BEFORE_INIT = frozenset({"nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags"})


@cache
def entries() -> tuple[Entry, ...]:
    """Return the call table, in its order."""
    return tuple(unversioned(Path(__file__).with_name("calls.txt").read_text(encoding="utf-8")))


def answers(*symbols: str) -> Callable[[Function], Function]:
    """Register the decorated function as the answer to the C entries ``symbols``."""

    def register(function: Function) -> Function:
        for symbol in symbols:
            if symbol in HANDLERS:
                raise TypeError(f"{symbol} is answered twice: {HANDLERS[symbol].__name__}, {function.__name__}")
            HANDLERS[symbol] = function
        return function

    return register


def bind(entry: Entry, service: Service) -> Function:
    """Make the function that the door calls for ``entry``: ``function(thread, *inputs)``."""
    handler = HANDLERS.get(entry.symbol)
    inputs = [param for param in entry.params if param.direction != "out"]
    devices = [k for k, param in enumerate(inputs) if param.kind == "ptr" and param.name.startswith("device")]

    def call(thread: int, *arguments: Any) -> Any:
        del thread
        with service.lock:
            if not service.users and entry.symbol not in BEFORE_INIT:
                raise Refused(Status.UNINITIALIZED, "nvmlInit was not called, or nvmlShutdown was")
            if handler is None:
                raise Refused(Status.NOT_SUPPORTED, "the simulator does not answer this entry")
            values = list(arguments)
            for k in devices:
                values[k] = service.gpu(values[k])
            return handler(service, *values)

    return call
