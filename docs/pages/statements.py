"""docs/faults.md and docs/documentation-defects.md, from docs/data/*.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages.markdown import linked, page, table

DATA = Path(__file__).parents[1] / "data"


def read(name: str) -> list[dict[str, Any]]:
    """Read the one array of tables that a data file has."""
    (entries,) = tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8")).values()
    return entries


def pages() -> Iterator[tuple[str, str]]:
    """Make both pages."""
    yield "faults.md", faults()
    yield "documentation-defects.md", defects()


def faults() -> str:
    """List what can be made to go wrong."""
    rows = [
        (f"`{fault['spec']}`", linked(fault["effect"], "rules/"), f"`{fault['example']}`") for fault in read("faults")
    ]
    return page(
        "Faults to inject",
        "Give a fault to `cumulticast run --fault SPEC` (repeatable), in `CUMULTICAST_FAULTS` (separated by `;`), or "
        'as `sim.start(faults=["slots=128"])`; while the machine runs: `sim.faults.set("fm=stopped")` and '
        "`sim.faults.clear()`. "
        "The faults in force belong to the machine: every process on it meets them.",
        table(("fault", "what happens", "example"), rows),
        "`CALL` is the C name, such as `cuMulticastBindMem`, or its symbol (`cuMemcpyHtoD` or `cuMemcpyHtoD_v2`). "
        "`rank=` chooses the process whose environment has that `RANK` (0 where it has none); left out, every process. "
        "`nth=` chooses the nth use of the call by that process since the fault was set, from 1; left out, the first. "
        "`status=` is a number or a `CUDA_ERROR_` name.",
    )


def defects() -> str:
    """List the places where NVIDIA's documents are wrong or contradict each other, and what the simulator does."""
    parts = [
        f"## {number}. {defect['title']}\n\n{linked(defect['text'], 'rules/')}\n\nWhere: {_places(defect)}."
        for number, defect in enumerate(read("defects"), 1)
    ]
    return page(
        "Defects found in NVIDIA's documents",
        "Found while the rules were written down, in cuda-bindings 13.5.0, cuda.h of CUDA 13.5 and the CUDA "
        "Programming Guide. A test finds the quoted words in the installed wheel, so what is "
        "mended upstream shows.",
        *parts,
    )


def _places(defect: dict[str, Any]) -> str:
    quoted = [f"`{place}`: “{words}”" for place, words in defect.get("quotes", [])]
    return "; ".join([*quoted, *defect.get("elsewhere", [])])
