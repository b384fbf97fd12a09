"""What collectives have to answer, in numpy: ranks in ascending order, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = tuple(np.dtype(kind) for kind in (np.float32, np.float64, np.float16, BFLOAT16))
INTEGERS = tuple(np.dtype(kind) for kind in (np.int32, np.uint32, np.int64, np.uint64))
DTYPES = FLOATS + INTEGERS
OPS = ("sum", "min", "max")


def values(rank: int, count: int, dtype: Any) -> np.ndarray:
    """Make a rank's numbers: integers of all bits, floats of very different sizes, so that the order of a sum shows."""
    random = np.random.default_rng([rank, count])
    if dtype.kind in "iu":
        return random.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
    made = random.standard_normal(count) * 2.0 ** random.integers(-9, 9, count)
    return np.where(random.integers(0, 8, count) == 0, -0.0, made).astype(dtype)


def reduced(op: str, replicas: Sequence[np.ndarray]) -> np.ndarray:
    """Combine replicas as `all_reduce` promises."""
    kind = replicas[0].dtype
    wide = np.float32 if kind in (np.float16, BFLOAT16) else kind
    found = replicas[0].astype(wide)
    with np.errstate(all="ignore"):
        for replica in replicas[1:]:
            found = _combined(op, found, replica.astype(wide))
        return found.astype(kind)


def _combined(op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if op == "sum":
        return a + b
    if a.dtype.kind in "iu":
        return np.minimum(a, b) if op == "min" else np.maximum(a, b)
    first = (a < b) | ((a == b) & np.signbit(a))  # -0 is less than +0
    better = np.where(first == (op == "min"), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, better)).astype(a.dtype)  # a number wins over NaN


def bits(array: np.ndarray) -> np.ndarray:
    """Answer the bits, so that -0 differs from +0 in comparisons."""
    return np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
