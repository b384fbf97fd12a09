"""What PTX says multimem computes, in numpy and plain Python: written without a look at the C."""

import itertools

import ml_dtypes
import numpy as np

NUMPY = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "u32": np.dtype(np.uint32),
    "s32": np.dtype(np.int32),
    "u64": np.dtype(np.uint64),
    "s64": np.dtype(np.int64),
}
CANONICAL_NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF}
WORD = {2: np.uint16, 4: np.uint32, 8: np.uint64}
BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def bits(array):
    return array.view(WORD[array.dtype.itemsize])


def canonical(array, dtype):
    """Replace every NaN by the one PTX produces; f64 keeps what the processor makes."""
    if dtype in CANONICAL_NAN:
        array = array.copy()
        with np.errstate(invalid="ignore"):  # signalling NaN
            bits(array)[np.isnan(array)] = CANONICAL_NAN[dtype]
    return array


def add(rows, dtype):
    if dtype[0] in "us":
        return np.add.reduce(rows, axis=0, dtype=rows.dtype)
    wide = rows.astype(np.float64 if dtype == "f64" else np.float32)
    total = wide[0].copy()
    for row in wide[1:]:
        total = total + row
    return canonical(total.astype(NUMPY[dtype]), dtype)


def order(values, dtype, op):
    """min or max of one element's values: numbers win over NaN, -0 lies below +0."""
    if dtype[0] in "us":
        return min(values) if op == "min" else max(values)
    numbers = [v for v in values if not np.isnan(v)]
    if not numbers:
        return np.array([CANONICAL_NAN[dtype]], dtype=np.uint16).view(NUMPY[dtype])[0]
    return sorted(numbers, key=lambda v: (float(v), not np.signbit(v)))[0 if op == "min" else -1]


def combine(rows, dtype, op):
    """Reduce rows (replicas, elements) to one row."""
    with np.errstate(all="ignore"):
        if op == "add":
            return add(rows, dtype)
        if op in BITWISE:
            return BITWISE[op].reduce(rows, axis=0)
        return np.array([order(list(column), dtype, op) for column in rows.T], dtype=NUMPY[dtype])


def edge_values(dtype):
    """Values at which implementations differ, in the type's own bits."""
    kind = NUMPY[dtype]
    if dtype[0] in "us":
        info = np.iinfo(kind)
        return np.array([0, 1, info.max, info.max - 1, info.min, info.min + 1, 7], dtype=kind)
    info = ml_dtypes.finfo(kind)
    largest, tiny = float(info.max), float(info.tiny)
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, largest, -largest, tiny, -tiny]
    values += [float(info.smallest_subnormal), 1 + float(info.eps), 3.14159]
    quiet = np.array(values, dtype=kind)
    signs = bits(quiet[np.isnan(quiet)]) | WORD[kind.itemsize](1 << (kind.itemsize * 8 - 1))
    return np.concatenate([quiet, signs.view(kind)])


def edge_rows(dtype, n):
    """Every n-tuple of edge values if they are few, else a random choice of them."""
    values = edge_values(dtype)
    if n <= 2:
        return np.array(list(itertools.product(values, repeat=n)), dtype=NUMPY[dtype]).T.copy()
    return np.random.default_rng(n).choice(values, size=(n, 3001))


def random_rows(dtype, n, count, seed=0):
    """Random bit patterns, so that every exponent occurs; every other column of moderate numbers."""
    rng = np.random.default_rng(seed)
    kind = NUMPY[dtype]
    rows = rng.integers(0, 256, size=(n, count, kind.itemsize), dtype=np.uint8).view(kind).reshape(n, count)
    if dtype[0] not in "us":
        rows[:, ::2] = rng.standard_normal((n, (count + 1) // 2)).astype(kind)
    return rows
