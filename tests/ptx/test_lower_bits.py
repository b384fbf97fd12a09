"""Counting bits, bit fields, prmt, dot products and carries against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from grouped import Case, check
from integer_model import LETTER, bits, letter, number, width

PLACES = (*range(70), 127, 128, 254, 255, 256, 257, 1 << 31, (1 << 32) - 1)
NONE = 0xFFFFFFFF


def highest(value: int, ptx_type: str) -> int:
    """The place of the highest bit that is no copy of the sign; -1 of none."""
    signed = number(value, ptx_type)
    return (signed if signed >= 0 else ~signed).bit_length() - 1


def counts() -> list[Case]:
    cases: list[Case] = []
    for n in (32, 64):
        x = LETTER[n]
        cases.append(Case(f"popc.b{n} {{d}}, {{a}};", f"r={x}", lambda a: bin(a).count("1")))
        cases.append(Case(f"clz.b{n} {{d}}, {{a}};", f"r={x}", lambda a, n=n: n - a.bit_length()))
        cases.append(Case(f"brev.b{n} {{d}}, {{a}};", f"{x}={x}", lambda a, n=n: int(f"{a:0{n}b}"[::-1], 2)))
        for t in (f"u{n}", f"s{n}"):

            def amount(a: int, t: str = t) -> int:
                return NONE if highest(a, t) < 0 else width(t) - 1 - highest(a, t)

            cases.append(Case(f"bfind.{t} {{d}}, {{a}};", f"r={x}", lambda a, t=t: highest(a, t) % (1 << 32)))
            cases.append(Case(f"bfind.shiftamt.{t} {{d}}, {{a}};", f"r={x}", amount))
    return cases


def nth(mask: int, base: int, offset: int) -> int:
    """fns as the PTX ISA's program has it."""
    offset = number(offset, "s32")
    if offset == 0:
        return base if mask >> base & 1 else NONE
    step, left, place = (1 if offset > 0 else -1), abs(offset), base
    while 0 <= place < 32:
        left -= mask >> place & 1
        if left == 0:
            return place
        place += step
    return NONE


def finds() -> list[Case]:
    beyond = Case(
        "{{ .reg .b32 %far; or.b32 %far, {b}, 32; fns.b32 {d}, {a}, %far, {c}; }}", "r=rrr", lambda a, b, c: NONE, ""
    )
    text = "and.b32 {d}, {b}, 31; fns.b32 {d}, {a}, {d}, {c};"
    offsets = (0, 1, 2, 3, 4, 8, 15, 31, 32, 33, NONE, NONE - 1, NONE - 2, NONE - 7, NONE - 31, NONE - 32, 1 << 31)
    return [
        beyond,
        Case(text, "r=rrr", lambda a, b, c: nth(a, b & 31, c), "abc", offsets),
        Case(
            "{{ .reg .b32 %small; and.b32 %small, {c}, 7; fns.b32 {d}, {a}, 0, %small; }}",
            "r=rrr",
            lambda a, _, c: nth(a, 0, c & 7),
            "",
        ),
        Case(
            "{{ .reg .b32 %few; or.b32 %few, {c}, -8; fns.b32 {d}, {a}, 31, %few; }}",
            "r=rrr",
            lambda a, _, c: nth(a, 31, c | NONE - 7),
            "",
        ),
    ]


def extent(value: int, n: int) -> int:
    """A place or a length: 8 bits of it as the ISA says; all of it in words of 64 bits, as recorded on an H200."""
    return value & 0xFF if n == 32 else min(value, 64)


def extracted(a: int, place: int, length: int, ptx_type: str) -> int:
    """bfe as the PTX ISA's program has it."""
    top, place, length = width(ptx_type) - 1, extent(place, width(ptx_type)), extent(length, width(ptx_type))
    sign = 0 if ptx_type[0] == "u" or length == 0 else a >> min(place + length - 1, top) & 1
    return sum((a >> place + i & 1 if i < length and place + i <= top else sign) << i for i in range(top + 1))


def inserted(a: int, b: int, place: int, length: int, n: int) -> int:
    """bfi as the PTX ISA's program has it."""
    place, length = extent(place, n), extent(length, n)
    for i in range(length):
        if place + i < n:
            b = b & ~(1 << place + i) | (a >> i & 1) << place + i
    return b


def fields() -> list[Case]:
    cases: list[Case] = []
    for n in (32, 64):
        x = LETTER[n]
        for t in (f"u{n}", f"s{n}"):
            cases.append(
                Case(
                    f"bfe.{t} {{d}}, {{a}}, {{b}}, {{c}};",
                    f"{x}={x}rr",
                    lambda a, b, c, t=t: extracted(a, b, c, t),
                    "bc",
                    PLACES,
                )
            )
        cases.append(
            Case(
                f"bfi.b{n} {{d}}, {{a}}, {{b}}, {{c}}, {{x}};",
                f"{x}={x}{x}rr",
                lambda a, b, c, d, n=n: inserted(a, b, c, d, n),
                "cx",
                PLACES,
            )
        )
    return cases


def mask_of(a: int, b: int, mode: str) -> int:
    """bmsk as the PTX ISA's program has it."""
    low, total = a & 31, (a & 31) + (b & 31)
    below = NONE << low & NONE
    beyond = NONE << total & NONE if total < 32 else 0
    if mode == "clamp" and a >= 32:
        below = 0
    if mode == "clamp" and b >= 32:
        beyond = 0
    return below & ~beyond & NONE


def extended(a: int, b: int, mode: str, ptx_type: str) -> int:
    """szext as the PTX ISA's program has it."""
    length = b & 31
    mask = 0 if mode == "clamp" and b >= 32 else NONE << length & NONE
    sign = ptx_type == "s32" and mask and length and a >> length - 1 & 1
    return a & ~mask | mask if sign else a & ~mask


def masks() -> list[Case]:
    cases: list[Case] = []
    for mode in ("clamp", "wrap"):
        cases.append(
            Case(
                f"bmsk.{mode}.b32 {{d}}, {{a}}, {{b}};",
                "r=rr",
                lambda a, b, mode=mode: mask_of(a, b, mode),
                edges=PLACES,
            )
        )
        for t in ("u32", "s32"):
            cases.append(
                Case(
                    f"szext.{mode}.{t} {{d}}, {{a}}, {{b}};",
                    "r=rr",
                    lambda a, b, mode=mode, t=t: extended(a, b, mode, t),
                    edges=PLACES,
                )
            )
    return cases


#: PTX ISA, prmt: the bytes of d (3, 2, 1, 0) for c = 0 … 3.
PRMT = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def chosen(a: int, b: int, selector: int) -> int:
    data = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    out = [(data[s & 7] if s < 8 else 0xFF * (data[s & 7] >> 7)) for s in (selector >> 4 * i & 15 for i in range(4))]
    return int.from_bytes(bytes(out), "little")


def permutations() -> list[Case]:
    selectors = (0x5410, 0x7632, 0x0123, 0x3210, 0x7654, 0xFEDC, 0x8888, 0xBA98, 0x4404, 0xF0F7, 0x1032, 0xFFFF3210)
    cases = [Case("prmt.b32 {d}, {a}, {b}, {c};", "r=rrr", chosen, "c", selectors)] * 4
    for mode, rows in PRMT.items():

        def model(a: int, b: int, c: int, rows: tuple[str, ...] = rows) -> int:
            return chosen(a, b, int(rows[c & 3], 16))

        cases.append(Case(f"prmt.b32.{mode} {{d}}, {{a}}, {{b}}, {{c}};", "r=rrr", model, "c", (0, 1, 2, 3)))
    return cases


def parts(value: int, size: int, signed: bool) -> list[int]:
    return [
        int.from_bytes(value.to_bytes(4, "little")[i : i + size], "little", signed=signed) for i in range(0, 4, size)
    ]


def dots() -> list[Case]:
    cases: list[Case] = []
    for x in ("u32", "s32"):
        for y in ("u32", "s32"):

            def dot(a: int, b: int, c: int, size: int, first: int, x: str = x, y: str = y) -> int:
                left, right = parts(a, size, x == "s32"), parts(b, 1, y == "s32")[first:]
                return bits(c + sum(p * q for p, q in zip(left, right, strict=False)), "u32")

            for name, size, first in (("dp4a", 1, 0), ("dp2a.lo", 2, 0), ("dp2a.hi", 2, 2)):
                cases.append(
                    Case(
                        f"{name}.{x}.{y} {{d}}, {{a}}, {{b}}, {{c}};",
                        "r=rrr",
                        lambda a, b, c, dot=dot, size=size, first=first: dot(a, b, c, size, first),
                    )
                )
    return cases


def carries(t: str) -> list[Case]:
    """Chains: each case begins with an instruction that sets the carry, and ends by looking at it."""
    x, n = letter(t), width(t)
    top = 1 << n

    def added(a: int, b: int, c: int) -> tuple[int, int]:
        total = a + b
        return total % top, (c + c + total // top) % top

    def twice(a: int, b: int, c: int) -> tuple[int, int]:
        total = a + b + top * (c + b)
        return total // top % top, total // top // top

    def taken(a: int, b: int, c: int) -> tuple[int, int]:
        borrow = int(a < b)
        total = c - b - borrow
        return total % top, (0 - int(total < 0)) % top

    def after_sub(a: int, b: int, c: int) -> tuple[int, int]:
        return (a - b) % top, (c + int(a >= b)) % top  # recorded on an H200: no borrow is a carry

    def after_add(a: int, b: int, c: int) -> tuple[int, int]:
        return (a + b) % top, (c - int(a + b < top)) % top  # and no carry a borrow

    shape = f"{x}{x}={x}{x}{x}"
    return [
        Case(f"add.cc.{t} {{d}}, {{a}}, {{b}}; addc.{t} {{e}}, {{c}}, {{c}};", shape, added, "b"),
        Case(
            f"add.cc.{t} {{d}}, {{a}}, {{b}}; addc.cc.{t} {{d}}, {{c}}, {{b}}; addc.{t} {{e}}, 0, 0;", shape, twice, "b"
        ),
        Case(
            f"sub.cc.{t} {{d}}, {{a}}, {{b}}; subc.cc.{t} {{d}}, {{c}}, {{b}}; subc.{t} {{e}}, 0, 0;", shape, taken, "b"
        ),
        Case(f"sub.cc.{t} {{d}}, {{a}}, {{b}}; addc.{t} {{e}}, {{c}}, 0;", shape, after_sub, "b"),
        Case(f"add.cc.{t} {{d}}, {{a}}, {{b}}; subc.{t} {{e}}, {{c}}, 0;", shape, after_add, "b"),
        *multiplied(t),
    ]


def multiplied(t: str) -> list[Case]:
    x, n = letter(t), width(t)
    top = 1 << n
    cases: list[Case] = []
    for which in ("lo", "hi"):

        def part(a: int, b: int, which: str = which) -> int:
            product = number(a, t) * number(b, t)
            return (product if which == "lo" else product >> n) % top

        def begun(a: int, b: int, c: int, part: Callable[[int, int], int] = part) -> tuple[int, int]:
            total = part(a, b) + c
            return total % top, total // top

        def gone_on(a: int, b: int, c: int, part: Callable[[int, int], int] = part) -> tuple[int, int]:
            carry = (part(a, b) + c) // top
            total = part(a, c) + b + carry
            return total % top, (part(b, c) + a + total // top) % top

        first = f"mad.{which}.cc.{t} {{d}}, {{a}}, {{b}}, {{c}};"
        cases.append(Case(f"{first} addc.{t} {{e}}, 0, 0;", f"{x}{x}={x}{x}{x}", begun, "b"))
        text = f"{first} madc.{which}.cc.{t} {{d}}, {{a}}, {{c}}, {{b}}; madc.{which}.{t} {{e}}, {{b}}, {{c}}, {{a}};"
        cases.append(Case(text, f"{x}{x}={x}{x}{x}", gone_on, "b"))
    return cases


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("cases", [counts, finds, fields, masks, permutations, dots])
def test_against_python(cases: Callable[[], list[Case]], uniform: bool) -> None:
    check(cases(), uniform=uniform)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("ptx_type", ["u32", "s32", "u64", "s64"])
def test_carries_against_python(ptx_type: str, uniform: bool) -> None:
    check(carries(ptx_type), uniform=uniform)
