"""Drop-in for ``cuda.bindings._v2.driver`` whose errors say why.

    >>> from cumulticast import driver
    >>> driver.multicast_bind_mem(mc, 0, memory, 0, 3 << 20, 0)
    cuda.bindings._v2.driver.InvalidValueError: ERROR_INVALID_VALUE (1)
    MC304 multicast_bind_mem: size 3145728 is not a multiple of 2097152 (2 MiB); nearest 2097152 or 4194304. …

Every public name is forwarded: functions, enumerations, structures, exceptions. The exceptions are NVIDIA's
own; one that a call raises gets notes (PEP 678), taken from what the driver itself logged about that call
(cuLogs*, CUDA 12.9 and later). Where the driver logged no rule, a note lists the rules of the book that
answer so; where causes outside of the program are known (`cumulticast explain`), one more note says what to
check first. The attribute ``call`` names the function. This works on any driver, so this module does not know
which one it has.

It is the one module that imports ``cuda.bindings._v2``, a path that NVIDIA announced to move.
"""

from __future__ import annotations

import ctypes
import functools
import re
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import takewhile
from typing import Any

_bindings: Any = import_module("cuda.bindings._v2.driver")
_DriverError: type[Exception] = _bindings.DriverError
_NoDriver: type[Exception] = import_module("cuda.pathfinder").DynamicLibNotFoundError  # which the bindings use

_NO_DRIVER = "No NVIDIA driver is here. `cumulticast run -- PROGRAM` runs a program on a simulated machine."
_LOG_BYTES = 25600  # "The maximum size of the buffer is 25600 bytes" (cuLogsDumpToMemory)
_LINE = re.compile(r"\[[\d:.]+\]\[(?P<thread>\d+)\]\[CUDA\]\[(?P<level>[EW])\] (?P<text>.*)")
_RETURNING = re.compile(r"Returning (?P<status>\d+) \(\w+\) from (?P<call>cu\w+)")
_CODE = re.compile(r"MC\d{3,4}\b")


def __getattr__(name: str) -> Any:
    """Forward one name, and keep it: this runs once for each."""
    if name == "__all__":
        return __dir__()
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(_bindings, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    if callable(value) and not isinstance(value, type):
        value = _explained(name, value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what cuda.bindings offers."""
    return [name for name in dir(_bindings) if not name.startswith("_")]


def _explained(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that the driver's errors carry notes; so does the lack of a driver; others pass untouched."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _DriverError as error:
            setattr(error, "call", name)  # noqa: B010 (which one it was, when several are tried)
            for note in _notes(name, getattr(error, "status", None)):
                error.add_note(note)
            raise
        except _NoDriver as error:
            error.add_note(_NO_DRIVER)
            raise

    call.__module__ = __name__  # pickle finds it here
    return call


# ---- where the explanation comes from


def _notes(name: str, status: int | None) -> list[str]:
    """Say why ``name`` answered ``status``: what the driver logged, else the likely rules."""
    if status is None:
        return []
    logged = _logged_reasons(name, int(status))
    code = next((found[0] for found in map(_CODE.match, logged) if found), None)
    rules = [] if code else _governing_rules(name, int(status))
    return [*logged, *rules, *_hints(name, int(status), code)]


def _hints(name: str, status: int, code: str | None) -> list[str]:
    """Say what to check first, where the causes know of this call and status."""
    from cumulticast.why import hint

    said = hint(name, status, code)
    return [said] if said else []


def _logged_reasons(name: str, status: int) -> list[str]:
    """Answer the reasons that this thread's newest entry of the driver's error log gives for this call.

    The reasons of a refused call stand right before its line ``Returning N (NAME) from cuX``, the last of
    this thread. Without such a line the driver logged nothing about the call.
    """
    from cumulticast.rules.text import python_name

    newest_first = _own_errors(_dump_log())
    ending = _RETURNING.match(next(newest_first, ""))
    if ending is None or int(ending["status"]) != status or python_name(ending["call"]) != name:
        return []
    reasons = list(takewhile(lambda text: not _RETURNING.match(text), newest_first))
    return reasons[::-1]


def _own_errors(log: str) -> Iterator[str]:
    """Pick the error lines of the calling thread, the newest first."""
    me = str(threading.get_native_id())
    parts = filter(None, map(_LINE.match, reversed(log.splitlines())))
    return (part["text"] for part in parts if part["thread"] == me and part["level"] == "E")


def _dump_log() -> str:
    """Answer the driver's error log; nothing from a driver that keeps none (before 12.9)."""
    buffer, size = ctypes.create_string_buffer(_LOG_BYTES + 1), ctypes.c_size_t(_LOG_BYTES)
    try:
        _bindings.logs_dump_to_memory(0, ctypes.addressof(buffer), ctypes.addressof(size), 0)
    except (_DriverError, RuntimeError):  # FunctionNotFoundError is a RuntimeError
        return ""
    return buffer.raw[: size.value].decode(errors="replace")


def _governing_rules(name: str, status: int) -> list[str]:
    """Name the rules that make ``name`` answer ``status``: its own, or else those that govern every call."""
    from cumulticast.rules import all_rules
    from cumulticast.rules.book import EVERY_CALL
    from cumulticast.rules.text import python_name

    answering = [rule for rule in all_rules() if rule.status is not None and int(rule.status) == status]
    own = [rule for rule in answering if name in map(python_name, rule.calls)]
    chosen = own or [rule for rule in answering if rule.calls == EVERY_CALL]
    if not chosen:
        return []
    head = f"{name} answers {status} when one of these rules is broken; `cumulticast rules CODE` explains each:"
    return ["\n".join([head, *(f"  {rule.code} {rule.title}" for rule in chosen)])]
