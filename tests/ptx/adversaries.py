"""Kernels under adversarial memory, without a driver: what they leave in memory, and what is found out about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from grid import Grid

from cumulticast.ptx.runtime import ffi, lib

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
ALIAS, RELEASE, RACE = 1, 2, 3
WARP, CTA, GPU, SYS = 1, 2, 3, 4
SEEDS = range(10)
ROOM = 64


@dataclass(frozen=True)
class Found:
    """A finding by the lines of the text; ``later`` is 0 where there is none."""

    kind: int
    reader: int
    writer: int
    later: int
    had: int
    wanted: int


@contextmanager
def adversary(seed: int) -> Iterator[Any]:
    """Begin an adversary, and end it."""
    made = lib.ptx_adversary_begin(seed)
    assert made != ffi.NULL
    yield made
    lib.ptx_adversary_end(made)


def findings(made: Any, grid: Grid) -> list[Found]:
    """Take what was found about the one kernel of a grid."""
    out = ffi.new("struct ptx_finding[]", ROOM)
    ((compiled, _),) = grid.compiled.values()
    return [
        Found(
            f.kind,
            compiled.lines[f.reader.instruction],
            compiled.lines[f.writer.instruction],
            compiled.lines[f.later.instruction] if f.kind == RELEASE else 0,
            f.had,
            f.wanted,
        )
        for f in out[0 : lib.ptx_adversary_take(made, out, ROOM)]
    ]


def kernel(body: str) -> str:
    """Write the PTX of ``kernel``: %p is its one parameter, %b the block, %t the thread; %q is a predicate."""
    return f"""{HEAD}.visible .entry kernel(.param .u64 p) {{
.reg .u64 %p, %a; .reg .u32 %b, %t, %v, %w; .reg .pred %q; .shared .align 16 .b8 room[4096];
ld.param.u64 %p, [p]; mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x;
{body}
done: ret;
}}"""


def run(text: str, seed: int, words: int = 256, *, grid: int = 2, block: int = 32) -> tuple[np.ndarray, list[Found]]:
    """Run ``kernel`` on fresh words; answer the words and the findings."""
    memory = np.zeros(words, np.uint32)
    with adversary(seed) as made:
        kernels = Grid(text, adversary=made)
        fault = kernels("kernel", grid, block, [memory])
        assert fault.status == 0, fault
        return memory, findings(made, kernels)


def over_seeds(text: str, **shape: int) -> tuple[list[np.ndarray], set[Found]]:
    """Run under every seed; answer all results, and all that was found by any."""
    results: list[np.ndarray] = []
    found: set[Found] = set()
    for seed in SEEDS:
        memory, some = run(text, seed, **shape)
        results.append(memory)
        found.update(some)
    return results, found


def line_of(text: str, words: str) -> int:
    """Answer the number of the one line that contains these words."""
    (number,) = [n for n, line in enumerate(text.split("\n"), 1) if words in line]
    return number


def values(results: Sequence[np.ndarray], at: int) -> set[int]:
    """Answer all values that a word had in the end."""
    return {int(memory[at]) for memory in results}
