"""Many floating-point instructions in one compiled body, on many inputs, in both shapes."""

from __future__ import annotations

import edges
import numpy as np
from straight import prepare

LANES = 32
TOGETHER = 8  # how many instructions are compiled at once; registers run out of room with many more
REGISTER = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32", "f32x2": "b64", "tf32": "b32", "u8": "b16"}
REGISTER |= {"s8": "b16", "e4m3x2": "b16", "e5m2x2": "b16", "e3m2x2": "b16", "e2m3x2": "b16", "ue8m0x2": "b16"}
REGISTER |= {"e2m1x2": "b8"}
WIDTH = {"8": np.uint8, "16": np.uint16, "32": np.uint32, "64": np.uint64}
ELEMENT = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}


def register(ptx_type: str) -> str:
    return REGISTER.get(ptx_type, ptx_type)


def floats(ptx_type: str, count: int, seed: int) -> np.ndarray:
    """Draw bits of a floating-point type (packed: of two), edges among them."""
    rng = np.random.default_rng(seed)
    if ptx_type in ELEMENT:
        one = ELEMENT[ptx_type]
        low, high = floats(one, count, seed + 1000), floats(one, count, seed + 2000)
        wide = np.uint64 if one == "f32" else np.uint32
        return low.astype(wide) | high.astype(wide) << wide(edges.FORMATS[one][0] + edges.FORMATS[one][1] + 1)
    bits = sum(edges.FORMATS[ptx_type]) + 1
    return edges.mixed(bits, edges.float_edges(ptx_type), count, rng)


def near(ptx_type: str, bits: np.ndarray, seed: int) -> np.ndarray:
    """Draw numbers whose exponents differ little from those given, so that sums and quotients are hard to round."""
    exponent, mantissa = edges.FORMATS[ptx_type]
    rng = np.random.default_rng(seed)
    field = (bits.astype(np.uint64) >> np.uint64(mantissa)) & np.uint64((1 << exponent) - 1)
    moved = np.clip(
        field.astype(np.int64) + rng.integers(-mantissa - 2, mantissa + 3, len(bits)), 0, (1 << exponent) - 2
    )
    short = rng.integers(0, 1 << mantissa, len(bits)) & -(1 << rng.integers(0, mantissa + 1, len(bits)))
    sign = rng.integers(0, 2, len(bits)) << (exponent + mantissa)
    return (moved << mantissa | short | sign).astype(bits.dtype)


def carry_out(lines: dict[str, str], inputs: dict[str, np.ndarray], types: dict[str, str], *, target: str = "sm_90a"):
    """Carry instructions out, each with its own destination, for all inputs; check that both shapes agree.

    Parameters
    ----------
    lines
        Instruction (``add.rn.f32 {d}, %a, %b;``) → type of its result.
    inputs, types
        Bits and types of the registers that they read.

    Returns
    -------
    dict
        Instruction → bits of its results.
    """
    found: dict[str, np.ndarray] = {}
    for at in range(0, len(lines), TOGETHER):
        found |= _carry_out(dict(list(lines.items())[at : at + TOGETHER]), inputs, types, target)
    return found


def _carry_out(lines: dict[str, str], inputs: dict[str, np.ndarray], types: dict[str, str], target: str):
    names = {line: f"%d{i}" for i, line in enumerate(lines)}
    declared = [f".reg .{register(types[name])} {name};" for name in inputs]
    declared += [f".reg .{register(kind)} {names[line]};" for line, kind in lines.items()]
    text = "\n".join(declared), "\n".join(line.format(d=names[line]) for line in lines)
    count = len(next(iter(inputs.values())))
    assert count % LANES == 0
    vector = prepare(*text, list(inputs), list(names.values()), target=target)
    starts = range(0, count, LANES)
    parts = [vector({name: column[at : at + LANES] for name, column in inputs.items()}) for at in starts]
    results = {line: np.concatenate([part[name] for part in parts]) for line, name in names.items()}
    scalar = prepare(*text, list(inputs), list(names.values()), uniform=True, target=target)
    for at in range(0, count, max(1, count // 48)):
        one = scalar({name: np.repeat(column[at], LANES) for name, column in inputs.items()})
        for line, name in names.items():
            assert (one[name] == results[line][at]).all(), f"uniform {line} at {at}: {one[name][0]:#x}"
    return results


def wrong(results: np.ndarray, expected: list[int], inputs: dict[str, np.ndarray]) -> list[str]:
    """Describe the first results that are not as expected."""
    return [
        f"{i}: {int(got):#x}, expected {want:#x}, of {[hex(int(column[i])) for column in inputs.values()]}"
        for i, (got, want) in enumerate(zip(results, expected, strict=True))
        if int(got) != want
    ][:5]
