"""setp and set: integers and floats, every comparison, against Python's numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator

import pytest
from edges import FORMATS, float_edges
from grouped import Case, check
from integer_model import LETTER, letter, number

ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
COMBINE: dict[str, Callable[[int, int], int]] = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
FLOAT_WORDS = (*ORDERED, *(f"{word}u" for word in ORDERED), "num", "nan")
Test = Callable[[int, int], int]


def integer_test(word: str, ptx_type: str) -> Test:
    if word in UNSIGNED:
        return integer_test(UNSIGNED[word], "u" + ptx_type[1:])
    return lambda a, b: int(ORDERED[word](number(a, ptx_type), number(b, ptx_type)))


def value(bits: int, ptx_type: str, flush: bool) -> float:
    exponent, mantissa = FORMATS[ptx_type]
    if flush and not bits >> mantissa & ((1 << exponent) - 1):
        return 0.0
    if ptx_type == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    codes = {"f16": "<H<e", "f32": "<I<f", "f64": "<Q<d"}[ptx_type]
    return struct.unpack(codes[2:], struct.pack(codes[:2], bits))[0]


def float_test(word: str, ptx_type: str, flush: bool) -> Test:
    def test(a: int, b: int) -> int:
        x, y = value(a, ptx_type, flush), value(b, ptx_type, flush)
        nan = math.isnan(x) or math.isnan(y)
        if word in ("num", "nan"):
            return int(nan == (word == "nan"))
        if nan:
            return int(word.endswith("u"))
        return int(ORDERED[word.removesuffix("u") if word not in ORDERED else word](x, y))

    return test


def combined(name: str, word: str) -> str:
    """Write how a test is combined where it belongs: of lt.ftz and ``and``, lt.and.ftz."""
    comparison, _, flush = name.partition(".")
    return ".".join(filter(None, (comparison, word, flush)))


def forms(name: str, ptx_type: str, test: Test, constants: str, edges: tuple[int, ...] | None) -> Iterator[Case]:
    """Write setp with one and with two destinations, alone and combined with a predicate."""
    x = LETTER[int(ptx_type.lstrip("bfsu"))]
    yield Case(f"setp.{name}.{ptx_type} {{d}}, {{a}}, {{b}};", f"p={x}{x}", test, constants, edges)
    if ptx_type in ("f16", "bf16"):  # one destination only
        for word, both in COMBINE.items():
            text = f"setp.{combined(name, word)}.{ptx_type} {{d}}, {{a}}, {{b}}, {{c}};"
            yield Case(text, f"p={x}{x}p", lambda a, b, c, both=both: both(test(a, b), c), constants, edges)
        return
    yield Case(
        f"setp.{name}.{ptx_type} {{d}}|{{e}}, {{a}}, {{b}};",
        f"pp={x}{x}",
        lambda a, b: (test(a, b), 1 - test(a, b)),
        constants,
        edges,
    )
    for word, both in COMBINE.items():
        text = f"setp.{combined(name, word)}.{ptx_type} {{d}}|{{e}}, {{a}}, {{b}}, "

        def pair(a: int, b: int, c: int, both: Callable[[int, int], int] = both) -> tuple[int, int]:
            return both(test(a, b), c), both(1 - test(a, b), c)

        yield Case(text + "{c};", f"pp={x}{x}p", pair, constants, edges)
        yield Case(text + "!{c};", f"pp={x}{x}p", lambda a, b, c, pair=pair: pair(a, b, 1 - c), constants, edges)


def integer_cases(width: int) -> list[Case]:
    """Every comparison of integers of a width, and the forms of one."""
    cases: list[Case] = []
    for t, words in (("b", ("eq", "ne")), ("u", (*ORDERED, *UNSIGNED)), ("s", tuple(ORDERED))):
        for word in words:
            cases += list(forms(word, f"{t}{width}", integer_test(word, f"{t}{width}"), "ab", None))[:1]
    return [*cases, *forms("lt", f"s{width}", integer_test("lt", f"s{width}"), "", None)]


def edges_of(ptx_type: str) -> tuple[int, ...]:
    return tuple(float_edges(ptx_type))


def float_cases(ptx_type: str) -> list[Case]:
    """Every comparison, and the forms of one."""
    edges, flags = edges_of(ptx_type), ("",) if ptx_type in ("f64", "bf16") else ("", ".ftz")
    cases: list[Case] = []
    for flag in flags:
        for word in FLOAT_WORDS:
            cases += list(forms(word + flag, ptx_type, float_test(word, ptx_type, bool(flag)), "", edges))[:1]
        cases += forms("ltu" + flag, ptx_type, float_test("ltu", ptx_type, bool(flag)), "", edges)
    return cases


def packed_cases(ptx_type: str) -> list[Case]:
    edges = tuple(low | high << 16 for low in edges_of(ptx_type) for high in edges_of(ptx_type)[::3])
    cases: list[Case] = []
    for word in FLOAT_WORDS:
        test = float_test(word, ptx_type, False)

        def halves(a: int, b: int, test: Test = test) -> tuple[int, int]:
            return test(a & 0xFFFF, b & 0xFFFF), test(a >> 16, b >> 16)

        def combined(a: int, b: int, c: int, halves: Callable[..., tuple[int, int]] = halves) -> tuple[int, int]:
            return halves(a, b)[0] ^ c, halves(a, b)[1] ^ c

        cases.append(Case(f"setp.{word}.{ptx_type}x2 {{d}}|{{e}}, {{a}}, {{b}};", "pp=rr", halves, "", edges))
        cases.append(
            Case(f"setp.{word}.xor.{ptx_type}x2 {{d}}|{{e}}, {{a}}, {{b}}, {{c}};", "pp=rrp", combined, "", edges)
        )
        for result, true in (("u32", 0xFFFF), (f"{ptx_type}x2", {"f16": 0x3C00, "bf16": 0x3F80}[ptx_type])):

            def masks(a: int, b: int, true: int = true, halves: Callable[..., tuple[int, int]] = halves) -> int:
                low, high = halves(a, b)
                return low * true | high * true << 16

            cases.append(Case(f"set.{word}.{result}.{ptx_type}x2 {{d}}, {{a}}, {{b}};", "r=rr", masks, "", edges))
    return cases


def set_cases() -> list[Case]:
    cases: list[Case] = []
    results = (("u32", "r", 0xFFFFFFFF), ("s32", "r", 0xFFFFFFFF), ("f32", "r", 0x3F800000))
    for result, d, true in results:
        for t in ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"):
            word = "eq" if t[0] == "b" else "lt"
            test = integer_test(word, t)
            x = letter(t)
            cases.append(
                Case(
                    f"set.{word}.{result}.{t} {{d}}, {{a}}, {{b}};",
                    f"{d}={x}{x}",
                    lambda a, b, test=test, true=true: test(a, b) * true,
                )
            )
        for t in ("f32", "f64", "f16", "bf16"):
            if result == "f32" and t in ("f16", "bf16"):
                continue  # no such form
            test, x = float_test("gtu", t, False), LETTER[int(t.lstrip("bf"))]

            def masked(a: int, b: int, c: int, test: Test = test, true: int = true) -> int:
                return (test(a, b) & c) * true

            cases.append(
                Case(f"set.gtu.and.{result}.{t} {{d}}, {{a}}, {{b}}, {{c}};", f"{d}={x}{x}p", masked, "", edges_of(t))
            )
    for result, true in (("u16", 0xFFFF), ("f16", 0x3C00), ("bf16", 0x3F80)):
        source = "bf16" if result == "bf16" else "f16"
        test = float_test("le", source, False)
        cases.append(
            Case(
                f"set.le.{result}.{source} {{d}}, {{a}}, {{b}};",
                "h=hh",
                lambda a, b, test=test, true=true: test(a, b) * true,
                "",
                edges_of(source),
            )
        )
    return cases


def slct_cases() -> list[Case]:
    cases: list[Case] = []
    for flag in ("", ".ftz"):
        test = float_test("ge", "f32", bool(flag))
        cases.append(
            Case(
                f"slct{flag}.u32.f32 {{d}}, {{a}}, {{b}}, {{c}};",
                "r=rrr",
                lambda a, b, c, test=test: a if test(c, 0) else b,
                "",
                edges_of("f32"),
            )
        )
    return cases


GROUPS: dict[str, Callable[[], list[Case]]] = {
    **{f"{n} bits": lambda n=n: integer_cases(n) for n in (16, 32, 64)},
    **{t: lambda t=t: float_cases(t) for t in FORMATS},
    **{f"{t}x2": lambda t=t: packed_cases(t) for t in ("f16", "bf16")},
    "set": set_cases,
    "slct": slct_cases,
}


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("group", GROUPS)
def test_against_python(group: str, uniform: bool) -> None:
    check(GROUPS[group](), uniform=uniform)
