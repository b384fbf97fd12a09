"""The initial bytes of variables: ``= 7``, ``= {1, {2, 3}}``, ``= generic(x) + 4``, ``= {0xFF(x), 0xFF00(x), …}``.

Source: PTX ISA, "Initializers" (mask operator, generic operator).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from . import constants, expressions
from .cursor import Cursor
from .syntax import TYPE_BITS, Float, Relocation

#: Types whose initial values are floating constants; the packed and half ones take none.
FLOATS = ("f16", "f16x2", "f32", "f64")


@dataclass(slots=True)
class Filling:
    """The bytes written so far, and the addresses among them.

    Attributes
    ----------
    type
        The element's type.
    strides
        Elements that one entry of each brace level stands for, outermost first.
    """

    type: str
    strides: tuple[int, ...]
    values: dict[int, bytes] = field(default_factory=dict[int, bytes])
    relocations: list[Relocation] = field(default_factory=list[Relocation])
    end: int = 0

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return TYPE_BITS[self.type] // 8

    def data(self) -> bytes:
        """Give the bytes up to the last one written; what was left out is zero."""
        image = bytearray(self.end * self.size)
        for place, value in self.values.items():
            image[place * self.size : (place + 1) * self.size] = value
        return b"" if not any(image) and not self.relocations else bytes(image)


def read(cursor: Cursor, type_: str, dimensions: list[int]) -> Filling:
    """Read what follows ``=``. A first dimension of 0 (``x[]``) is as long as needed."""
    strides = tuple(_product(dimensions[level + 1 :]) for level in range(len(dimensions)))
    filling = Filling(type_, strides)
    if dimensions:
        cursor.expect("{")
        _level(cursor, filling, dimensions, 0, 0)
    else:
        _element(cursor, filling, 0)
        filling.end = 1
    return filling


def _product(numbers: list[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


def _level(cursor: Cursor, filling: Filling, dimensions: list[int], level: int, first: int) -> None:
    """Read the entries of one brace, which begins at element ``first``."""
    place, stride = first, filling.strides[level]
    limit = first + dimensions[level] * stride if dimensions[level] else None
    while not cursor.take("}"):
        if place > first:
            cursor.expect(",")
        if limit is not None and place >= limit:
            cursor.fail("more initial values than the array has elements")
        if level + 1 < len(dimensions) and cursor.text != "{":
            cursor.fail("an inner dimension of the array needs braces of its own")
        if cursor.take("{"):
            place = _nested(cursor, filling, dimensions, level, place)
        else:
            _element(cursor, filling, place)
            place += 1
        filling.end = max(filling.end, place)


def _nested(cursor: Cursor, filling: Filling, dimensions: list[int], level: int, place: int) -> int:
    if level + 1 == len(dimensions):
        cursor.fail("the initial values have more levels than the array has dimensions")
    _level(cursor, filling, dimensions, level + 1, place)
    return place + filling.strides[level]


def _element(cursor: Cursor, filling: Filling, place: int) -> None:
    if cursor.kind == "word" and cursor.text not in expressions.NAMED:
        at = cursor.at
        if filling.size < 8:
            cursor.fail(f"an address does not fit into .{filling.type}", at)
        filling.relocations.append(_address(cursor, place * filling.size, filling.size))
        return
    at = cursor.at
    if cursor.kind == "number" and cursor.texts[cursor.at + 1] == "(":
        _masked(cursor, filling, place)
        return
    filling.values[place] = encode(cursor, at, expressions.expression(cursor), filling.type)


def _address(cursor: Cursor, at: int, size: int) -> Relocation:
    generic = cursor.text == "generic" and cursor.texts[cursor.at + 1] == "("
    if generic:
        cursor.at += 2
    name, offset = cursor.name(), _offset(cursor)
    if generic:
        cursor.expect(")")
        offset += _offset(cursor)
    return Relocation(at, name, offset, size, generic)


def _offset(cursor: Cursor) -> int:
    return expressions.whole(cursor) if cursor.take("+") else 0


def _masked(cursor: Cursor, filling: Filling, place: int) -> None:
    """Read ``0xFF00(x)``: byte 1 of the address of x. Bytes in a row make one relocation."""
    at = cursor.at
    mask = constants.number(cursor)
    cursor.expect("(")
    whole = _address(cursor, place, 1)
    cursor.expect(")")
    shift = _byte_of(mask.value) if isinstance(mask, constants.Whole) else None
    if filling.size != 1 or shift is None:
        cursor.fail("a mask of an address selects one byte of it, for an element of one byte", at)
    if shift == 0:
        filling.relocations.append(whole)
        return
    last = filling.relocations[-1] if filling.relocations else None
    if last is None or replace(last, at=place, size=1) != whole or (last.size, last.at + shift) != (shift, place):
        cursor.fail("the bytes of an address must be initialised in a row, from the lowest", at)
    filling.relocations[-1] = replace(last, size=shift + 1)


def _byte_of(mask: int) -> int | None:
    return next((byte for byte in range(8) if mask & (1 << 64) - 1 == 0xFF << 8 * byte), None)


def encode(cursor: Cursor, at: int, value: constants.Constant, type_: str) -> bytes:
    """Give the bytes of a constant in a variable of this type: integers in integers, floats in floats, both in bits."""
    size = TYPE_BITS[type_] // 8
    if isinstance(value, Float):
        return _float_bytes(cursor, at, value, type_, size)
    if type_ in FLOATS:
        cursor.fail(f"an integer does not initialise .{type_}: write it with a point, or as 0f…, 0d…", at)
    return (value.value & (1 << 8 * size) - 1).to_bytes(size, "little")


def _float_bytes(cursor: Cursor, at: int, value: Float, type_: str, size: int) -> bytes:
    if type_ not in ("b32", "b64", "f32", "f64"):
        cursor.fail(f"a floating constant does not initialise .{type_}", at)
    if value.single and size == 8 and type_ == "f64":
        return constants.round_to(value, "<d")
    if value.single:
        return value.bits.to_bytes(size, "little")
    return constants.round_to(value, "<f" if size == 4 else "<d")
