"""docs/nvml.md: which entries of NVML are answered, and what each machine tells through them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cumulticast.libnvml.calls import load_all
from cumulticast.libnvml.entry import HANDLERS, entries
from cumulticast.libnvml.facts import evidence
from cumulticast.sim.machine import names
from pages.markdown import page, table

ABOUT = """`cumulticast run` puts a `libnvidia-ml.so.1` beside `libcuda.so.1`: programs that ask NVML (nvidia-ml-py,
nvitop, cuda.bindings.nvml, C programs) see the simulated machine, also those that never touch CUDA; `sim.start()`
does the same inside one process. Memory and processes are those of the machine's books; the fabric's state, cliques
and health follow the machine and its [faults](faults.md). A context takes no memory here. Nothing is ever set: other
entries answer 3 (not supported) and the log (`CUDA_LOG_FILE`) says so. What one H200 answered is recorded
(`tests/data/transcripts/h200-580.159-nvml.json`) and held to by the tests."""


def pages() -> Iterator[tuple[str, str]]:
    """Make the page."""
    load_all()
    groups = defaultdict[tuple[str, str], list[str]](list)
    for symbol, function in HANDLERS.items():
        subject = function.__module__.rpartition(".")[2]
        groups[subject, (function.__doc__ or "").partition("\n")[0]].append(f"`{symbol}`")
    rows = [(subject, ", ".join(symbols), doc) for (subject, doc), symbols in groups.items()]
    yield (
        "nvml.md",
        page(
            "NVML",
            ABOUT,
            f"## {len(HANDLERS)} of {len(entries())} entries are answered",
            table(("subject", "entries", "answer"), rows),
            "## What each machine tells",
            *(_machine(name) for name in names()),
        ),
    )


def _machine(name: str) -> str:
    rows = [
        (f"`{key}`", _shown(fact.value), fact.evidence, fact.source) for key, fact in sorted(evidence(name).items())
    ]
    return f"### {name}\n\n{table(('fact', 'value', 'evidence', 'source'), rows)}"


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
