"""What models of integer instructions share: numbers read by type, in plain Python integers."""

from __future__ import annotations

from collections.abc import Callable

LETTER = {8: "b", 16: "h", 32: "r", 64: "l"}


def width(ptx_type: str) -> int:
    """Bits of ``s32``."""
    return int(ptx_type[1:])


def letter(ptx_type: str) -> str:
    """Answer the width of a type as `grouped` writes it."""
    return LETTER[width(ptx_type)]


def number(bits: int, ptx_type: str) -> int:
    """Read bits as a number of a type."""
    bits %= 1 << width(ptx_type)
    return bits - (1 << width(ptx_type)) if ptx_type[0] == "s" and bits >> (width(ptx_type) - 1) else bits


def bits(value: int, ptx_type: str) -> int:
    """Write a number as bits, wrapping round."""
    return value % (1 << width(ptx_type))


def limited(value: int, ptx_type: str) -> int:
    """Keep a number within a type."""
    least = -(1 << (width(ptx_type) - 1)) if ptx_type[0] == "s" else 0
    return min(max(value, least), least + (1 << width(ptx_type)) - 1)


def of_numbers(ptx_type: str, function: Callable[..., int]) -> Callable[..., int]:
    """Make a model of a function of numbers that wraps round."""
    return lambda *raw: bits(function(*(number(value, ptx_type) for value in raw)), ptx_type)


def of_halves(ptx_type: str, function: Callable[..., int]) -> Callable[..., int]:
    """Make a model for two packed 16-bit numbers of a type (``s16``)."""
    one = of_numbers(ptx_type, function)
    return lambda *raw: one(*(v & 0xFFFF for v in raw)) | one(*(v >> 16 for v in raw)) << 16
