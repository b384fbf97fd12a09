"""Many instructions in one compile, each against a model in plain Python integers.

    check([Case("add.s32 {d}, {a}, {b};", "r=rr", lambda a, b: (a + b) % 2**32)])

The letters are the widths of destinations and sources: p (predicate), b h r l (8 to 64 bits). Destinations are
written ``{d} {e}``, sources ``{a} {b} {c} {x}``. A model takes the sources' bits and answers the destination's (a tuple
for two). Every case runs with registers, and again with each source that may be one written as a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from edges import DTYPES, integer_edges, mixed
from straight import LANES, prepare

WIDTH = {"p": 1, "b": 8, "h": 16, "r": 32, "l": 64}
SOURCES = "abcx"
TARGETS = "de"
ROUNDS = 8
DECLARATIONS = "".join(
    f".reg .{'pred' if letter == 'p' else f'b{bits}'} {', '.join(f'%{letter}_{name}' for name in SOURCES)};\n"
    for letter, bits in WIDTH.items()
)


@dataclass(frozen=True, slots=True)
class Case:
    """One instruction (or a few that belong together).

    Attributes
    ----------
    text
        PTX with places.
    shape
        Widths: ``d=ab``.
    model
        Source bits → destination bits.
    constants
        Which sources are tried as constants.
    edges
        Bit patterns to draw the sources from; None: `edges.integer_edges`.
    """

    text: str
    shape: str
    model: Callable[..., int | tuple[int, ...]]
    constants: str = SOURCES
    edges: tuple[int, ...] | None = None

    @property
    def targets(self) -> str:
        """Widths of the destinations."""
        return self.shape.split("=")[0]

    @property
    def sources(self) -> str:
        """Widths of the sources."""
        return self.shape.split("=")[1]


@dataclass(frozen=True, slots=True)
class Written:
    """A case with its places filled in.

    Attributes
    ----------
    fixed
        Sources that are constants, by their number.
    targets
        Names of the destination registers.
    """

    case: Case
    text: str
    fixed: dict[int, int]
    targets: tuple[str, ...]


def check(cases: Sequence[Case], *, uniform: bool = False, seed: int = 1) -> None:
    """Carry all cases out in one shape and compare every destination of every lane."""
    rng = np.random.default_rng(seed)
    written = [_write(case, fixed, i) for i, (case, fixed) in enumerate(_variants(cases, rng))]
    run = compiled(written, uniform=uniform)
    for _ in range(ROUNDS):
        values = draw(cases, rng)
        if not uniform:
            _compare(written, values, run(values), range(LANES))
            continue
        for lane in range(0, LANES, 4):
            one = {name: np.full(LANES, array[lane], array.dtype) for name, array in values.items()}
            _compare(written, one, run(one), (0, LANES - 1))


def compiled(written: Sequence[Written], *, uniform: bool) -> Callable[..., dict[str, np.ndarray]]:
    """Compile what was written; the inputs are the source registers of all widths."""
    kinds = {
        name: WIDTH[width] for item in written for name, width in zip(item.targets, item.case.targets, strict=True)
    }
    own = "".join(f".reg .{'pred' if bits == 1 else f'b{bits}'} {name};\n" for name, bits in kinds.items())
    names = [f"%{letter}_{name}" for letter in WIDTH for name in SOURCES]
    body = "\n".join(item.text for item in written)
    return prepare(DECLARATIONS + own, body, names, list(kinds), uniform=uniform)


def _variants(cases: Sequence[Case], rng: np.random.Generator) -> list[tuple[Case, dict[int, int]]]:
    """Pair every case with no constant, and with each of its sources as a constant, once small and once any."""
    out: list[tuple[Case, dict[int, int]]] = []
    for case in cases:
        out.append((case, {}))
        for i, width in enumerate(case.sources):
            if width == "p" or SOURCES[i] not in case.constants:
                continue
            edges = case.edges or integer_edges(WIDTH[width])
            out += [(case, {i: int(edges[rng.integers(len(edges))])}), (case, {i: int(rng.integers(1, 40))})]
    return out


def _write(case: Case, fixed: dict[int, int], number: int) -> Written:
    targets = tuple(f"%{name}{number}" for name in TARGETS[: len(case.targets)])
    places = dict(zip(TARGETS, targets, strict=False))
    for i, width in enumerate(case.sources):
        places[SOURCES[i]] = constant(fixed[i], WIDTH[width]) if i in fixed else f"%{width}_{SOURCES[i]}"
    return Written(case, case.text.format(**places), fixed, targets)


def constant(bits: int, width: int) -> str:
    """Write a bit pattern as PTX: every other one as a signed number."""
    return str(bits - (1 << width)) if bits >> (width - 1) and bits % 2 else hex(bits)


def draw(cases: Sequence[Case], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the source registers; one lane in five has the same value in all sources."""
    extra = [value for case in cases for value in case.edges or ()]
    out: dict[str, np.ndarray] = {}
    for letter, bits in WIDTH.items():
        edges = [0, 1] if bits == 1 else [*integer_edges(bits), *(value % (1 << bits) for value in extra)]
        equal = rng.integers(0, 5, LANES) == 0
        for name in SOURCES:
            drawn = mixed(bits, edges, LANES, rng)
            first = out.get(f"%{letter}_a", drawn)
            out[f"%{letter}_{name}"] = np.where(equal, first, drawn).astype(DTYPES[bits])
    return out


def _compare(
    written: Sequence[Written], values: dict[str, np.ndarray], found: dict[str, np.ndarray], lanes: Sequence[int]
) -> None:
    for item in written:
        for lane in lanes:
            inputs = arguments(item, values, lane)
            wanted = item.case.model(*inputs)
            wanted = wanted if isinstance(wanted, tuple) else (wanted,)
            got = tuple(int(found[name][lane]) for name in item.targets)
            assert got == wanted, (
                f"{item.text} of {[hex(v) for v in inputs]} in lane {lane}: "
                f"{[hex(v) for v in got]}, not {[hex(v) for v in wanted]}"
            )


def arguments(item: Written, values: dict[str, np.ndarray], lane: int) -> list[int]:
    """Answer the sources of a case in one lane."""
    return [
        item.fixed[i] if i in item.fixed else int(values[f"%{width}_{SOURCES[i]}"][lane])
        for i, width in enumerate(item.case.sources)
    ]
