"""The simulator's C: arithmetic over `replicas` of `elements`, the MMU's work in `memory`, shared `words`.

The C sources lie beside this file: store.c, load_reduce.c (its kernels are compiled once per instruction
set), reduce.c, memory.c, probe.c and words.c, all declared in native.h. `build_native.py` makes
`cumulticast.sim._native` of them.
"""

from cumulticast.sim.native.elements import DTYPES, OPERATIONS, Element, element
from cumulticast.sim.native.memory import (
    Gather,
    allocate,
    copy,
    copy_2d,
    fill8,
    fill16,
    fill32,
    fill_2d,
    map_back,
    map_file,
    map_none,
    protect,
    readable,
    unmap,
    whole_pages,
    writable,
)
from cumulticast.sim.native.replicas import kernels, load_reduce, reduce, store, use_kernels
from cumulticast.sim.native.words import add_and_wake, address_of, call, get, load_word, put

__all__ = [
    "DTYPES",
    "OPERATIONS",
    "Element",
    "Gather",
    "add_and_wake",
    "address_of",
    "allocate",
    "call",
    "copy",
    "copy_2d",
    "element",
    "fill8",
    "fill16",
    "fill32",
    "fill_2d",
    "get",
    "kernels",
    "load_reduce",
    "load_word",
    "map_back",
    "map_file",
    "map_none",
    "protect",
    "put",
    "readable",
    "reduce",
    "store",
    "unmap",
    "use_kernels",
    "whole_pages",
    "writable",
]
