"""Arithmetic of sizes, and how many bytes an element of a dtype has."""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable
from itertools import count

#: Names as numpy and ml_dtypes have them.
ITEM_SIZES = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "float32": 4, "float64": 8, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "complex64": 8, "complex128": 16,
}  # fmt: skip


def up(value: int, step: int) -> int:
    """Return the smallest multiple of `step` that is not below `value`."""
    return -(-value // step) * step


def whole(what: str, value: object, least: int) -> None:
    """Refuse what is no whole number, or below the least.

    Raises
    ------
    ValueError
        It is refused; the text names the value and the nearest one.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{what} {value!r} is no whole number")
    if value < least:
        raise ValueError(f"{what} {value} is below {least}; nearest {least}")


def item_size(dtype: object) -> int:
    """Return the bytes of one element; `dtype` is a name, or anything with an `itemsize` (numpy, torch).

    Raises
    ------
    ValueError
        The name is unknown; the text has the nearest one.
    """
    size = getattr(dtype, "itemsize", None)
    if isinstance(size, int) and size > 0:
        return size
    if str(dtype) in ITEM_SIZES:
        return ITEM_SIZES[str(dtype)]
    raise ValueError(f"dtype {dtype!r} is unknown; nearest {nearest_name(str(dtype), ITEM_SIZES)}")


def nearest_name(word: str, names: Iterable[str]) -> str:
    """Return the name that looks most like `word`."""
    return difflib.get_close_matches(word, list(names), 1, 0.0)[0]


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name with the lowest number behind it that is not taken."""
    return next(free for number in count(2) if (free := f"{name}.{number}") not in taken)


def nearest_power(value: int) -> int:
    """Return the power of two that is nearest to `value`, the greater one of two as near; at least 1."""
    if value < 1:
        return 1
    below = 1 << (value.bit_length() - 1)
    return below if value - below < 2 * below - value else 2 * below
