"""Turn a handler into what the door calls: ``function(thread, *inputs)``.

For each answered entry a small function is written once, such as this for cuMemCreate::

    def cuMemCreate(thread, a0, a1, a2):
        with lock:
            now.call = call = "cuMemCreate"
            process = driver.process or not_initialised()
            return handler(process, a0, a1, a2)

Written, because a general function that decides all this at each call took four times as long; and written at the first
call, because a program makes a few dozen of the hundreds of calls, and writing them all took most of a driver's start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NoReturn, ParamSpec

from cumulticast.libcuda.table import Entry
from cumulticast.rules import Rule, broken, captures, contexts, general
from cumulticast.sim.captures import forbid_unsafe
from cumulticast.sim.driver import Driver
from cumulticast.sim.entry import HANDLERS, Handler

P = ParamSpec("P")
Function = Callable[..., Any]


def source(entry: Entry, handler: Handler) -> str:
    """Write the function for one entry."""
    inputs = [f"a{k}" for k in range(sum(param.direction != "out" for param in entry.params))]
    if handler.inputs != len(inputs):
        name = handler.function.__name__
        raise TypeError(f"{entry.symbol}: {name} takes {handler.inputs} inputs, the call has {len(inputs)}")
    lines = [f'now.call = call = "{entry.symbol}"', *_injections(handler)]
    if entry.plain in captures.UNSAFE:
        lines.append("process.captures.active and forbid_unsafe(process, thread)")
    lines.append(f"return handler({', '.join([*handler.injected, *inputs])})")
    if handler.locked:
        lines = ["with lock:", *(f"    {line}" for line in lines)]
    return "\n    ".join([f"def {entry.symbol}({', '.join(['thread', *inputs])}):", *lines])


def _injections(handler: Handler) -> list[str]:
    needs: list[str] = []
    if {"process", "context"} & set(handler.injected):
        needs.append("process = driver.process or not_initialised()")
    if "context" in handler.injected:
        needs.append("context = process.contexts.current(thread) or no_context()")
    return needs


def raiser(rule: Rule[P], *facts: P.args, **named: P.kwargs) -> Function:
    """Make a function that always refuses, whatever it is called with."""

    def refuse(*arguments: Any) -> NoReturn:
        raise broken(rule, *facts, **named)

    return refuse


def serve(entries: Iterable[Entry], driver: Driver, functions: list[Function]) -> None:
    """Fill ``functions`` with what answers each of the entries for ``driver``."""
    functions[:] = [_at_first_call(entry, driver, functions, k) for k, entry in enumerate(entries)]


def _at_first_call(entry: Entry, driver: Driver, functions: list[Function], place: int) -> Function:
    """Make a function that puts in its place the one that it calls."""
    made: Function | None = None

    def first(*arguments: Any) -> Any:
        nonlocal made
        made = made or make(entry, driver)
        if functions[place] is first:  # a tracer may call it from there, or the driver be gone
            functions[place] = made
        return made(*arguments)

    return first


def make(entry: Entry, driver: Driver) -> Function:
    """Make the function that answers ``entry`` for ``driver``; an entry without handler answers 801."""
    handler = HANDLERS.get(entry.plain)
    if handler is None:
        return raiser(general.simulated, entry.symbol, False)
    names: dict[str, Any] = {
        "handler": handler.function,
        "driver": driver,
        "now": driver.now,
        "lock": driver.lock,
        "forbid_unsafe": forbid_unsafe,
        "not_initialised": raiser(general.initialized, False),
        "no_context": raiser(contexts.context_current, False),
    }
    return FunctionType(_code(entry, handler), names)


@cache
def _code(entry: Entry, handler: Handler) -> CodeType:
    """Compile the function for one entry; all drivers of this process share it."""
    module = compile(source(entry, handler), f"<{entry.symbol}>", "exec")
    return next(one for one in module.co_consts if isinstance(one, CodeType))
