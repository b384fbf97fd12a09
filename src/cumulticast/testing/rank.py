"""One rank: ``python -m cumulticast.testing.rank JOB ANSWERS`` finds its function, runs it, leaves what it returned."""

from __future__ import annotations

import importlib.util
import marshal
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any

from cumulticast.testing.job import Job, takes


def main(file: str, answers: str) -> None:
    """Run the job of a file and write what it returned, pickled, for this rank."""
    job: Job = pickle.loads(Path(file).read_bytes())
    sys.path[:] = job.path
    function = find(job)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    numbers = {"rank": rank, "world_size": size}
    given = {name: value for name, value in numbers.items() if takes(function, name)}
    try:
        answer = function(**(given | pickle.loads(job.arguments)))
    except Exception as error:
        sys.exit(without_us(error))
    try:
        Path(answers.format(rank)).write_bytes(pickle.dumps(answer))
    except Exception as error:
        sys.exit(f"{job.name} returned {answer!r}, which cannot be sent to another process: {error}")


def without_us(error: Exception) -> str:
    """Write an exception's traceback from the function on."""
    trace = error.__traceback__
    assert trace is not None
    return "".join(traceback.format_exception(type(error), error, trace.tb_next)).rstrip()


def find(job: Job) -> Callable[..., Any]:
    """Find the function by name, or put it together from its code."""
    module = load(job.module, job.file)
    if job.code:
        closure, (defaults, named) = pickle.loads(job.closure), pickle.loads(job.defaults)
        code = marshal.loads(job.code)
        cells = tuple(CellType(closure[name]) for name in code.co_freevars)
        function = FunctionType(code, module.__dict__, code.co_name, defaults, cells)
        function.__kwdefaults__ = named
        return function
    found: Any = module
    for name in job.name.split("."):
        found = getattr(found, name)
    return found


def load(name: str, file: str) -> ModuleType:
    """Import a module by its name if that leads to the file, or else the file, under that name."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a package above it is missing: pytest imported the file by its path
        spec = None
    if spec is not None and spec.origin is not None and os.path.abspath(spec.origin) == file:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(*sys.argv[1:])
