"""Constants as they are written: 12, 0x1FU, 0b101, 0f3F800000, 1.5e3.

Integers have 64 bits: a value that needs its highest bit, or carries a U, is unsigned. Source: PTX ISA, "Constants".
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from .cursor import Cursor, shorten
from .syntax import Float

BITS64 = (1 << 64) - 1
_LONGEST = 400  # characters of one number: more digits change no bit of a double


@dataclass(frozen=True, slots=True)
class Whole:
    """A 64-bit integer value, and whether the language takes it as unsigned."""

    value: int
    unsigned: bool = False


Constant = Whole | Float


def wrap(value: int, unsigned: bool) -> Whole:
    """Bring a result back to 64 bits."""
    value &= BITS64
    return Whole(value if unsigned or value < 1 << 63 else value - (1 << 64), unsigned)


def number(cursor: Cursor) -> Constant:
    """Read one literal: 12, 12U, 014, 0x1F, 0b101, 0f3F800000, 0d…, 1.5, 1e5."""
    text = cursor.next_of("number", "a number")
    if len(text) > _LONGEST:
        cursor.fail(f"the constant {shorten(text)} has too many digits", cursor.at - 1)
    head = text[:2].lower()
    if head == "0f":
        return Float(int(text[2:], 16), single=True)
    if head == "0d":
        return Float(int(text[2:], 16), single=False)
    if head not in ("0x", "0b") and not text.rstrip("U").isdigit():
        return decimal(float(text))
    return _integer(cursor, text)


def count(cursor: Cursor) -> int:
    """Read one integer literal, where no expression may stand."""
    value = number(cursor)
    if isinstance(value, Float):
        cursor.fail("an integer is needed here, not a floating constant", cursor.at - 1)
    return value.value


def decimal(value: float) -> Float:
    """Give a decimal constant's 64-bit pattern."""
    return Float(int.from_bytes(struct.pack("<d", value), "little"), single=False)


def _integer(cursor: Cursor, text: str) -> Whole:
    digits = text.rstrip("U")
    if len(digits) > 1 and digits.isdigit() and digits[0] == "0":
        digits = "0o" + digits[1:]
    try:
        value = int(digits, 0)
    except ValueError:
        cursor.fail(f"{text} is no octal number", cursor.at - 1)
    return wrap(value, unsigned=text.endswith("U") or value & BITS64 >= 1 << 63)


def as_double(value: Float) -> float:
    """Give a floating constant's value."""
    form, size = ("<f", 4) if value.single else ("<d", 8)
    return struct.unpack(form, value.bits.to_bytes(size, "little"))[0]


def round_to(value: Float, form: str) -> bytes:
    """Round a floating constant to a format of ``struct``; what is too large becomes infinite."""
    exact = as_double(value)
    try:
        return struct.pack(form, exact)
    except OverflowError:
        return struct.pack(form, math.copysign(math.inf, exact))
