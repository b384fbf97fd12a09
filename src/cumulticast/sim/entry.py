"""The register of what the driver answers: C symbol → Python function.

A handler takes plain values and returns plain values. Its first parameters, if they have one of the names below, are
put in by the caller; the rest are the call's inputs in C order (outputs are what it returns, in C order):

``driver``   this process's driver, initialised or not
``process``  what the process owns; before cuInit the call answers 3
``context``  the context current to the calling thread; without one the call answers 201
``thread``   a number of the calling thread's own, never reused
``call``     the C symbol, for functions that serve several
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cumulticast.rules import Refused

INJECTED = ("driver", "process", "context", "thread", "call")

HandlerFunction = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Handler:
    """One function and how it wants to be called.

    Attributes
    ----------
    function
        The Python function.
    injected
        The names it takes before the call's inputs.
    inputs
        How many inputs of the call it takes.
    locked
        Whether the process's lock is held while it runs. A function that moves many bytes takes it by itself.
    """

    function: HandlerFunction
    injected: tuple[str, ...]
    inputs: int
    locked: bool


HANDLERS: dict[str, Handler] = {}


def entry(*symbols: str, locked: bool = True) -> Callable[[HandlerFunction], HandlerFunction]:
    """Register the decorated function as the answer to the C entries ``symbols``."""

    def register(function: HandlerFunction) -> HandlerFunction:
        code = function.__code__  # (inspect.signature took a third of a rank's start)
        names = list(code.co_varnames[: code.co_argcount])
        injected = tuple(name for name in names if name in INJECTED)
        if tuple(names[: len(injected)]) != injected:
            raise TypeError(f"{function.__name__}: {', '.join(injected)} must stand before the call's inputs")
        for symbol in symbols:
            first = HANDLERS[symbol].function if symbol in HANDLERS else function
            if (first.__module__, first.__name__) != (function.__module__, function.__name__):
                raise TypeError(f"{symbol} is answered twice: {first.__name__}, {function.__name__}")
            HANDLERS[symbol] = Handler(function, injected, len(names) - len(injected), locked)
        return function

    return register


class Wait(Exception):
    """Raised by a handler that has to wait: sleep while the futex word holds ``value``, then ask again.

    Parameters
    ----------
    word
        Address of a 32-bit futex word that stays mapped.
    value
        What the word held when the handler looked.
    seconds
        Ask again after this time in any case.
    """

    def __init__(self, word: int, value: int, seconds: float) -> None:
        super().__init__(word, value, seconds)
        self.word = word
        self.value = value
        self.seconds = seconds


class NotReady(Exception):
    """Raised by a handler to answer 600: no refusal, and nothing is logged (recorded)."""


class RefusedWith(Refused):
    """A refusal that gives outputs in spite of it: the logs of a compiler say why it failed.

    Parameters
    ----------
    refused
        The refusal.
    outputs
        As a handler returns them; None in a tuple leaves that output alone.
    """

    def __init__(self, refused: Refused, outputs: Any) -> None:
        super().__init__(refused.status, refused.rule, refused.reason)
        self.outputs = outputs
