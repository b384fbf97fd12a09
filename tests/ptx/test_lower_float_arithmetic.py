"""add sub mul fma div rcp sqrt of f32 and f64 in every rounding mode, against exact fractions."""

from __future__ import annotations

import float_model as model
import numpy as np
import pytest
from float_bench import carry_out, floats, near, wrong

COUNT = 256
MODES = ("rn", "rz", "rm", "rp")
OPERATIONS = {
    "add": (2, model.add),
    "sub": (2, lambda a, b, mode: model.add(a, model.negated(b), mode)),
    "mul": (2, lambda a, b, mode: model.multiply(a, b)),
    "fma": (3, model.fuse),
    "div": (2, lambda a, b, mode: model.divide(a, b)),
    "rcp": (1, lambda a, mode: model.divide(model.Fraction(1), a)),
    "sqrt": (1, lambda a, mode: model.root(a)),
}

#: Which operand's NaN an f64 result is, when several are NaN.
NAN_ORDER = {"div": (0, 1), "fma": (1, 2, 0)}


def three(ptx_type: str, seed: int) -> dict[str, np.ndarray]:
    """Draw three operands: at random, and (the second half) near each other."""
    a, b, c = (floats(ptx_type, COUNT, seed + i) for i in range(3))
    half = COUNT // 2
    b[half:] = near(ptx_type, a[half:], seed + 3)
    c[half:] = near(ptx_type, a[half:], seed + 4)
    return {"%a": a, "%b": b, "%c": c}


def saturate(value: model.Number) -> model.Number:
    if value == "inf" or (not isinstance(value, str) and value > 1):
        return model.Fraction(1)
    return value if not isinstance(value, str) and value > 0 else model.Fraction(0)


def expected(op: str, mode: str, name: str, inputs: dict[str, np.ndarray], *, ftz: bool, sat: bool) -> list[int]:
    count, function = OPERATIONS[op]
    results: list[int] = []
    for row in zip(*(column.tolist() for column in list(inputs.values())[:count]), strict=True):
        values = [model.decode(model.flush(bits, name) if ftz else bits, name) for bits in row]
        value = function(*values, mode)
        if ftz and model.is_tiny(value, name, mode):
            value = model.signed(model.Fraction(0), model.is_negative(value))
        bits = model.encode(saturate(value) if sat else value, name, mode)
        order = NAN_ORDER.get(op, (1, 0)[-count:])
        results.append(model.first_nan([row[i] for i in order], bits) if name == "f64" else bits)
    return results


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_ieee_arithmetic(name: str) -> None:
    inputs = three(name, 1)
    inputs["%c"][:96] = model_negated_products(name, inputs)
    variants = [(op, mode, ftz, sat) for op in OPERATIONS for mode in MODES for ftz, sat in modifiers(op, name)]
    lines = {line(op, mode, name, ftz=ftz, sat=sat): name for op, mode, ftz, sat in variants}
    results = carry_out(lines, inputs, dict.fromkeys(inputs, name))
    for op, mode, ftz, sat in variants:
        text = line(op, mode, name, ftz=ftz, sat=sat)
        assert not wrong(results[text], expected(op, mode, name, inputs, ftz=ftz, sat=sat), inputs), text


def modifiers(op: str, name: str) -> list[tuple[bool, bool]]:
    """List (ftz, sat) that an instruction can have."""
    if name == "f64":
        return [(False, False)]
    return [(False, False), (True, False)] + ([(False, True), (True, True)] if op in ("add", "mul", "fma") else [])


def line(op: str, mode: str, name: str, *, ftz: bool, sat: bool) -> str:
    words = [op, mode, *(["ftz"] if ftz else []), *(["sat"] if sat else []), name]
    return f"{'.'.join(words)} {{d}}, {', '.join(['%a', '%b', '%c'][: OPERATIONS[op][0]])};"


def model_negated_products(name: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Answer -(a · b), rounded: what fma leaves of a product then is its rounding error."""
    rows = zip(inputs["%a"][:96].tolist(), inputs["%b"][:96].tolist(), strict=True)
    products = [model.multiply(model.decode(a, name), model.decode(b, name)) for a, b in rows]
    return np.array([model.encode(model.negated(product), name) for product in products], inputs["%a"].dtype)
