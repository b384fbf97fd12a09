"""cvt between floats and integers and among floats, against exact fractions."""

from __future__ import annotations

from math import ceil, floor

import edges
import float_model as model
import numpy as np
import pytest
from float_bench import carry_out, floats, near, wrong
from test_lower_float_arithmetic import saturate
from test_lower_float_half import clip

COUNT = 256
MODES = ("rn", "rz", "rm", "rp")
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = tuple(f"{kind}{bits}" for kind in "su" for bits in (8, 16, 32, 64))
INTEGRAL = {"rni": round, "rzi": int, "rmi": floor, "rpi": ceil}


def integral(value: model.Number, word: str) -> model.Number:
    """Round to an integer, the sign of zero kept."""
    if isinstance(value, str):
        return value
    whole = model.Fraction(INTEGRAL[word](value))
    return "-0" if whole == 0 and value < 0 else whole


def as_integer(value: model.Number, name: str, source: str) -> int:
    """Answer the bits of an integer type that a number becomes, clamped."""
    bits = int(name[1:])
    if value == "nan":
        return 1 << (bits - 1) if bits == 64 or source == "f64" else 0
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "s" else (0, (1 << bits) - 1)
    if model.is_infinite(value):
        return (low if value == "-inf" else high) & ((1 << bits) - 1)
    return max(low, min(high, int(model.plain(value)))) & ((1 << bits) - 1)


def sample(name: str, seed: int) -> np.ndarray:
    """Draw floats, half of them of the size of integers."""
    column = floats(name, COUNT, seed)
    form = model.LAYOUTS[name]
    rng = np.random.default_rng(seed)
    for i in range(0, COUNT, 2):
        size = model.Fraction(int(rng.integers(0, 1 << 62)), 1 << int(rng.integers(0, 64)))
        column[i] = model.encode(size, name) | int(rng.integers(0, 2)) << (form.width - 1)
    limits = [
        model.Fraction(s * (1 << n)) + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for s in (-1, 1) for d in (-1, 0)
    ]
    column[1 : 1 + 2 * len(limits) : 2] = [model.encode(v, name) for v in limits]
    return column


@pytest.mark.parametrize("source", FLOATS)
def test_float_to_integer(source: str) -> None:
    inputs = {"%a": sample(source, 61)}
    forms = [(word, target) for word in INTEGRAL for target in INTEGERS]
    lines = {f"cvt.{word}.{target}.{source} {{d}}, %a;": (word, target) for word, target in forms}
    results = carry_out({line: target for line, (_, target) in lines.items()}, inputs, {"%a": source})
    for line, (word, target) in lines.items():
        values = [integral(model.decode(bits, source), word) for bits in inputs["%a"].tolist()]
        want = [as_integer(value, target, source) for value in values]
        if target == "s8":  # the register is wider: extended by sign
            want = [w | 0xFF00 if w & 0x80 else w for w in want]
        assert not wrong(results[line], want, inputs), line


@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float(source: str) -> None:
    bits = int(source[1:])
    column = edges.integers(bits, COUNT, 71).astype(np.uint64)
    column[:64] = [(1 << n) + d & ((1 << bits) - 1) for n, d in zip(range(64), [-1, 1] * 32, strict=True)]
    register = {"%a": "u64" if bits == 64 else "u32" if bits == 32 else "u16"}
    inputs = {"%a": column.astype(edges.DTYPES[max(bits, 16)])}
    forms = [(mode, target, sat) for mode in MODES for target in FLOATS for sat in ("", ".sat")]
    forms = [form for form in forms if form[2] == "" or form[1] != "bf16"]
    lines = {f"cvt.{mode}{sat}.{target}.{source} {{d}}, %a;": (mode, target, sat) for mode, target, sat in forms}
    results = carry_out({line: form[1] for line, form in lines.items()}, inputs, register)
    for line, (mode, target, sat) in lines.items():
        want = []
        for value in inputs["%a"].tolist():
            value = model.Fraction(value - (1 << bits) if source[0] == "s" and value >> (bits - 1) else value)
            want.append(model.encode(saturate(value) if sat else value, target, mode))
        assert not wrong(results[line], want, inputs), line


NARROW = [
    (source, target, ending)
    for source, target in [
        ("f64", "f32"),
        ("f64", "f16"),
        ("f64", "bf16"),
        ("f32", "f16"),
        ("f32", "bf16"),
        ("f32", "tf32"),
    ]
    for ending in ([""] if source == "f64" else ["", ".relu", ".satfinite", ".relu.satfinite"])
]


@pytest.mark.parametrize("source", ["f64", "f32"])
def test_float_to_narrower(source: str) -> None:
    column = floats(source, 3 * COUNT, 81)
    for i, name in enumerate(("f16", "bf16", "f32")[: 3 if source == "f64" else 2]):  # about the target's numbers
        values = [model.decode(bits, name) for bits in floats(name, COUNT // 2, 82 + i).tolist()]
        part = slice(i * COUNT // 2, (i + 1) * COUNT // 2)
        column[part] = [model.encode(value, source) for value in values]
        column[part.start : part.stop : 3] += column.dtype.type(1)
        column[part.start + 1 : part.stop : 3] |= column.dtype.type(1 << (15 if source == "f32" else 44))
    inputs = {"%a": column}
    forms = [(mode, target, ending) for s, target, ending in NARROW if s == source for mode in (*MODES, "rna")]
    forms = [
        form
        for form in forms
        if (form[0] == "rna") <= (form[1] == "tf32") and "relu" not in form[2] * (form[0] == "rna")
    ]
    lines = {
        f"cvt.{mode}{ending}.{target}.{source} {{d}}, %a;": (mode, target, ending) for mode, target, ending in forms
    }
    results = carry_out({line: form[1] for line, form in lines.items()}, inputs, {"%a": source})
    for line, (mode, target, ending) in lines.items():
        want = []
        for bits in column.tolist():
            value = model.decode(bits, source)
            value = clip(value) if "relu" in ending else value
            code = model.encode(value, target, mode, finite="satfinite" in ending)
            code = code << 13 if target == "tf32" else code
            want.append(nan_moved(bits, source, target, mode, ending) if value == "nan" else code)
        assert not wrong(results[line], want, inputs), line


def nan_moved(bits: int, source: str, target: str, mode: str, ending: str) -> int:
    """Answer what a NaN's bits become."""
    have, want = model.LAYOUTS[source], model.LAYOUTS[target]
    if mode == "rna":  # cut off; satfinite takes a place off
        return (bits & ~0x1FFF) - (0x2000 if "satfinite" in ending else 0)
    if (source, target) == ("bf16", "f32"):
        return bits << 16
    if "f64" not in (source, target):
        return want.nan << (13 if target == "tf32" else 0)
    payload = (bits & ((1 << have.mantissa) - 1)) << 52 >> have.mantissa  # as f64 has it
    quiet = ((1 << want.exponent) - 1) << want.mantissa | 1 << (want.mantissa - 1)
    return bits >> (have.width - 1) << (want.width - 1) | quiet | payload >> (52 - want.mantissa)


WIDER = [("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")]


@pytest.mark.parametrize("source", ["f16", "bf16", "f32"])
def test_float_to_wider(source: str) -> None:
    inputs = {"%a": floats(source, 4 * COUNT, 91)}
    targets = [target for s, target in WIDER if s == source]
    lines = {f"cvt.{target}.{source} {{d}}, %a;": target for target in targets}
    results = carry_out(lines, inputs, {"%a": source})
    for line, target in lines.items():
        want = []
        for bits in inputs["%a"].tolist():
            value = model.decode(bits, source)
            moved = value == "nan" and (source, target) != ("f16", "f32")
            want.append(nan_moved(bits, source, target, "", "") if moved else model.encode(value, target))
        assert not wrong(results[line], want, inputs), line


@pytest.mark.parametrize("name", FLOATS)
def test_to_an_integer_that_stays_a_float(name: str) -> None:
    inputs = {"%a": sample(name, 95)}
    flushes = ["", ".ftz"] if name == "f32" else [""]
    lines = {
        f"cvt.{word}{f}{sat}.{name}.{name} {{d}}, %a;": (word, f, sat)
        for word in INTEGRAL
        for f in flushes
        for sat in ("", ".sat")
    }
    results = carry_out(dict.fromkeys(lines, name), inputs, {"%a": name})
    for line, (word, ftz, sat) in lines.items():
        want = []
        for bits in inputs["%a"].tolist():
            value = integral(model.decode(model.flush(bits, name) if ftz else bits, name), word)
            code = model.encode(saturate(value) if sat else value, name)
            want.append(model.first_nan([bits], code) if name == "f64" and not sat else code)
        assert not wrong(results[line], want, inputs), line


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_two_floats_to_a_pair(half: str) -> None:
    inputs = {"%a": floats("f32", COUNT, 96), "%b": floats("f32", COUNT, 97)}
    inputs["%b"][::2] = near("f32", inputs["%a"][::2], 98)
    endings = [(mode, r, s) for mode in ("rn", "rz") for r in ("", ".relu") for s in ("", ".satfinite")]
    lines = {f"cvt.{mode}{r}{s}.{half}x2.f32 {{d}}, %a, %b;": (mode, r, s) for mode, r, s in endings}
    results = carry_out(dict.fromkeys(lines, f"{half}x2"), inputs, dict.fromkeys(inputs, "f32"))
    for line, (mode, relu, sat) in lines.items():
        want = []
        for row in zip(inputs["%a"].tolist(), inputs["%b"].tolist(), strict=True):
            values = [clip(model.decode(b, "f32")) if relu else model.decode(b, "f32") for b in row]
            upper, lower = (model.encode(value, half, mode, finite=bool(sat)) for value in values)
            want.append(upper << 16 | lower)
        assert not wrong(results[line], want, inputs), line
