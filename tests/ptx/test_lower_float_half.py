"""add sub mul fma of f16, bf16, pairs of them and of f32, and mixed precision, against exact fractions."""

from __future__ import annotations

from collections.abc import Callable

import float_model as model
import numpy as np
import pytest
from float_bench import ELEMENT, carry_out, floats, near, wrong
from test_lower_float_arithmetic import OPERATIONS, saturate
from test_lower_float_choice import elements, joined

COUNT = 512


def clip(value: model.Number) -> model.Number:
    """Make +0 of what is negative."""
    return model.Fraction(0) if value != "nan" and model.is_negative(value) else value


def triples(ptx_type: str, seed: int) -> dict[str, np.ndarray]:
    """Draw three operands, a third of them near each other, a third such that fma's sum is hard to round."""
    inputs = {f"%{letter}": floats(ptx_type, COUNT, seed + i) for i, letter in enumerate("abc")}
    if ptx_type in ELEMENT:
        return inputs
    part = slice(COUNT // 3, None)
    inputs["%b"][part] = near(ptx_type, inputs["%a"][part], seed + 5)
    inputs["%c"][part] = near(ptx_type, inputs["%a"][part], seed + 6)
    inputs["%a"][-128:], inputs["%b"][-128:], inputs["%c"][-128:] = ties(ptx_type, 128, seed)
    return inputs


def ties(name: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a, b with a · b in the middle of two numbers, and a c that is next to nothing beside it."""
    rng = np.random.default_rng(seed)
    found: list[tuple[int, int, int]] = []
    digits = model.LAYOUTS[name].mantissa + 1
    while len(found) < count:
        a, b = (int(v) | 1 for v in rng.integers(1, 1 << digits, 2))
        if (a * b).bit_length() == digits + 1:
            # Of bf16 also three quarters of a double's last place: the double nearest to the sum is odd already.
            place = int(rng.integers(5, 24)) if name == "f16" else (a * b).bit_length() - 55 + int(rng.integers(0, 3))
            tiny = model.Fraction(int(rng.choice([-3, -1, 1, 3]))) * model.Fraction(2) ** (
                -place if name == "f16" else place
            )
            found.append(tuple(model.encode(model.Fraction(v), name) for v in (a, b, tiny)))  # type: ignore[arg-type]
    columns = np.array(found, np.uint16).T
    return columns[0], columns[1], columns[2]


def lines_of(ptx_type: str) -> dict[str, list[str]]:
    """List the forms of a type as instruction → words."""
    tails: list[list[str]] = [[]]
    if ptx_type in ("f16", "f16x2"):
        tails = [[], ["ftz"], ["sat"], ["ftz", "sat"]]
    forms = [[op, "rn", *tail] for op in ("add", "sub", "mul", "fma") for tail in tails]
    forms += [["fma", "rn", *tail, "relu"] for tail in ([[], ["ftz"]] if "bf" not in ptx_type else [[]])]
    if ptx_type == "f32x2":
        forms = [
            [op, mode, *f] for op in ("add", "mul", "fma") for mode in ("rn", "rz", "rm", "rp") for f in ([], ["ftz"])
        ]
    return {
        f"{'.'.join([*words, ptx_type])} {{d}}, {', '.join(['%a', '%b', '%c'][: OPERATIONS[words[0]][0]])};": words
        for words in forms
    }


def result(words: list[str], name: str, row: tuple[int, ...]) -> int:
    """Answer the bits of one element's result."""
    count, function = OPERATIONS[words[0]]
    flushed = [model.flush(bits, name) if "ftz" in words else bits for bits in row[:count]]
    value = function(*(model.decode(bits, name) for bits in flushed), words[1])
    if "ftz" in words and model.is_tiny(value, name, words[1]):
        value = model.signed(model.Fraction(0), model.is_negative(value))
    value = saturate(value) if "sat" in words else clip(value) if "relu" in words else value
    return model.encode(value, name, words[1])


@pytest.mark.parametrize("ptx_type", ["f16", "bf16", "f16x2", "bf16x2", "f32x2"])
def test_small_and_packed(ptx_type: str) -> None:
    name, inputs, lines = ELEMENT.get(ptx_type, ptx_type), triples(ptx_type, 41), lines_of(ptx_type)
    if ptx_type == "f32x2":
        inputs = {register: column[:128] for register, column in inputs.items()}
    target = "sm_100" if ptx_type == "f32x2" else "sm_90"
    results = carry_out(dict.fromkeys(lines, ptx_type), inputs, dict.fromkeys(inputs, ptx_type), target=target)
    for line, words in lines.items():
        want = []
        for row in zip(*(column.tolist() for column in inputs.values()), strict=True):
            each = zip(*(elements(bits, ptx_type) for bits in row), strict=True)
            want.append(joined([result(words, name, element) for element in each], ptx_type))
        assert not wrong(results[line], want, inputs), line


def test_a_float_sum_would_round_this_fma_twice() -> None:
    """9 · 29 + 2^-30 lies just above the middle of the bf16 numbers 260 and 262: it is 262."""
    a, b, c = (model.encode(model.Fraction(v), "bf16") for v in (9, 29, model.Fraction(1, 1 << 30)))
    inputs = {name: np.full(32, bits, np.uint16) for name, bits in zip(["%a", "%b", "%c"], (a, b, c), strict=True)}
    line = "fma.rn.bf16 {d}, %a, %b, %c;"
    results = carry_out({line: "bf16"}, inputs, dict.fromkeys(inputs, "bf16"))
    assert set(results[line].tolist()) == {model.encode(model.Fraction(262), "bf16")}


MIXED: dict[str, tuple[str, Callable[..., model.Number]]] = {
    "add": ("%a, %c", lambda a, b, c, mode: model.add(a, c, mode)),
    "sub": ("%a, %c", lambda a, b, c, mode: model.add(a, model.negated(c), mode)),
    "fma": ("%a, %b, %c", model.fuse),
}


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_mixed_precision(half: str) -> None:
    inputs = {"%a": floats(half, COUNT, 51), "%b": floats(half, COUNT, 52), "%c": floats("f32", COUNT, 53)}
    types = {"%a": half, "%b": half, "%c": "f32"}
    forms = [(op, mode, sat) for op in MIXED for mode in ("rn", "rz", "rm", "rp") for sat in ("", ".sat")]
    lines = {f"{op}.{mode}{sat}.f32.{half} {{d}}, {MIXED[op][0]};": (op, mode, sat) for op, mode, sat in forms}
    results = carry_out(dict.fromkeys(lines, "f32"), inputs, types, target="sm_100")
    for line, (op, mode, sat) in lines.items():
        want = []
        for row in zip(*(column.tolist() for column in inputs.values()), strict=True):
            values = [model.decode(bits, types[name]) for bits, name in zip(row, inputs, strict=True)]
            value = MIXED[op][1](*values, mode)
            want.append(model.encode(saturate(value) if sat else value, "f32", mode))
        assert not wrong(results[line], want, inputs), line
