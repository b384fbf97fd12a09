"""Turn a Python handler into what the door calls: argument words in, output words out.

For each answered entry a small function is written, once, from the call table, such as this for cuMemCreate::

    def cuMemCreate(thread, u, i, out):
        with lock:
            driver.call = "cuMemCreate"
            process = driver.process or not_initialised()
            r0 = handler(process, u[1], read(u[2], 32), u[3])
        out[0] = r0 & MASK
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from cumulticast.libcuda._door import ffi
from cumulticast.libcuda.table import Entry, Param
from cumulticast.rules import Refused, Rule, contexts, general
from cumulticast.sim.driver import Driver
from cumulticast.sim.entry import HANDLERS, Handler

MASK = 0xFFFF_FFFF_FFFF_FFFF
Run = Callable[[int, Any, Any, Any], None]


def read(address: int, size: int) -> bytes | None:
    """Answer the bytes of an input structure that the door copied in; None for a null pointer."""
    return ffi.buffer(ffi.cast("char *", address), size)[:] if address else None


def text(address: int) -> bytes | None:
    """Answer a C string that the door copied in."""
    return ffi.string(ffi.cast("char *", address)) if address else None


def write(address: int, data: bytes, room: int) -> None:
    """Write an output structure or array; the door has checked that ``room`` bytes can be written."""
    if address:
        ffi.memmove(ffi.cast("char *", address), data[:room], min(len(data), room))


def float_bits(value: float) -> int:
    """Answer a float's 32 bits."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def words_in(entry: Entry) -> list[str]:
    """Answer the expressions that read the inputs of an entry, in C order."""
    names = [param.name for param in entry.params]
    return [_input(k, param, names) for k, param in enumerate(entry.params) if param.direction != "out"]


def _input(k: int, param: Param, names: list[str]) -> str:
    if param.kind == "cstr":
        return f"text(u[{k}])"
    if param.direction == "in":
        count = f" * u[{names.index(param.count)}]" if param.count else ""
        return f"read(u[{k}], {param.size}{count})"
    if param.direction == "inout" and param.optional:
        return f"(u[{k}] if given[{k}] else None)"
    return f"i[{k}]" if param.kind == "i32" else f"u[{k}]"


def words_out(entry: Entry) -> list[str]:
    """Answer the statements that put the results of an entry where they belong."""
    names = [param.name for param in entry.params]
    outputs = [(k, p) for k, p in enumerate(entry.params) if p.direction in ("out", "inout")]
    return [_output(n, k, param, names) for n, (k, param) in enumerate(outputs)]


def _output(n: int, k: int, param: Param, names: list[str]) -> str:
    if param.kind == "bytes":
        count = f" * u[{names.index(param.count)}]" if param.count else ""
        return f"write(u[{k}], r{n}, {param.size}{count})"
    return f"out[{k}] = {f'float_bits(r{n})' if param.kind == 'f32' else f'r{n} & {MASK}'}"


def source(entry: Entry, handler: Handler) -> str:
    """Write the function for one entry."""
    puts = words_out(entry)
    results = ", ".join(f"r{n}" for n in range(len(puts)))
    inputs = words_in(entry)
    if handler.inputs != len(inputs):
        raise TypeError(f"{entry.symbol}: {handler.function.__name__} takes {handler.inputs} inputs, the call has {len(inputs)}")
    needs = _injections(handler)
    call = f"handler({', '.join([*handler.injected, *inputs])})"
    body = [f'driver.call = call = "{entry.symbol}"', *needs, f"{results} = {call}" if puts else call]
    lock = "with lock:" if handler.locked else "if True:"
    lines = [f"def {entry.symbol}(thread, u, i, out):", f" {lock}", *(f"  {line}" for line in body)]
    return "\n".join([*lines, *(f" {put}" for put in puts)])


def _injections(handler: Handler) -> list[str]:
    needs: list[str] = []
    if {"process", "context"} & set(handler.injected):
        needs.append("process = driver.process or not_initialised()")
    if "context" in handler.injected:
        needs.append("context = process.contexts.current(thread) or no_context()")
    return needs


def broken(rule: Rule[Any], *facts: Any) -> Refused:
    """Answer the refusal of a rule that these facts break."""
    reason = rule.check(*facts)
    assert rule.status is not None
    assert reason is not None
    return Refused(rule.status, rule, reason)


def _raiser(rule: Rule[Any], *facts: Any) -> Callable[[], None]:
    def raise_it() -> None:
        raise broken(rule, *facts)

    return raise_it


def make(entry: Entry, driver: Driver) -> Run:
    """Make the function that answers ``entry`` for ``driver``."""
    handler = HANDLERS[entry.plain]

    names: dict[str, Any] = {
        "handler": handler.function,
        "driver": driver,
        "lock": driver.lock,
        "not_initialised": _raiser(general.initialized, False),
        "no_context": _raiser(contexts.context_current, False),
        "read": read,
        "text": text,
        "write": write,
        "float_bits": float_bits,
    }
    exec(compile(source(entry, handler), f"<{entry.symbol}>", "exec"), names)
    return names[entry.symbol]
