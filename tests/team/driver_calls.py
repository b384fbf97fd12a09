"""The driver calls of this process, noted down as the software driver takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from cumulticast.libcuda import serve

#: What asks and changes nothing that fails: the bindings call it for their own ends, as often as they like.
ASIDE = {"cuGetProcAddress", "cuGetErrorName", "cuGetErrorString", "cuLogsCurrent", "cuLogsDumpToMemory"}


@contextmanager
def noted() -> Iterator[list[str]]:
    """Give a list to which each call of the driver now in service is added, by its name in cuda.h."""
    functions, made = serve.SERVER.functions, list[str]()
    before = list(functions)
    for index, entry in enumerate(serve.ENTRIES):
        if entry.plain not in ASIDE:
            functions[index] = partial(_called, made, entry.plain, functions[index])
    try:
        yield made
    finally:
        functions[:] = before


def _called(made: list[str], name: str, function: Callable[..., Any], *inputs: Any) -> Any:
    made.append(name)
    return function(*inputs)
