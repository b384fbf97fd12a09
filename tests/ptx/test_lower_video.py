"""The SIMD video instructions in Python's integers; the model was compared with what an H200 gave (driver 580.159)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest
from grouped import Case, check
from integer_model import bits, limited, number

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
SIGNS = "us"


def simd(size: int, types: str, function: Callable[[int, int], int], ending: str) -> Callable[[int, int, int], int]:
    """Make a model: ``types`` are the signs of result and sources, ``ending`` is "", ".sat" or ".add"."""
    result, left, right = (f"{sign}{size}" for sign in types)

    def model(a: int, b: int, c: int) -> int:
        values = [int(function(number(a >> at, left), number(b >> at, right))) for at in range(0, 32, size)]
        if ending == ".add":
            return bits(c + sum(values), "u32")
        if ending == ".sat":
            values = [limited(value, result) for value in values]
        return sum(bits(value, result) << size * i for i, value in enumerate(values))

    return model


def operations(count: int) -> Iterator[Case]:
    for (name, function), types, ending in product(
        OPERATIONS.items(), product(SIGNS, SIGNS, SIGNS), ("", ".sat", ".add")
    ):
        word = f"{name}{count}.{'.'.join(f'{sign}32' for sign in types)}{ending}"
        yield Case(
            f"{word} {{d}}, {{a}}, {{b}}, {{c}};", "r=rrr", simd(32 // count, "".join(types), function, ending), ""
        )


def comparisons(count: int) -> Iterator[Case]:
    for (name, function), types, ending in product(COMPARISONS.items(), product(SIGNS, SIGNS), ("", ".add")):
        word = f"vset{count}.{types[0]}32.{types[1]}32.{name}{ending}"
        yield Case(
            f"{word} {{d}}, {{a}}, {{b}}, {{c}};",
            "r=rrr",
            simd(32 // count, "u" + "".join(types), function, ending),
            "",
        )


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("cases", [operations, comparisons])
def test_against_python(cases: Callable[[int], Iterator[Case]], count: int, uniform: bool) -> None:
    check(list(cases(count))[:: 5 if uniform else 1], uniform=uniform)


def test_constants() -> None:
    model = simd(8, "uuu", OPERATIONS["vabsdiff"], ".add")
    check([Case("vabsdiff4.u32.u32.u32.add {d}, {a}, {b}, {c};", "r=rrr", model)])
