"""min max neg abs copysign testp of every float type, against the numbers that the bits mean."""

from __future__ import annotations

import float_model as model
import numpy as np
import pytest
from float_bench import ELEMENT, carry_out, floats, wrong

COUNT = 512
SCALARS = ("f32", "f64", "f16", "bf16")


def elements(bits: int, ptx_type: str) -> list[int]:
    """Cut a packed value; a scalar is one element."""
    if ptx_type not in ELEMENT:
        return [bits]
    width = model.LAYOUTS[ELEMENT[ptx_type]].width
    return [bits & ((1 << width) - 1), bits >> width]


def joined(parts: list[int], ptx_type: str) -> int:
    width = model.LAYOUTS[ELEMENT.get(ptx_type, ptx_type)].width
    return sum(part << (i * width) for i, part in enumerate(parts))


def order(value: model.Number) -> tuple[float, int]:
    """Order numbers, -0 below +0."""
    if model.is_infinite(value):
        return (-np.inf if value == "-inf" else np.inf, 0)
    return (model.plain(value), value != "-0")  # type: ignore[return-value]


def choose(words: list[str], name: str, row: list[int]) -> int:
    """Answer min or max of two or three elements."""
    row = [model.flush(bits, name) for bits in row] if "ftz" in words else row
    sign = 1 << (model.LAYOUTS[name].width - 1)
    values = [model.decode(bits & (sign - 1) if "abs" in words else bits, name) for bits in row]
    numbers = [value for value in values if value != "nan"]
    if not numbers and name == "f64":
        return row[1] | 1 << 51
    if not numbers or ("NaN" in words and len(numbers) < len(values)):
        return model.LAYOUTS[name].nan
    bits = model.encode((min if words[0] == "min" else max)(numbers, key=order), name)
    return bits ^ ((row[0] ^ row[1]) & sign) if "xorsign" in words else bits


def variants(ptx_type: str) -> list[list[str]]:
    if ptx_type == "f64":
        return [["min"], ["max"]]
    flushes = [[], ["ftz"]] if ptx_type in ("f32", "f16", "f16x2") else [[]]
    tails = [[*a, *b, *c] for a in flushes for b in ([], ["NaN"]) for c in ([], ["xorsign", "abs"])]
    return [[op, *tail] for op in ("min", "max") for tail in tails]


@pytest.mark.parametrize("ptx_type", ["f32", "f64", "f16", "bf16", "f16x2", "bf16x2"])
def test_min_max(ptx_type: str) -> None:
    name = ELEMENT.get(ptx_type, ptx_type)
    inputs = {"%a": floats(ptx_type, COUNT, 11), "%b": floats(ptx_type, COUNT, 12)}
    inputs["%b"][::9] = inputs["%a"][::9] ^ inputs["%a"].dtype.type(1 << (model.LAYOUTS[name].width - 1))
    lines = {f"{'.'.join([*words, ptx_type])} {{d}}, %a, %b;": words for words in variants(ptx_type)}
    results = carry_out(dict.fromkeys(lines, ptx_type), inputs, dict.fromkeys(inputs, ptx_type))
    for line, words in lines.items():
        want = []
        for row in zip(*(column.tolist() for column in inputs.values()), strict=True):
            pairs = zip(*(elements(bits, ptx_type) for bits in row), strict=True)
            want.append(joined([choose(words, name, list(pair)) for pair in pairs], ptx_type))
        assert not wrong(results[line], want, inputs), line


def test_min_max_of_three() -> None:
    inputs = {f"%{letter}": floats("f32", COUNT, 20 + i) for i, letter in enumerate("abc")}
    lines = {
        f"{'.'.join([op, *tail, 'f32'])} {{d}}, %a, %b, %c;": [op, *tail]
        for op in ("min", "max")
        for tail in ([], ["NaN"], ["ftz", "abs"], ["ftz", "NaN", "abs"])
    }
    results = carry_out(dict.fromkeys(lines, "f32"), inputs, dict.fromkeys(inputs, "f32"), target="sm_100")
    for line, words in lines.items():
        want = [choose(words, "f32", list(row)) for row in zip(*(c.tolist() for c in inputs.values()), strict=True)]
        assert not wrong(results[line], want, inputs), line


CLASSES = {
    "notanumber": lambda v, small: v == "nan",
    "number": lambda v, small: v != "nan",
    "infinite": lambda v, small: model.is_infinite(v),
    "finite": lambda v, small: v != "nan" and not model.is_infinite(v),
    "normal": lambda v, small: v in ("-0", 0) or (not isinstance(v, str) and abs(v) >= small),  # zeros: as an H200
    "subnormal": lambda v, small: v not in ("nan", "-0", 0) and not model.is_infinite(v) and abs(v) < small,
}


@pytest.mark.parametrize("ptx_type", ["f32", "f64", "f16", "bf16", "f16x2", "bf16x2"])
def test_neg_and_abs(ptx_type: str) -> None:
    name = ELEMENT.get(ptx_type, ptx_type)
    inputs = {"%a": floats(ptx_type, COUNT, 13)}
    words = [[op, *tail] for op in ("neg", "abs") for tail in ([[], ["ftz"]] if ptx_type in ("f32", "f16") else [[]])]
    lines = {f"{'.'.join([*each, ptx_type])} {{d}}, %a;": each for each in words}
    results = carry_out(dict.fromkeys(lines, ptx_type), inputs, {"%a": ptx_type})
    for line, each in lines.items():
        want = [
            joined([sign_changed(each, name, bits) for bits in elements(whole, ptx_type)], ptx_type)
            for whole in inputs["%a"].tolist()
        ]
        assert not wrong(results[line], want, inputs), line


def sign_changed(words: list[str], name: str, bits: int) -> int:
    """Answer neg or abs of one element; a NaN is canonical, of f64 it stays, quiet."""
    if model.decode(bits, name) == "nan":
        return bits | 1 << 51 if name == "f64" else model.LAYOUTS[name].nan
    bits = model.flush(bits, name) if "ftz" in words else bits
    sign = 1 << (model.LAYOUTS[name].width - 1)
    return bits ^ sign if words[0] == "neg" else bits & (sign - 1)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_class_and_sign(name: str) -> None:
    inputs = {"%a": floats(name, COUNT, 31), "%b": floats(name, COUNT, 32)}
    sign = 1 << (model.LAYOUTS[name].width - 1)
    small = model.decode(1 << model.LAYOUTS[name].mantissa, name)
    lines = {f"testp.{word}.{name} {{d}}, %a;": "pred" for word in CLASSES}
    copy = f"copysign.{name} {{d}}, %a, %b;"
    results = carry_out({**lines, copy: name}, inputs, dict.fromkeys(inputs, name))
    for line, (word, test) in zip(lines, CLASSES.items(), strict=True):
        want = [int(test(model.decode(bits, name), small)) for bits in inputs["%a"].tolist()]
        assert not wrong(results[line], want, inputs), word
    pairs = zip(inputs["%a"].tolist(), inputs["%b"].tolist(), strict=True)
    assert not wrong(results[copy], [(a & sign) | (b & (sign - 1)) for a, b in pairs], inputs)
