"""Variables and parameters: ``.global .align 4 .u32 x[2] = {1, 2}, y;``.

Source: PTX ISA, "State Spaces, Types, and Variables".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import expressions, initializers
from .cursor import Cursor
from .syntax import SPACES, TYPE_BITS, Variable

#: Opaque types: texture units are not simulated.
_OPAQUE = (".texref", ".samplerref", ".surfref")
_SPACE_WORDS = frozenset(f".{space}" for space in SPACES)
_WIDTHS = {".v2": 2, ".v4": 4, ".v8": 8}
#: No variable is declared with the formats that only instructions know.
_TYPES = frozenset(
    [*(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)), "b128", "f16", "f16x2", "f32", "f64"]
)
_MOST_DIMENSIONS = 32
_LARGEST = 1 << 40


@dataclass(slots=True)
class Kind:
    """What stands in front of the names: alignment, width and type.

    Attributes
    ----------
    align
        Bytes, or 0 when the type decides.
    """

    space: str
    type: str = ""
    width: int = 1
    align: int = 0
    managed: bool = False


def kind(cursor: Cursor, space: str) -> Kind:
    """Read the words between the state space and the first name."""
    result = Kind(space)
    while cursor.kind == "dotted":
        _kind_word(cursor, result)
    if not result.type:
        cursor.wrong("a type")
    return result


def _kind_word(cursor: Cursor, result: Kind) -> None:
    word = cursor.text
    if word in _OPAQUE:
        cursor.fail(f"{word[1:]}: textures, samplers and surfaces are not simulated")
    cursor.at += 1
    if word == ".align":
        result.align = _alignment(cursor)
    elif word == ".attribute":
        result.managed = attributes(cursor)
    elif word == ".ptr" and result.space == "param":
        _pointer(cursor)
    elif word in _WIDTHS and not result.type:
        result.width = _WIDTHS[word]
    elif word[1:] in _types(result.space) and not result.type:
        result.type = word[1:]
    else:
        cursor.at -= 1
        cursor.wrong("a type, .align or a name")


def _types(space: str) -> frozenset[str]:
    return _TYPES | {"pred"} if space == "reg" else _TYPES


def _alignment(cursor: Cursor) -> int:
    at, value = cursor.at, expressions.whole(cursor)
    if value <= 0 or value & (value - 1) or value > 1 << 20:
        cursor.fail(f".align {value} is not a power of two", at)
    return value


def attributes(cursor: Cursor) -> bool:
    """Read ``(.managed)`` or ``(.unified(1, 2))``; tell whether the variable is managed."""
    cursor.expect("(")
    managed = False
    while not cursor.take(")"):
        word = cursor.next_of("dotted", "an attribute")
        if word not in (".managed", ".unified"):
            cursor.fail(f"unknown attribute {word}", cursor.at - 1)
        managed = managed or word == ".managed"
        if word == ".unified":
            cursor.expect("(")
            cursor.skip_past(")")
        cursor.take(",")
    return managed


def _pointer(cursor: Cursor) -> None:
    """Read what ``.ptr`` says of the memory pointed at; it changes nothing of the parameter."""
    if cursor.text in _SPACE_WORDS:
        cursor.at += 1
    if cursor.take(".align"):
        _alignment(cursor)


def declarators(cursor: Cursor, kind_: Kind, linkage: str = "") -> Iterator[tuple[int, Variable]]:
    """Read ``x, y[4] = {…};``: every name's token and variable."""
    while True:
        at = cursor.at
        yield at, _declarator(cursor, kind_, linkage)
        if cursor.take(";"):
            return
        cursor.expect(",")


def parameters(cursor: Cursor) -> tuple[tuple[int, Variable], ...]:
    """Read ``.param .u64 a, .reg .b32 b)`` behind the opening parenthesis."""
    found: list[tuple[int, Variable]] = []
    while not cursor.take(")"):
        if found:
            cursor.expect(",")
        space = cursor.next_of("dotted", ".param or .reg")
        if space not in (".param", ".reg"):
            cursor.fail(f"a parameter is .param or .reg, not {space}", cursor.at - 1)
        kind_ = kind(cursor, space[1:])
        at = cursor.at
        found.append((at, _declarator(cursor, kind_, "")))
    return tuple(found)


def _declarator(cursor: Cursor, kind_: Kind, linkage: str) -> Variable:
    line, name = cursor.line, cursor.next_of("word", "a name")
    at, dimensions = cursor.at, _dimensions(cursor)
    filling = None
    if cursor.take("="):
        filling = _initial(cursor, kind_, dimensions)
    size = _size(kind_, dimensions, filling)
    if not size and linkage != "extern" and kind_.space != "param":
        cursor.fail(f"{name} has no size: only an .extern variable leaves it open", at)
    if size > _LARGEST:
        cursor.fail(f"{name} is too large: {size} bytes", at)
    return Variable(
        kind_.space,
        name,
        kind_.type,
        size,
        kind_.align or max(1, TYPE_BITS[kind_.type] // 8) * kind_.width,
        filling.data() if filling else b"",
        tuple(filling.relocations) if filling else (),
        linkage,
        kind_.managed,
        line,
    )


def _dimensions(cursor: Cursor) -> list[int]:
    """Read ``[2][3]``; ``[]`` gives 0."""
    found: list[int] = []
    while cursor.take("["):
        at = cursor.at
        size = 0 if cursor.text == "]" else expressions.whole(cursor)
        if size < 0 or len(found) == _MOST_DIMENSIONS or (found and not size):
            cursor.fail("wrong array dimension", at)
        cursor.expect("]")
        found.append(size)
    return found


def _initial(cursor: Cursor, kind_: Kind, dimensions: list[int]) -> initializers.Filling:
    if kind_.space not in ("global", "const"):
        cursor.fail(f"a .{kind_.space} variable cannot have initial values")
    vector = [kind_.width] if kind_.width > 1 else []
    return initializers.read(cursor, kind_.type, [*dimensions, *vector])


def _size(kind_: Kind, dimensions: list[int], filling: initializers.Filling | None) -> int:
    element = max(1, TYPE_BITS[kind_.type] // 8)
    if filling is not None and dimensions and not dimensions[0]:
        return filling.end * element
    size = element * kind_.width
    for dimension in dimensions:
        size *= dimension
    return size
