"""What users give for a shape or a type, as numpy has it."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from cumulticast.layout.sizes import ITEM_SIZES, nearest_name

from .devices import MOST_BYTES


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Answer a shape as a tuple.

    Raises
    ------
    ValueError
        An extent is negative, or the array has no element.
    """
    try:
        extents = tuple(shape) if isinstance(shape, Iterable) else (shape,)
        found = tuple(operator.index(extent) for extent in extents)
    except TypeError:
        raise TypeError(f"shape {shape!r}: an integer, or several, such as 1024 or (4, 256)") from None
    if any(extent < 1 for extent in found):
        raise ValueError(f"shape {found}: every extent is at least 1")
    return found


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """Answer a numpy dtype; ``"bfloat16"`` and the 8-bit floats are those of ml_dtypes.

    Raises
    ------
    TypeError
        It names none, or one whose elements are Python objects.
    """
    named = getattr(ml_dtypes, dtype, dtype) if isinstance(dtype, str) else dtype
    try:
        found = np.dtype(named)
    except TypeError:
        raise TypeError(f"dtype {dtype!r} is unknown; nearest {nearest_name(str(dtype), ITEM_SIZES)}") from None
    if found.hasobject:
        raise TypeError(f"dtype {found}: elements are Python objects, which no device can hold")
    return found


def nbytes_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Answer the bytes of an array.

    Raises
    ------
    ValueError
        It has more than any array of numpy's.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > MOST_BYTES:
        raise ValueError(f"shape {shape} of {dtype}: {nbytes} bytes; an array has at most {MOST_BYTES}")
    return nbytes
