"""cvt to and from pairs of 8-, 6- and 4-bit floats, against exact fractions and ml_dtypes."""

from __future__ import annotations

from itertools import pairwise

import float_model as model
import ml_dtypes
import numpy as np
import pytest
from float_bench import carry_out, floats, wrong
from test_lower_float_half import clip

from cumulticast.ptx.errors import PtxError

COUNT = 512
#: Format → what ml_dtypes calls it, and the bits that one takes in a pair.
SMALL = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8),
    "e5m2": (ml_dtypes.float8_e5m2, 8),
    "e3m2": (ml_dtypes.float6_e3m2fn, 8),
    "e2m3": (ml_dtypes.float6_e2m3fn, 8),
    "e2m1": (ml_dtypes.float4_e2m1fn, 4),
}


def codes(name: str) -> list[int]:
    """List every bit pattern of a format."""
    return list(range(1 << model.LAYOUTS[name].width))


@pytest.mark.parametrize("name", SMALL)
def test_the_model_reads_as_ml_dtypes_does(name: str) -> None:
    numbers = np.array(codes(name), np.uint8).view(SMALL[name][0]).astype(np.float64)
    words = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-0": -0.0}
    mine = [model.decode(bits, name) for bits in codes(name)]
    np.testing.assert_array_equal([words[v] if isinstance(v, str) else float(v) for v in mine], numbers)


def sources(name: str, seed: int) -> np.ndarray:
    """Draw f32: at random; the format's numbers, the middles between them, and what lies next to those."""
    numbers = sorted({abs(v) for v in map(lambda b: model.decode(b, name), codes(name)) if not isinstance(v, str)})
    middles = [(a + b) / 2 for a, b in pairwise(numbers)] + [numbers[-1] * 2]
    exact = np.array([model.encode(v, "f32") for v in numbers + middles], np.uint32)
    rng = np.random.default_rng(seed)
    column = floats("f32", COUNT, seed)
    chosen = exact[rng.integers(0, len(exact), COUNT // 2)]
    column[: COUNT // 2] = np.where(chosen > 0, chosen + rng.integers(-1, 2, COUNT // 2), chosen)
    column[: COUNT // 2] |= (rng.integers(0, 2, COUNT // 2) << 31).astype(np.uint32)
    return column


def paired(values: list[model.Number], name: str) -> int:
    upper, lower = (model.encode(value, name, finite=True) for value in values)
    return upper << SMALL[name][1] | lower


@pytest.mark.parametrize("name", SMALL)
def test_two_floats_to_small(name: str) -> None:
    inputs = {"%a": sources(name, 1), "%b": sources(name, 2)}
    lines = {f"cvt.rn.satfinite{r}.{name}x2.f32 {{d}}, %a, %b;": bool(r) for r in ("", ".relu")}
    results = carry_out(dict.fromkeys(lines, f"{name}x2"), inputs, dict.fromkeys(inputs, "f32"), target="sm_100a")
    for line, relu in lines.items():
        want = []
        for row in zip(inputs["%a"].tolist(), inputs["%b"].tolist(), strict=True):
            values = [model.decode(bits, "f32") for bits in row]
            want.append(paired([clip(v) for v in values] if relu else values, name))
        assert not wrong(results[line], want, inputs), line


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("name", SMALL)
def test_two_halves_to_small(name: str, half: str) -> None:
    column = floats(f"{half}x2", COUNT, 3)
    column[::2] = [
        model.encode(model.decode(int(a), "f32"), half) << 16 | model.encode(model.decode(int(b), "f32"), half)
        for a, b in zip(sources(name, 4)[::2], sources(name, 5)[::2], strict=True)
    ]
    line = f"cvt.rn.satfinite.{name}x2.{half}x2 {{d}}, %a;"
    results = carry_out({line: f"{name}x2"}, {"%a": column}, {"%a": f"{half}x2"}, target="sm_100a")
    want = [paired([model.decode(v, half) for v in (bits >> 16, bits & 0xFFFF)], name) for bits in column.tolist()]
    assert not wrong(results[line], want, {"%a": column})


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("name", SMALL)
def test_small_to_two_halves(name: str, half: str) -> None:
    bits, count = SMALL[name][1], len(codes(name))
    pairs = [high << bits | low for high in codes(name) for low in (codes(name)[(high * 7 + 3) % count],)]
    column = np.resize(np.array(pairs, np.uint16 if bits == 8 else np.uint8), 256)
    lines = {f"cvt.rn{r}.{half}x2.{name}x2 {{d}}, %a;": bool(r) for r in ("", ".relu")}
    results = carry_out(dict.fromkeys(lines, f"{half}x2"), {"%a": column}, {"%a": f"{name}x2"}, target="sm_100a")
    for line, relu in lines.items():
        want = []
        for pair in column.tolist():
            values = [
                model.decode(v & ((1 << model.LAYOUTS[name].width) - 1), name)
                for v in (pair >> bits, pair & ((1 << bits) - 1))
            ]
            upper, lower = (model.encode(clip(v) if relu else v, half) for v in values)
            want.append(upper << 16 | lower)
        assert not wrong(results[line], want, {"%a": column}), line


def power(value: model.Number, *, up: bool, finite: bool) -> int:
    """Answer the ue8m0 of a number's magnitude: the exponent of the power of two at or below it, or at or above it."""
    if value == "nan":
        return 0xFF
    if model.is_infinite(value):
        return 0xFE if finite else 0xFF
    size = abs(model.plain(value))
    code = next(c for c in range(256) if model.Fraction(2) ** (c - 127) > size) - 1
    code = max(code, 0)
    if up and model.Fraction(2) ** (code - 127) < size:
        code += 1
    return min(code, 0xFE) if finite else code


@pytest.mark.parametrize("source", ["f32", "bf16x2"])
def test_powers_of_two(source: str) -> None:
    registers = ["%a", "%b"] if source == "f32" else ["%a"]
    inputs = {name: floats(source, COUNT, 6 + i) for i, name in enumerate(registers)}
    forms = [(mode, sat) for mode in ("rz", "rp") for sat in ("", ".satfinite")]
    lines = {f"cvt.{m}{s}.ue8m0x2.{source} {{d}}, {', '.join(registers)};": (m == "rp", bool(s)) for m, s in forms}
    results = carry_out(dict.fromkeys(lines, "ue8m0x2"), inputs, dict.fromkeys(inputs, source), target="sm_100a")
    for line, (up, finite) in lines.items():
        want = []
        for row in zip(*(column.tolist() for column in inputs.values()), strict=True):
            parts = (
                [(b, "f32") for b in row] if source == "f32" else [(row[0] >> 16, "bf16"), (row[0] & 0xFFFF, "bf16")]
            )
            upper, lower = (power(model.decode(b, name), up=up, finite=finite) for b, name in parts)
            want.append(upper << 8 | lower)
        assert not wrong(results[line], want, inputs), line


def test_powers_of_two_as_halves() -> None:
    column = np.arange(256, dtype=np.uint16) << 8 | np.arange(256, dtype=np.uint16)[::-1]
    line = "cvt.rn.bf16x2.ue8m0x2 {d}, %a;"
    results = carry_out({line: "bf16x2"}, {"%a": column}, {"%a": "ue8m0x2"}, target="sm_100a")
    numbers = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    codes = [0x7FFF if np.isnan(v) else model.encode(model.Fraction(v), "bf16") for v in numbers.tolist()]
    want = [codes[pair >> 8] << 16 | codes[pair & 0xFF] for pair in column.tolist()]
    assert not wrong(results[line], want, {"%a": column})


@pytest.mark.parametrize(
    "text",
    [
        "cvt.rs.f16x2.f32 {d}, %a, %b, %a;",
        "cvt.rs.satfinite.e4m3x4.f32 {d}, {{%a, %b, %a, %b}}, %a;",
        "cvt.rn.satfinite.ue5m3x2.f32 {d}, %a, %b;",
    ],
)
def test_what_is_not_lowered_is_said(text: str) -> None:
    inputs = {"%a": np.zeros(32, np.uint32), "%b": np.zeros(32, np.uint32)}
    with pytest.raises(PtxError, match=f"{text.split()[0]} is not supported"):
        carry_out({text: "f16x2"}, inputs, dict.fromkeys(inputs, "f32"), target="sm_100a")
