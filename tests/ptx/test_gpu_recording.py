"""What an H200 answered, bit for bit; of approximations, within the bounds that PTX ISA states."""

from __future__ import annotations

import gpu_recording
import numpy as np
import pytest
from float_bench import carry_out

RECORDED = gpu_recording.recording()
EXACT = [name for name in RECORDED if not name.startswith("approx")]
#: Instruction (its beginning) → what is compared, and how far a GPU may be from the exact result (PTX ISA 9.0, 9.7.3).
#: ulp: units in the last place; rel, abs: relative and absolute error; the last number limits the operand's size.
BOUNDS: dict[str, tuple[str, float, float]] = {
    "sin.approx": ("abs", 2**-20.5, 2 * np.pi),
    "cos.approx": ("abs", 2**-20.5, 2 * np.pi),
    "ex2.approx.f32": ("ulp", 2, np.inf),
    "ex2.approx.ftz.f32": ("ulp", 2, np.inf),
    "lg2.approx": ("lg2", 2**-22, np.inf),
    "rcp.approx.f32": ("ulp", 1, np.inf),
    "rcp.approx.ftz.f32": ("ulp", 1, np.inf),
    "sqrt.approx": ("rel", 2**-23, np.inf),
    "rsqrt.approx.f32": ("rel", 2**-22.9, np.inf),
    "rsqrt.approx.ftz.f32": ("rel", 2**-22.9, np.inf),
    "tanh.approx.f32": ("rel", 2**-11, np.inf),
    "div.": ("ulp", 2, np.inf),
    "rcp.approx.ftz.f64": ("rel", 2**-20, np.inf),
    "rsqrt.approx.ftz.f64": ("rel", 2**-20, np.inf),
    "rsqrt.approx.f64": ("ulp", 1, np.inf),
    "ex2.approx.f16": ("rel", 2**-9.9, np.inf),
    "ex2.approx.ftz.bf16": ("rel", 2**-7, np.inf),
    "tanh.approx.f16": ("abs", 2**-10.987, np.inf),
    "tanh.approx.bf16": ("abs", 2**-8, np.inf),
}
MANTISSA = {"f16": (10, -14), "bf16": (7, -126), "f32": (23, -126), "f64": (52, -1022)}


def carried_out(asked: gpu_recording.Asked) -> dict[str, np.ndarray]:
    """Carry a group out on the lowering."""
    return carry_out(asked.lines, asked.inputs, asked.types, target="sm_90")


def differences(asked: gpu_recording.Asked, line: str, ours: np.ndarray, where: np.ndarray) -> list[str]:
    columns = list(asked.inputs.values())
    return [
        f"{line} of {[hex(int(c[i])) for c in columns]}: {int(ours[i]):#x}, H200 {int(asked.answers[line][i]):#x}"
        for i in np.nonzero(where)[0][:4]
    ]


@pytest.mark.parametrize("name", EXACT)
def test_bits_are_an_h200s(name: str) -> None:
    asked = RECORDED[name]
    results = carried_out(asked)
    found: list[str] = []
    for line, ours in results.items():
        if "approx" not in line:
            found += differences(asked, line, ours, ours.astype(np.uint64) != asked.answers[line])
    assert not found


def numbers(bits: np.ndarray, name: str) -> np.ndarray:
    """Answer the numbers that bits mean, as doubles."""
    if name == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    kinds = {"f16": (np.uint16, np.float16), "f32": (np.uint32, np.float32), "f64": (np.uint64, np.float64)}[name]
    return bits.astype(kinds[0]).view(kinds[1]).astype(np.float64)


def allowed(kind: str, bound: float, exact: np.ndarray, operand: np.ndarray, name: str) -> np.ndarray:
    """Answer how far a GPU may be from results that are exact but for their own rounding (half a place more).

    The relative bounds say nothing of subnormal results: there a whole place more.
    """
    mantissa, least = MANTISSA[name]
    place = np.exp2(np.maximum(np.floor(np.log2(np.abs(exact))), least) - mantissa)
    place = np.where(np.abs(exact) < 2.0**least, 2 * place, place)
    if kind == "lg2":  # absolute about 1, relative elsewhere
        return np.where((operand > 0.5) & (operand < 2), bound, bound * np.abs(exact)) + place / 2
    return {"ulp": bound * place, "rel": bound * np.abs(exact), "abs": np.full(len(exact), bound)}[kind] + place / 2


@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("approx") and "x2" not in name])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_approximations_are_as_near_as_documented(name: str) -> None:
    asked = RECORDED[name]
    operand = numbers(asked.inputs["%a"], asked.types["%a"])
    found: list[str] = []
    for line, ours in carried_out(asked).items():
        kind = asked.lines[line]
        form, bound, limit = next(BOUNDS[start] for start in BOUNDS if line.startswith(start))
        mine, real = numbers(ours, kind), numbers(asked.answers[line], kind)
        special = ~np.isfinite(mine) | ~np.isfinite(real)
        off = np.abs(mine - real) > allowed(form, bound, mine, operand, kind)
        wrong = np.where(special, ours.astype(np.uint64) != asked.answers[line], off & (np.abs(operand) <= limit))
        found += differences(asked, line, ours, wrong)
    assert not found


def test_the_recording_says_where_it_comes_from() -> None:
    assert len(RECORDED) > 40 and sum(len(asked.lines) for asked in RECORDED.values()) > 1300
    assert {"f32", "f64", "integers32", "nan.f64", "border.f32"} <= set(RECORDED)
