"""Call any entry of libcuda.so.1 through ctypes, from its line in the call table."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

from cumulticast import sim
from cumulticast.libcuda.table import Entry, Param, by_symbol
from cumulticast.sim.calls import load_all
from cumulticast.sim.entry import HANDLERS

ENTRIES: dict[str, Entry] = dict(by_symbol())
LEFT_OUT = Path(__file__).with_name("unchecked.txt")


def answered() -> list[Entry]:
    """Answer the entries that have a handler."""
    import cumulticast.libcuda.lookup  # noqa: F401 (cuGetProcAddress)

    load_all()
    return [entry for entry in ENTRIES.values() if entry.plain in HANDLERS]


def unchecked() -> dict[str, str]:
    """Answer the entries left out, each with its reason."""
    lines = LEFT_OUT.read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def kind_of(param: Param) -> type:
    """Answer how a parameter is passed: pointers and integers in a register of 64 bits."""
    if param.direction != "value":
        return ctypes.c_uint64
    if param.kind == "f32":
        return ctypes.c_float
    return struct_of(param.size) if param.kind == "bytes" and param.size != 8 else ctypes.c_uint64


@cache
def struct_of(size: int) -> type[ctypes.Structure]:
    """Answer a structure of so many bytes, to be passed by value."""
    return type(f"Struct{size}", (ctypes.Structure,), {"_fields_": [("data", ctypes.c_uint8 * size)]})


def function(entry: Entry) -> Callable[..., int]:
    """Answer the C function."""
    found = getattr(ctypes.CDLL(str(sim.library_path())), entry.symbol)
    found.restype, found.argtypes = ctypes.c_int, [kind_of(p) for p in entry.params]
    return found


def nulls(entry: Entry) -> list:
    """Answer arguments that are all zero."""
    return [kind() if issubclass(kind, ctypes.Structure) else 0 for kind in map(kind_of, entry.params)]


#: What needs no initialisation: names of errors, versions, look-ups, and the log (recorded on a real driver).
TIMELESS = frozenset(
    {"cuGetErrorString", "cuGetErrorName", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2"}
    | {"cuModuleGetLoadingMode"}  # its documented statuses know no 3
    | {"cuLogsRegisterCallback", "cuLogsUnregisterCallback", "cuLogsCurrent", "cuLogsDumpToFile", "cuLogsDumpToMemory"}
)

#: Calls that tell in an output why they failed: ``result_out``, and the logs of a compiler (documented).
TELLING = frozenset(
    {"cuGraphInstantiateWithParams", "cuModuleLoadDataEx", "cuLibraryLoadData", "cuLibraryLoadFromFile"}
    | {f"cuLink{what}{version}" for what in ("Create", "AddData", "AddFile", "Complete") for version in ("", "_v2")}
)
