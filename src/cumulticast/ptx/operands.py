"""Operands of instructions: tokens to values, names to what they mean at their place.

Source: PTX ISA, chapter "Instruction Operands".
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

from . import expressions
from .cursor import Cursor, shorten
from .scopes import Binding, Scope
from .specials import SPECIAL_TYPES, SPECIAL_VECTORS
from .syntax import (
    TYPE_BITS,
    Address,
    Float,
    Integer,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)

_COMPONENTS = {".x": 0, ".y": 1, ".z": 2, ".w": 3, ".r": 0, ".g": 1, ".b": 2, ".a": 3}
_SINK = Sink()


def operand(cursor: Cursor, scope: Scope) -> Operand:
    """Read one operand, ``a|b`` included."""
    first = _single(cursor, scope)
    if cursor.texts[cursor.at] != "|":
        return first
    cursor.at += 1
    return Pair(first, _single(cursor, scope))


def guard(cursor: Cursor, scope: Scope) -> tuple[Register, bool]:
    """Read what follows ``@``: the predicate, and whether it is inverted."""
    inverted = cursor.take("!")
    return _register(cursor, scope), inverted


def sequence(cursor: Cursor, scope: Scope, close: str) -> Vector:
    """Read ``a, b, …`` up to the closing mark."""
    elements: list[Operand] = []
    while not cursor.take(close):
        if elements:
            cursor.expect(",")
        elements.append(_element(cursor, scope))
    return Vector(tuple(elements))


def _single(cursor: Cursor, scope: Scope) -> Operand:
    if cursor.kinds[cursor.at] == "word":
        return _named(cursor, scope)
    mark = cursor.text
    if mark == "[":
        cursor.at += 1
        return _address(cursor, scope)
    if mark == "{":
        cursor.at += 1
        return sequence(cursor, scope, "}")
    if mark == "!" and cursor.kinds[cursor.at + 1] == "word":
        cursor.at += 1
        return Negated(_register(cursor, scope))
    return constant(cursor)


def _element(cursor: Cursor, scope: Scope) -> Operand:
    """Read a place of a list: anything but another list."""
    if cursor.text in ("{", "["):
        cursor.wrong("a register, a constant or a name")
    return _single(cursor, scope)


def constant(cursor: Cursor) -> Integer | Float:
    """Read a constant expression as an operand."""
    if not expressions.begins(cursor):
        cursor.wrong("an operand")
    value = expressions.expression(cursor)
    return value if isinstance(value, Float) else Integer(value.value)


def _named(cursor: Cursor, scope: Scope) -> Operand:
    name = cursor.texts[cursor.at]
    binding = scope.find(name, cursor.at)
    if binding is None:
        return _unbound(cursor, scope, name)
    cursor.at += 1
    target = binding.target
    if isinstance(target, Register):
        if cursor.kind == "dotted":
            cursor.fail(f"selector {shorten(cursor.text)} of {shorten(name)}: is not simulated")
        return target
    if isinstance(target, Vector):
        return _component(cursor, target)
    return _symbol(cursor, target, binding.variable)


def _unbound(cursor: Cursor, scope: Scope, name: str) -> Operand:
    if name == "_":
        cursor.at += 1
        return _SINK
    if name in expressions.NAMED:
        return constant(cursor)
    if name in SPECIAL_VECTORS:
        return _special_vector(cursor, name)
    if name in SPECIAL_TYPES:
        cursor.at += 1
        return Special(name)
    undeclared(cursor, scope, name)


def undeclared(cursor: Cursor, scope: Scope, name: str) -> NoReturn:
    """Raise the error for a name that means nothing here, with the nearest one that does."""
    near = difflib.get_close_matches(name, list(islice(scope.known(), 2000)), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    cursor.fail(f"unknown symbol {name!r}: no register, variable, function or label of that name{hint}")


def _special_vector(cursor: Cursor, name: str) -> Operand:
    cursor.at += 1
    if cursor.kind != "dotted":
        return Vector(tuple(Special(f"{name}.{axis}") for axis in "xyzw"))
    component = Special(name + cursor.text)
    if component.name not in SPECIAL_TYPES:
        cursor.wrong(f"a component of {name}: .x, .y or .z")
    cursor.at += 1
    return component


def _component(cursor: Cursor, vector: Vector) -> Operand:
    if cursor.kind != "dotted":
        return vector
    index = _COMPONENTS.get(cursor.text, 4)
    if index >= len(vector.elements):
        cursor.wrong("a component of the vector")
    cursor.at += 1
    return vector.elements[index]


def _register(cursor: Cursor, scope: Scope) -> Register:
    at, found = cursor.at, _named(cursor, scope) if cursor.kind == "word" else None
    if not isinstance(found, Register):
        cursor.at = at
        cursor.wrong("a predicate register")
    return found


def _symbol(cursor: Cursor, symbol: Symbol, variable: Variable | None) -> Symbol:
    """Read what may follow a symbol: ``+ 8``, ``[3]`` (an index of elements)."""
    if cursor.text == "[" and variable is not None:
        cursor.at += 1
        index = expressions.whole(cursor)
        cursor.expect("]")
        return Symbol(symbol.name, index * (TYPE_BITS.get(variable.type, 8) // 8))
    offset = _offset(cursor)
    return Symbol(symbol.name, offset) if offset else symbol


def _offset(cursor: Cursor) -> int:
    """Read ``+ 8``; ``- 8`` is written ``+ -8``."""
    return expressions.whole(cursor) if cursor.take("+") else 0


def _address(cursor: Cursor, scope: Scope) -> Address:
    if cursor.kind != "word" or cursor.text in expressions.NAMED:
        base: Register | Symbol | Integer = Integer(expressions.whole(cursor))
        offset = 0
    else:
        base, offset = _base(cursor, scope)
    cursor.expect("]")
    return Address(base, offset)


def _base(cursor: Cursor, scope: Scope) -> tuple[Register | Symbol, int]:
    at, found = cursor.at, _named(cursor, scope)
    if isinstance(found, Register):
        return found, _offset(cursor)
    if not isinstance(found, Symbol):
        cursor.at = at
        cursor.wrong("a register, a variable or a number as address")
    return Symbol(found.name), found.offset


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction that stands somewhere in a body, not read yet: its first token and the block it is in."""

    at: int
    scope: Scope


def label_at(cursor: Cursor, scope: Scope) -> Binding:
    """Read a name that must mean a label or a function."""
    binding = scope.find(cursor.text, cursor.at) if cursor.kind == "word" else None
    if binding is None or not isinstance(binding.target, Symbol):
        cursor.wrong("a label or a function")
    cursor.at += 1
    return binding
