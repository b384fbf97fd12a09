"""Shifts, logic, lop3, selection, moves and conversions between integers against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from edges import integers
from grouped import Case, check
from integer_model import LETTER, bits, letter, limited, number, width
from straight import run

from cumulticast.ptx.errors import PtxError

WIDTHS = (16, 32, 64)
AMOUNTS = (*range(66), 127, 128, 255, 256, 257, 65535, 1 << 31, (1 << 32) - 1)


def shifts() -> list[Case]:
    cases: list[Case] = []
    for n in WIDTHS:
        shape = f"{LETTER[n]}={LETTER[n]}r"
        cases.append(
            Case(
                f"shl.b{n} {{d}}, {{a}}, {{b}};", shape, lambda a, b, n=n: bits(a << min(b, n), f"u{n}"), edges=AMOUNTS
            )
        )
        for t in "bus":

            def right(a: int, b: int, signed: str = f"{t}{n}") -> int:
                return bits(number(a, signed) >> min(b, 64), signed)

            cases.append(Case(f"shr.{t}{n} {{d}}, {{a}}, {{b}};", shape, right, edges=AMOUNTS))
    return cases


def funnels() -> list[Case]:
    cases: list[Case] = []
    for mode in ("clamp", "wrap"):

        def count(c: int, mode: str = mode) -> int:
            return min(c, 32) if mode == "clamp" else c % 32

        def left(a: int, b: int, c: int, count: Callable[[int], int] = count) -> int:
            return ((b << 32 | a) << count(c)) >> 32 & 0xFFFFFFFF

        def right(a: int, b: int, c: int, count: Callable[[int], int] = count) -> int:
            return (b << 32 | a) >> count(c) & 0xFFFFFFFF

        cases += [
            Case(f"shf.{x}.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "r=rrr", f, edges=AMOUNTS)
            for x, f in (("l", left), ("r", right))
        ]
    return cases


def words() -> list[Case]:
    operations: dict[str, Callable[[int, int], int]] = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }
    cases: list[Case] = []
    for n in WIDTHS:
        x = LETTER[n]
        cases += [Case(f"{name}.b{n} {{d}}, {{a}}, {{b}};", f"{x}={x}{x}", f) for name, f in operations.items()]
        cases.append(Case(f"not.b{n} {{d}}, {{a}};", f"{x}={x}", lambda a, n=n: ~a % (1 << n)))
        cases.append(Case(f"cnot.b{n} {{d}}, {{a}};", f"{x}={x}", lambda a: int(a == 0)))
    cases += [Case(f"{name}.pred {{d}}, {{a}}, {{b}};", "p=pp", f) for name, f in operations.items()]
    return [*cases, Case("not.pred {d}, {a};", "p=p", lambda a: 1 - a)]


def table_result(a: int, b: int, c: int, table: int) -> int:
    bits_of = zip(*(f"{v:032b}" for v in (a, b, c)), strict=True)
    return int("".join(str(table >> int("".join(three), 2) & 1) for three in bits_of), 2)


def tables(first: int, last: int) -> list[Case]:
    def model(table: int) -> Callable[..., int]:
        return lambda a, b, c: table_result(a, b, c, table)

    return [Case(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {t:#x};", "r=rrr", model(t), "") for t in range(first, last)]


def tables_with_predicate() -> list[Case]:
    def model(table: int, both: Callable[[int, int], int]) -> Callable[..., tuple[int, int]]:
        def result(a: int, b: int, c: int, q: int) -> tuple[int, int]:
            value = table_result(a, b, c, table)
            return value, both(int(value != 0), q)

        return result

    cases: list[Case] = []
    for name, both in (("or", int.__or__), ("and", int.__and__)):
        for t in (0x00, 0x01, 0x80, 0x96, 0xE8, 0xC0):
            text = f"lop3.{name}.b32 {{d}}|{{e}}, {{a}}, {{b}}, {{c}}, {t}, {{x}};"
            cases.append(Case(text, "rp=rrrp", model(t, both)))
        sunk = model(0x80, both)
        text = f"lop3.{name}.b32 _|{{d}}, {{a}}, {{b}}, {{c}}, 0x80, !{{x}};"
        cases.append(Case(text, "p=rrrp", lambda a, b, c, q, sunk=sunk: sunk(a, b, c, 1 - q)[1]))
    return cases


def selections() -> list[Case]:
    cases: list[Case] = []
    for t in ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        x = letter(t) if t[0] != "f" else LETTER[int(t[1:])]
        constants = "" if t[0] == "f" else "abcx"
        cases.append(
            Case(f"selp.{t} {{d}}, {{a}}, {{b}}, {{c}};", f"{x}={x}{x}p", lambda a, b, c: a if c else b, constants)
        )
        by_sign = lambda a, b, c: a if number(c, "s32") >= 0 else b  # noqa: E731
        cases.append(Case(f"slct.{t}.s32 {{d}}, {{a}}, {{b}}, {{c}};", f"{x}={x}{x}r", by_sign, constants))
    return cases


def moves() -> list[Case]:
    cases = [Case(f"mov.{t}{n} {{d}}, {{a}};", f"{LETTER[n]}={LETTER[n]}", lambda a: a) for n in WIDTHS for t in "bus"]
    return [
        *cases,
        Case("mov.pred {d}, {a};", "p=p", lambda a: a),
        Case("mov.b32 {d}, {{{a}, {b}}};", "r=hh", lambda a, b: a | b << 16),
        Case("mov.b64 {d}, {{{a}, {b}}};", "l=rr", lambda a, b: a | b << 32),
        Case("mov.b64 {d}, {{{a}, {b}, {c}, {x}}};", "l=hhhh", lambda a, b, c, x: a | b << 16 | c << 32 | x << 48),
        Case("mov.b32 {{{d}, {e}}}, {a};", "hh=r", lambda a: (a & 0xFFFF, a >> 16)),
        Case("mov.b64 {{{d}, {e}}}, {a};", "rr=l", lambda a: (a & 0xFFFFFFFF, a >> 32)),
        Case("mov.b64 {{_, {d}}}, {a};", "r=l", lambda a: a >> 32),
        Case("mov.b64 {{{d}, _}}, {a};", "r=l", lambda a: a & 0xFFFFFFFF),
        Case("mov.b64 {{_, {d}, _, {e}}}, {a};", "hh=l", lambda a: (a >> 16 & 0xFFFF, a >> 48)),
        Case(
            "{{ .reg .b128 %w; mov.b128 %w, {{{a}, {b}}}; mov.b128 {{{d}, {e}}}, %w; }}", "ll=ll", lambda a, b: (a, b)
        ),
    ]


NARROW = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


def can_saturate(result: str, source: str) -> bool:
    """Tell whether there is a number of the one type that the other has not: else ptxas refuses ``.sat``."""
    least, most = (number(1 << (width(source) - 1), source), (1 << (width(source) - (source[0] == "s"))) - 1)
    return limited(min(least, 0), result) != min(least, 0) or limited(most, result) != most


def conversions() -> list[Case]:
    """Every pair of types, between the narrowest registers that PTX has for them and between wider ones."""
    cases: list[Case] = []
    for result in NARROW:
        for source in NARROW:
            for sat in ("", ".sat") if can_saturate(result, source) else ("",):
                d, s = LETTER[max(width(result), 16)], LETTER[max(width(source), 16)]
                cases.append(_conversion(sat, result, source, d, s))
                if sat or result == source:
                    cases.append(_conversion(sat, result, source, "l", "l"))
    return cases


def _conversion(sat: str, result: str, source: str, d: str, s: str) -> Case:
    wide = result[0] + str({"h": 16, "r": 32, "l": 64}[d])

    def model(a: int) -> int:
        value = number(a, source)
        return bits(number(bits(limited(value, result) if sat else value, result), result), wide)

    return Case(f"cvt{sat}.{result}.{source} {{d}}, {{a}};", f"{d}={s}", model, "")


def packing() -> list[Case]:
    cases: list[Case] = []
    for t in ("u16", "s16"):

        def two(a: int, b: int, t: str = t) -> int:
            return bits(limited(number(a, "s32"), t), t) << 16 | bits(limited(number(b, "s32"), t), t)

        cases.append(Case(f"cvt.pack.sat.{t}.s32 {{d}}, {{a}}, {{b}};", "r=rr", two))
    for t in ("u8", "s8", "u4", "s4", "u2", "s2"):

        def above(a: int, b: int, c: int, t: str = t) -> int:
            low = bits(limited(number(a, "s32"), t), t) << width(t) | bits(limited(number(b, "s32"), t), t)
            return bits(c << 2 * width(t) | low, "u32")

        cases.append(Case(f"cvt.pack.sat.{t}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}};", "r=rrr", above))
    return cases


GROUPS = [shifts, funnels, words, tables_with_predicate, selections, moves, conversions, packing]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("cases", GROUPS)
def test_against_python(cases: Callable[[], list[Case]], uniform: bool) -> None:
    check(cases(), uniform=uniform)


@pytest.mark.parametrize("uniform", [False, True])
def test_tables_of_lop3(uniform: bool) -> None:
    check(tables(0, 256)[:: 4 if uniform else 1], uniform=uniform)


def test_words_of_three_elements_are_refused() -> None:
    declared, inputs = ".reg .b32 %a, %b, %c; .reg .b64 %d;", {"%a": integers(32, 32, 1)}
    whole = run(declared, "mov.b64 %d, {%a, %a};", inputs, ["%d"])["%d"]
    assert np.array_equal(whole >> 32, inputs["%a"])
    with pytest.raises(PtxError, match="3 elements do not make 64 bits"):
        run(declared, "mov.b64 %d, {%a, %b, %c};", inputs, ["%d"])
