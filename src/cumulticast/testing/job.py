"""A function, or a program, as something that every rank can run in a process of its own.

A function of a module is found there by name. A nested one or a lambda travels as code, with what it closes over; its
globals are those of its module, which the rank imports.
"""

from __future__ import annotations

import inspect
import marshal
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any


@dataclass(frozen=True, slots=True)
class Job:
    """A function for the ranks; pickled into a file that each of them reads.

    Attributes
    ----------
    path
        The importer's sys.path.
    module, file
        Where the function is defined.
    name
        Its qualified name.
    arguments
        Its keyword arguments, pickled: they may need the module.
    code, closure, defaults
        Of a function that has no name to be found by: its code, marshalled; the rest pickled. Else empty.
    """

    path: tuple[str, ...]
    module: str
    file: str
    name: str
    arguments: bytes
    code: bytes = b""
    closure: bytes = b""
    defaults: bytes = b""


@dataclass(frozen=True, slots=True)
class Work:
    """What to start for each rank: a command; ``answers`` is where a rank's value goes, ``{}`` being its number."""

    name: str
    command: tuple[str, ...]
    answers: str = ""


def prepare(what: Callable[..., Any] | str | Path, arguments: Any, directory: Path) -> Work:
    """Make a function or the path of a program ready for the ranks.

    Parameters
    ----------
    what
        A Python function; a path that ends in .py; or the path of another program.
    arguments
        A function's keyword arguments (a mapping), a program's words (a sequence), or None.
    directory
        Where files may be put.

    Raises
    ------
    TypeError
        It is no function that ranks can run; the text says why, and what they can.
    """
    if isinstance(what, (str, Path)):
        words: Sequence[str] = tuple(map(str, arguments or ()))
        program = os.fspath(what)
        start = (sys.executable,) if program.endswith(".py") else ()
        return Work(program, (*start, program, *words))
    job, answers = describe(what, arguments or {}), f"{directory}/answer-{{}}"
    file = directory / "job"
    file.write_bytes(pickle.dumps(job))
    command = (sys.executable, "-P", "-m", "cumulticast.testing.rank", str(file), answers)
    return Work(job.name, command, answers)


def describe(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Job:
    """Describe a function so that another process finds it."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"run_ranks runs a Python function or the path of a program, not {function!r}")
    module, file = function.__module__, inspect.getsourcefile(function)
    if module == "__main__" or file is None or not os.path.exists(file):
        raise TypeError(f"{function.__qualname__} has no module that a rank could import; put it into a file")
    _check_arguments(function, arguments)
    known = tuple(sys.path), module, os.path.abspath(file), function.__qualname__
    job = Job(*known, _pickled("an argument", dict(arguments)))
    if _found_by_name(function):
        return job
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = {name: cell.cell_contents for name, cell in cells.items()}
    for name, value in closure.items():
        _pickled(f"{name}, which {function.__qualname__} uses,", value)
    defaults = _pickled("a default", (function.__defaults__, function.__kwdefaults__))
    return Job(*known, job.arguments, marshal.dumps(function.__code__), pickle.dumps(closure), defaults)


def _found_by_name(function: FunctionType) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _pickled(what: str, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise TypeError(f"{what} cannot be sent to another process: {error}") from error


def _check_arguments(function: FunctionType, arguments: Mapping[str, Any]) -> None:
    """Refuse, before anything starts, what every rank would fail at."""
    given = {**arguments, **{name: 0 for name in ("rank", "world_size") if takes(function, name)}}
    try:
        inspect.signature(function).bind(**given)
    except TypeError as error:
        raise TypeError(
            f"{function.__qualname__}: {error}; it gets rank and world_size if it takes them, and arguments={{...}}"
        ) from None


def takes(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a function has a parameter of this name."""
    return name in inspect.signature(function).parameters
