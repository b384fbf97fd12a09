"""Values at which arithmetic goes wrong: integers of every width, and the bits of floating-point numbers."""

from __future__ import annotations

import numpy as np

DTYPES = {1: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
#: Bits of exponent and mantissa.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def integer_edges(bits: int) -> list[int]:
    """List bit patterns around 0, the limits of both signs, powers of two, and amounts that shifts stumble over."""
    near = {base + step for base in (0, 1 << (bits - 1), 1 << bits) for step in (-3, -2, -1, 0, 1, 2, 3)}
    powers = {(1 << n) + step for n in range(bits) for step in (-1, 0)}
    amounts = {7, 8, 15, 16, 23, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 257}
    patterns = {
        int.from_bytes(bytes([byte]) * (bits // 8)) for byte in (0x01, 0x0F, 0x55, 0x7F, 0x80, 0xAA, 0xF0, 0xFE)
    }
    halves = {(0x7FFF8000 << bits // 2) | 0x80007FFF, 0xFFFF0000, 0x8000FFFF}
    return sorted({value % (1 << bits) for value in near | powers | amounts | patterns | halves})


def float_edges(ptx_type: str) -> list[int]:
    """List bit patterns: zeros, subnormals, around one, the greatest, infinities, quiet and signalling NaNs."""
    exponent, mantissa = FORMATS[ptx_type]
    one = ((1 << (exponent - 1)) - 1) << mantissa
    infinity = ((1 << exponent) - 1) << mantissa
    smallest_normal = 1 << mantissa
    quiet = infinity | 1 << (mantissa - 1)
    positive = [0, 1, 2, smallest_normal - 1, smallest_normal, smallest_normal + 1, one - 1, one, one + 1]
    positive += [
        one + smallest_normal,
        infinity - 1,
        infinity,
        infinity + 1,
        quiet,
        quiet + 5,
        2 * (infinity - 1) - infinity,
    ]
    sign = 1 << (exponent + mantissa)
    return [value | high for value in positive for high in (0, sign)]


def mixed(bits: int, edges: list[int], count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw: half are edges, a quarter any bits, a quarter small numbers of random length."""
    whole = rng.integers(0, 1 << bits, count, np.uint64, endpoint=False) if bits < 64 else _words(count, rng)
    short = whole >> rng.integers(0, bits, count, np.uint64)
    edge = np.array(edges, np.uint64)[rng.integers(0, len(edges), count)]
    which = rng.integers(0, 4, count)
    return np.where(which < 2, edge, np.where(which == 2, whole, short)).astype(DTYPES[bits])


def _words(count: int, rng: np.random.Generator) -> np.ndarray:
    return np.frombuffer(rng.bytes(8 * count), np.uint64)


def integers(bits: int, count: int, seed: int) -> np.ndarray:
    """Draw bit patterns of integers, edges among them."""
    return mixed(bits, integer_edges(bits), count, np.random.default_rng(seed))
