"""Collectives of a team: broadcast, all_reduce, reduce_scatter, all_gather, barrier.

    protocol.py     what they need of a team: `Seats`, `Region`; PAD_BYTES and SCRATCH_BYTES
    collectives.py  the five: each a choice of kernel, and what each rank does in it
    plan.py         such a choice, and how it is launched
    kinds.py        types and operations
    choices.py      one-shot or two-shot, by size: choices.toml
    kernels/        the kernels and the device barrier; program.py compiles them, store.py keeps what comes out
    call.py         a kernel's parameters; modules.py loads programs, engine.py launches kernels; streams.py
    errors.py       CollectiveTimeout, KernelsUnavailable

All work in place on the array and are ordered by the streams that they are given; nothing waits on the host. The
collectives of a team must come in the same order on all ranks. On each rank they run one after the other, on whatever
streams; those in graphs only if the user launches the graphs so.
"""

from .collectives import all_gather, all_reduce, barrier, broadcast, reduce_scatter
from .engine import abandon, check, close
from .errors import CollectiveTimeout, KernelsUnavailable
from .protocol import PAD_BYTES, SCRATCH_BYTES, Region, Seats

__all__ = [
    "PAD_BYTES",
    "SCRATCH_BYTES",
    "CollectiveTimeout",
    "KernelsUnavailable",
    "Region",
    "Seats",
    "abandon",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "check",
    "close",
    "reduce_scatter",
]
