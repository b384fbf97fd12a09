"""add sub neg abs min max sad, and what multiplies and divides, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from grouped import Case, check
from integer_model import bits, letter, limited, number, of_halves, of_numbers, width
from straight import run

ALL = ("u16", "u32", "u64", "s16", "s32", "s64")
SIGNED = ("s16", "s32", "s64")


def plain(name: str, ptx_type: str, count: int, function: Callable[..., int]) -> Case:
    """Make a case of an instruction of one type."""
    places = ", ".join(["{d}", "{a}", "{b}", "{c}"][: count + 1])
    return Case(
        f"{name}.{ptx_type} {places};",
        letter(ptx_type) + "=" + letter(ptx_type) * count,
        of_numbers(ptx_type, function),
    )


def packed(name: str, ptx_type: str, count: int, function: Callable[..., int]) -> Case:
    places = ", ".join(["{d}", "{a}", "{b}"][: count + 1])
    return Case(f"{name}.{ptx_type}x2 {places};", "r=" + "r" * count, of_halves(ptx_type, function), constants="")


def sums() -> list[Case]:
    cases = [plain("add", t, 2, lambda a, b: a + b) for t in ALL] + [
        plain("sub", t, 2, lambda a, b: a - b) for t in ALL
    ]
    cases += [plain("sad", t, 3, lambda a, b, c: c + abs(a - b)) for t in ALL]
    cases += [
        plain("add.sat", "s32", 2, lambda a, b: limited(a + b, "s32")),
        plain("sub.sat", "s32", 2, lambda a, b: limited(a - b, "s32")),
        packed("add", "u16", 2, lambda a, b: a + b),
        packed("add", "s16", 2, lambda a, b: a + b),
    ]
    return cases


def choices() -> list[Case]:
    cases = [plain(name, t, 2, f) for t in ALL for name, f in (("min", min), ("max", max))]
    cases += [plain("abs", t, 1, abs) for t in SIGNED] + [plain("neg", t, 1, lambda a: -a) for t in SIGNED]
    for name, choose in (("min", min), ("max", max)):
        cases += [packed(name, t, 2, choose) for t in ("u16", "s16")]
        relu = lambda a, b, choose=choose: max(choose(a, b), 0)  # noqa: E731
        cases += [plain(f"{name}.relu", "s32", 2, relu), packed(f"{name}.relu", "s16", 2, relu)]
    return cases


def part(which: str, ptx_type: str) -> Callable[[int], int]:
    return (lambda value: value) if which == "lo" else lambda value: value >> width(ptx_type)


def products() -> list[Case]:
    cases: list[Case] = []
    for t in ALL:
        for which in ("lo", "hi"):
            cut = part(which, t)
            cases.append(plain(f"mul.{which}", t, 2, lambda a, b, cut=cut: cut(a * b)))
            cases.append(plain(f"mad.{which}", t, 3, lambda a, b, c, cut=cut: cut(a * b) + c))
    cases.append(plain("mad.hi.sat", "s32", 3, lambda a, b, c: limited((a * b >> 32) + c, "s32")))
    return cases


def wide_products() -> list[Case]:
    cases: list[Case] = []
    for t in ("u16", "s16", "u32", "s32"):
        double = t[0] + str(2 * width(t))

        def mul(a: int, b: int, t: str = t, double: str = double) -> int:
            return bits(number(a, t) * number(b, t), double)

        def mad(a: int, b: int, c: int, t: str = t, double: str = double) -> int:
            return bits(number(a, t) * number(b, t) + c, double)

        s, d = letter(t), letter(double)
        cases.append(Case(f"mul.wide.{t} {{d}}, {{a}}, {{b}};", f"{d}={s}{s}", mul))
        cases.append(Case(f"mad.wide.{t} {{d}}, {{a}}, {{b}}, {{c}};", f"{d}={s}{s}{d}", mad))
    return cases


def low24(value: int, ptx_type: str) -> int:
    value &= 0xFFFFFF
    return value - (1 << 24) if ptx_type == "s32" and value >> 23 else value


def products24() -> list[Case]:
    cases: list[Case] = []
    for t in ("u32", "s32"):
        for which, shift in (("lo", 0), ("hi", 16)):

            def mul(a: int, b: int, t: str = t, shift: int = shift) -> int:
                return low24(a, t) * low24(b, t) >> shift

            cases.append(plain(f"mul24.{which}", t, 2, mul))
            cases.append(plain(f"mad24.{which}", t, 3, lambda a, b, c, mul=mul: mul(a, b) + c))

    def saturated(a: int, b: int, c: int) -> int:
        high = number(low24(a, "s32") * low24(b, "s32") >> 16, "s32")
        return limited(high + c, "s32")

    return [*cases, plain("mad24.hi.sat", "s32", 3, saturated)]


def cut_division(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def divisions() -> list[Case]:
    """By zero: all ones, as recorded on an H200 (driver 580.159)."""
    cases: list[Case] = []
    for t in ALL:
        cases.append(plain("div", t, 2, lambda a, b: cut_division(a, b) if b else -1))
        cases.append(plain("rem", t, 2, lambda a, b: a - b * cut_division(a, b) if b else -1))
    return cases


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("cases", [sums, choices, products, wide_products, products24, divisions])
def test_against_python(cases: Callable[[], list[Case]], uniform: bool) -> None:
    check(cases(), uniform=uniform)


@pytest.mark.parametrize("ptx_type", ["s32", "s64", "u32", "s16"])
def test_lanes_that_take_no_part_do_not_trap(ptx_type: str) -> None:
    """x86 would trap on the divisors of the others: 0, and -1 of the least number."""
    bits_of, active = width(ptx_type), 0x0F0F00FF
    lanes = np.array([active >> lane & 1 for lane in range(32)], bool)
    odd = np.arange(32) % 2 == 1
    least, ones = 1 << (bits_of - 1), (1 << bits_of) - 1
    a = np.where(lanes, 1000 + np.arange(32), least).astype(f"u{bits_of // 8}")
    b = np.where(lanes, 7, np.where(odd, 0, ones)).astype(f"u{bits_of // 8}")
    declared = f".reg .b{bits_of} %a, %b, %d, %e;"
    body = f"div.{ptx_type} %d, %a, %b; rem.{ptx_type} %e, %a, %b;"
    out = run(declared, body, {"%a": a, "%b": b}, ["%d", "%e"], active=active)
    assert np.array_equal(out["%d"][lanes], a[lanes] // 7)
    assert np.array_equal(out["%e"][lanes], a[lanes] % 7)
