"""docs/calls.md and docs/unchecked-pointers.md: what each entry of the call table does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cumulticast.libcuda import lookup  # registers cuGetProcAddress
from cumulticast.libcuda.table import Entry, Param, entries
from cumulticast.sim import calls
from cumulticast.sim.entry import HANDLERS
from pages.markdown import bullets, page, table

calls.load_all()
assert "cuGetProcAddress_v2" in HANDLERS, lookup

UNCHECKED = Path(__file__).parents[2] / "tests" / "fuzz" / "unchecked.txt"


def pages() -> Iterator[tuple[str, str]]:
    """Make both pages."""
    yield "calls.md", answered()
    yield "unchecked-pointers.md", unchecked()


def answered() -> str:
    """List every entry: those that the simulator answers, and those that answer 801."""
    known = [entry for entry in entries() if entry.symbol in HANDLERS]
    other = [entry for entry in entries() if entry.symbol not in HANDLERS]
    return page(
        "The calls",
        f"{len(known)} of {len(entries())} entries of the driver API are simulated. The others are exported, too: they "
        "answer 801 (CUDA_ERROR_NOT_SUPPORTED) and the error log names them ([MC008](rules/MC008.md)).",
        f"## Simulated ({len(known)})\n\n" + table(("entry", "since CUDA", "per-thread form"), map(_row, known)),
        f"## Answer 801 ({len(other)})\n\n" + ", ".join(f"`{entry.symbol}`" for entry in other),
    )


def _row(entry: Entry) -> tuple[str, str, str]:
    return f"`{entry.symbol}`", _version(entry.version), f"`{entry.per_thread}`" if entry.per_thread else ""


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def unchecked() -> str:
    """List the simulated entries some of whose pointers the door cannot check."""
    rows = [
        (f"`{entry.symbol}`", ", ".join(f"`{param.name}`" for param in entry.params if _by_value(param)))
        for entry in entries()
        if entry.symbol in HANDLERS and any(map(_by_value, entry.params))
    ]
    return page(
        "Pointers that are not checked",
        "Before a call is answered, every pointer that the call table declares as input or output is checked: one that "
        "is null without leave, or whose bytes cannot be read or written, is answered with 1 "
        "([MC003](rules/MC003.md)). Host addresses and functions that are passed by value are not checked there; where "
        "the simulator does not refuse a wild one, it faults, as it does on a real driver.",
        "## Host addresses and functions passed by value\n\n" + table(("entry", "parameters"), rows),
        _left_out(),
    )


def _by_value(param: Param) -> bool:
    return param.direction == "value" and param.kind in ("host", "fn")


def _left_out() -> str:
    if not UNCHECKED.exists():
        return ""
    lines = [line for line in UNCHECKED.read_text().splitlines() if line and not line.startswith("#")]
    return "## Left out of the fuzz test\n\n" + bullets(lines)
