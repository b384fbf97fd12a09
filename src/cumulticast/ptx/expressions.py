"""Constant expressions: what PTX computes before any instruction runs.

An operation with an unsigned operand is unsigned. Source: PTX ISA, "Integer Constant Expression Evaluation".
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from . import constants
from .constants import BITS64, Constant, Whole, wrap
from .cursor import Cursor
from .syntax import Float

#: PTX defines one name: the lanes of a warp.
NAMED = {"WARP_SZ": 32}

_DEEPEST = 64

_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)

_LEVEL_OF = {mark: level for level, marks in enumerate(_LEVELS) for mark in marks}


def expression(cursor: Cursor, depth: int = 0) -> Constant:
    """Read a constant expression, ``a ? b : c`` included."""
    if depth > _DEEPEST:
        cursor.fail("a constant expression is nested too deeply")
    condition = _binary(cursor, 0, depth)
    if not cursor.take("?"):
        return condition
    yes = expression(cursor, depth + 1)
    cursor.expect(":")
    no = expression(cursor, depth + 1)
    return yes if _truth(condition) else no


def whole(cursor: Cursor) -> int:
    """Read a constant expression that must be an integer."""
    at = cursor.at
    value = expression(cursor)
    if isinstance(value, Float):
        cursor.fail("an integer is needed here, not a floating constant", at)
    return value.value


def begins(cursor: Cursor) -> bool:
    """Tell whether a constant expression comes next."""
    return cursor.kind == "number" or cursor.text in _UNARY or cursor.text == "(" or cursor.text in NAMED


def _binary(cursor: Cursor, level: int, depth: int) -> Constant:
    left = _unary(cursor, depth)
    while _LEVEL_OF.get(cursor.text, -1) >= level:
        at, mark = cursor.at, cursor.text
        cursor.at += 1
        if depth > _DEEPEST:
            cursor.fail("a constant expression is nested too deeply")
        right = _binary(cursor, _LEVEL_OF[mark] + 1, depth + 1)
        left = _apply(cursor, at, mark, left, right)
    return left


def _unary(cursor: Cursor, depth: int) -> Constant:
    if depth > _DEEPEST:
        cursor.fail("a constant expression is nested too deeply")
    mark, at = cursor.text, cursor.at
    if mark in _UNARY:
        cursor.at += 1
        return _UNARY[mark](cursor, at, _unary(cursor, depth + 1))
    if mark == "(":
        cursor.at += 1
        return _cast_or_group(cursor, depth)
    if mark in NAMED:
        cursor.at += 1
        return Whole(NAMED[mark])
    return constants.number(cursor)


def _cast_or_group(cursor: Cursor, depth: int) -> Constant:
    cast = cursor.text
    if cast in (".s64", ".u64"):
        cursor.at += 1
        cursor.expect(")")
        at, value = cursor.at, _unary(cursor, depth + 1)
        return wrap(_need_whole(cursor, at, value).value, unsigned=cast == ".u64")
    value = expression(cursor, depth + 1)
    cursor.expect(")")
    return value


def _need_whole(cursor: Cursor, at: int, value: Constant) -> Whole:
    if isinstance(value, Float):
        cursor.fail("an integer is needed here, not a floating constant", at)
    return value


def _truth(value: Constant) -> bool:
    return bool(constants.as_double(value)) if isinstance(value, Float) else value.value != 0


def _negate(cursor: Cursor, at: int, value: Constant) -> Constant:
    if isinstance(value, Float):
        return Float(value.bits ^ (1 << 31 if value.single else 1 << 63), value.single)
    return wrap(-value.value, value.unsigned)


_UNARY: dict[str, Callable[[Cursor, int, Constant], Constant]] = {
    "+": lambda cursor, at, value: value,
    "-": _negate,
    "~": lambda cursor, at, value: wrap(~_need_whole(cursor, at, value).value, unsigned=True),
    "!": lambda cursor, at, value: Whole(int(not _truth(value))),
}


def _apply(cursor: Cursor, at: int, mark: str, left: Constant, right: Constant) -> Constant:
    if isinstance(left, Float) and isinstance(right, Float):
        return _float_apply(cursor, at, mark, constants.as_double(left), constants.as_double(right))
    a, b = _need_whole(cursor, at, left), _need_whole(cursor, at, right)
    if mark in ("/", "%"):
        return _divide(cursor, at, mark, a, b)
    if mark in ("<<", ">>"):
        return _shift(mark, a, b.value & BITS64)
    unsigned = a.unsigned or b.unsigned
    x, y = (a.value & BITS64, b.value & BITS64) if unsigned else (a.value, b.value)
    if mark in _COMPARISONS:
        return Whole(int(_COMPARISONS[mark](x, y)))
    return wrap(_INTEGER[mark](x, y), unsigned)


def _shift(mark: str, value: Whole, count: int) -> Whole:
    count = min(count, 64)
    return wrap(value.value << count if mark == "<<" else value.value >> count, value.unsigned)


def _divide(cursor: Cursor, at: int, mark: str, a: Whole, b: Whole) -> Whole:
    if b.value == 0:
        cursor.fail("a constant expression divides by zero", at)
    unsigned = a.unsigned or b.unsigned
    x, y = (a.value & BITS64, b.value & BITS64) if unsigned else (a.value, b.value)
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return wrap(quotient if mark == "/" else x - quotient * y, unsigned)


def _float_apply(cursor: Cursor, at: int, mark: str, x: float, y: float) -> Constant:
    if mark in _COMPARISONS:
        return Whole(int(_COMPARISONS[mark](x, y)))
    if mark == "/":
        return constants.decimal(x / y if y else math.copysign(math.inf, x) * math.copysign(1.0, y) if x else math.nan)
    if mark not in _FLOAT:
        cursor.fail(f"{mark} is not defined for floating constants", at)
    return constants.decimal(_FLOAT[mark](x, y))


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "&&": lambda x, y: bool(x) and bool(y),
    "||": lambda x, y: bool(x) or bool(y),
}

_INTEGER: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
}

_FLOAT: dict[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
