"""sin cos ex2 lg2 tanh rcp rsqrt sqrt div (.approx): correctly rounded, and their documented special values."""

from __future__ import annotations

from collections.abc import Callable

import float_model as model
import float_series
import numpy as np
import pytest
from float_bench import carry_out, floats

INF, NAN = "inf", "nan"
ZERO, ONE = model.Fraction(0), model.Fraction(1)
#: Function → (exact value of a finite number, values of infinity, -infinity, 0 and -0).
FUNCTIONS: dict[
    str, tuple[Callable[[model.Fraction], model.Fraction], model.Number, model.Number, model.Number, model.Number]
] = {
    "sin": (float_series.sin, NAN, NAN, ZERO, "-0"),
    "cos": (float_series.cos, NAN, NAN, ONE, ONE),
    "ex2": (float_series.exp2, INF, ZERO, ONE, ONE),
    "tanh": (float_series.tanh, ONE, -ONE, ZERO, "-0"),
    "lg2": (float_series.log2, INF, NAN, "-inf", "-inf"),
    "rcp": (lambda value: 1 / value, ZERO, "-0", INF, "-inf"),
    "sqrt": (lambda value: model.root(value), INF, NAN, ZERO, "-0"),  # type: ignore[dict-item]
    "rsqrt": (lambda value: 1 / model.root(value), ZERO, NAN, INF, "-inf"),  # type: ignore[operator]
}
POSITIVE_ONLY = ("lg2", "sqrt", "rsqrt")


def expected(op: str, value: model.Number) -> model.Number:
    """Answer the exact value of a function."""
    function, at_infinity, at_minus_infinity, at_zero, at_minus_zero = FUNCTIONS[op]
    small = op == "sin" and not isinstance(value, str) and abs(value) < model.Fraction(2) ** -126
    if small:  # PTX ISA's table: a zero of the sign
        value = model.signed(ZERO, model.is_negative(value))
    table = {"nan": NAN, "inf": at_infinity, "-inf": at_minus_infinity, "-0": at_minus_zero}
    if isinstance(value, str):
        return table[value]
    if value == 0:
        return at_zero
    if value < 0 and op in POSITIVE_ONLY:
        return NAN
    if op in ("ex2", "tanh") and abs(value) > 200:
        return {"ex2": INF if value > 0 else ZERO, "tanh": ONE if value > 0 else -ONE}[op]
    return function(value)


def inputs_of(name: str, *, wide: bool) -> np.ndarray:
    """Draw operands: edges; and of ordinary size, since sin's series is long for large ones."""
    rng = np.random.default_rng(77)
    column = floats(name, 256, 78)
    sizes = rng.uniform(-20, 20, 160) if wide else rng.uniform(-8, 8, 160)
    column[96:] = [model.encode(model.Fraction(float(size)), name) for size in sizes]
    return column


def check(op: str, name: str, modifiers: str = "") -> None:
    line = f"{op}.approx{modifiers}.{name} {{d}}, %a;"
    column = inputs_of(name, wide=op not in ("sin", "cos"))
    if op in ("sin", "cos"):
        keep = [not_large(model.decode(bits, name)) for bits in column.tolist()]
        column = np.where(keep, column, np.uint32(0x3FC00000))
    results = carry_out({line: name}, {"%a": column}, {"%a": name})[line]
    ftz = "ftz" in modifiers
    for bits, got in zip(column.tolist(), results.tolist(), strict=True):
        value = expected(op, model.decode(model.flush(bits, name) if ftz else bits, name))
        if ftz and model.is_tiny(value, name, "rn"):
            value = model.signed(ZERO, model.is_negative(value))
        assert got == model.encode(value, name), (
            f"{line} of {bits:#x}: {got:#x}, expected {model.encode(value, name):#x}"
        )


@pytest.mark.parametrize("op", ["sin", "cos", "tanh", "ex2"])
def test_zeros_and_small_operands_among_themselves(op: str) -> None:
    """All lanes small: another loop than with an infinity among them."""
    rng = np.random.default_rng(82)
    column = (rng.integers(1, 130, 256) << 23 | rng.integers(0, 1 << 23, 256) | rng.integers(0, 2, 256) << 31).astype(
        np.uint32
    )
    column[::16], column[1::16] = 0, 0x80000000
    line = f"{op}.approx.f32 {{d}}, %a;"
    results = carry_out({line: "f32"}, {"%a": column}, {"%a": "f32"})[line]
    for bits, got in zip(column.tolist(), results.tolist(), strict=True):
        assert got == model.encode(expected(op, model.decode(bits, "f32")), "f32"), hex(bits)


def not_large(value: model.Number) -> bool:
    return isinstance(value, str) or abs(value) < 1000


@pytest.mark.parametrize("modifiers", ["", ".ftz"])
@pytest.mark.parametrize("op", [op for op in FUNCTIONS if op != "tanh"])
def test_f32(op: str, modifiers: str) -> None:
    check(op, "f32", modifiers)


@pytest.mark.parametrize(
    ("op", "name", "modifiers"),
    [("tanh", "f32", ""), ("tanh", "f16", ""), ("tanh", "bf16", ""), ("ex2", "f16", ""), ("ex2", "bf16", ".ftz")],
)
def test_halves_and_tanh(op: str, name: str, modifiers: str) -> None:
    check(op, name, modifiers)


def test_division() -> None:
    """div.approx answers 0 (of infinity NaN) beyond a divisor of 2^126; div.full does not."""
    inputs = {"%a": floats("f32", 512, 79), "%b": floats("f32", 512, 80)}
    inputs["%b"][::3] = np.random.default_rng(81).integers(0x7E7FFFFE, 0x7F800001, len(inputs["%b"][::3]))
    lines = {"div.approx.f32 {d}, %a, %b;": True, "div.full.f32 {d}, %a, %b;": False}
    results = carry_out(dict.fromkeys(lines, "f32"), inputs, dict.fromkeys(inputs, "f32"))
    for line, limited in lines.items():
        for a, b, got in zip(inputs["%a"].tolist(), inputs["%b"].tolist(), results[line].tolist(), strict=True):
            left, right = model.decode(a, "f32"), model.decode(b, "f32")
            value = model.divide(left, right)
            if limited and not isinstance(right, str) and abs(right) > 2**126:
                value = model.multiply(left, model.signed(ZERO, model.is_negative(right)))
            assert got == model.encode(value, "f32"), (line, hex(a), hex(b), hex(got))
