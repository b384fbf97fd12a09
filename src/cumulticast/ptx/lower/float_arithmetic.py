"""add, sub, mul, fma, mad of floats: IEEE 754 to the last bit, in the four rounding modes, never contracted.

f16 and bf16 are computed in ``float`` and rounded back: of a sum or a product of two numbers with p bits, rounding to
2p + 2 bits first changes nothing (Figueroa). That does not hold for fma: 9 · 29 + 2^-30 lies just above the middle of
two bf16 numbers and ``float`` would put it there. It is rounded to odd first.
"""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import lowers_float
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.float_exact import add, fused, fused_to_odd, multiply
from cumulticast.ptx.lower.float_formats import HALVES, element
from cumulticast.ptx.lower.float_forms import Compute, Operation, elementwise, rounding, times_border
from cumulticast.ptx.syntax import Instruction


@lowers_float("add", "sub")
def lower_add(em: Emitter, ins: Instruction) -> None:
    """``add{.rnd}{.ftz}{.sat}.type d, a, b``; mixed: ``add{.rnd}{.sat}.f32.atype d, a, c``."""

    def compute(em: Emitter, kind: str, values: list[str]) -> tuple[str, str]:
        right = em.op("fneg", kind, values[1]) if ins.opcode == "sub" else values[1]
        return kind, add(em, rounding(ins), kind, values[0], right)

    elementwise(em, ins, Operation(compute, _mixed(ins, 1)))  # a subnormal sum is exact


@lowers_float("mul")
def lower_mul(em: Emitter, ins: Instruction) -> None:
    """``mul{.rnd}{.ftz}{.sat}.type d, a, b``."""

    def compute(em: Emitter, kind: str, values: list[str]) -> tuple[str, str]:
        return kind, multiply(em, rounding(ins), kind, values[0], values[1])

    elementwise(em, ins, Operation(compute, large=_large(ins, compute, 0)))


@lowers("fma")
def lower_fma(em: Emitter, ins: Instruction) -> None:
    """``fma.rnd{.ftz}{.sat}{.relu}.type d, a, b, c``; mixed: ``fma.rnd{.sat}.f32.abtype d, a, b, c``."""

    def compute(em: Emitter, kind: str, values: list[str]) -> tuple[str, str]:
        a, b, c = values
        if element(ins.types[0]) in HALVES:
            return fused_to_odd(em, element(ins.types[0]), a, b, c)
        return kind, fused(em, rounding(ins), kind, a, b, c)

    elementwise(em, ins, Operation(compute, _mixed(ins, 2), nans=(1, 2, 0), large=_large(ins, compute, 0, 2)))


@lowers_float("mad")
def lower_mad(em: Emitter, ins: Instruction) -> None:
    """``mad.rnd.type``: the same as fma from sm_20 on (PTX ISA)."""
    lower_fma(em, ins)


def _large(ins: Instruction, compute: Compute, *scaled: int) -> Compute | None:
    """Make of an f32 operation the one whose operands ``scaled`` are multiplied by 2^64."""
    if element(ins.types[0]) != "f32":
        return None

    def large(em: Emitter, kind: str, values: list[str]) -> tuple[str, str]:
        return compute(em, kind, [times_border(em, kind, v) if i in scaled else v for i, v in enumerate(values)])

    return large


def _mixed(ins: Instruction, halves: int) -> list[str] | None:
    """Answer the source types of a mixed-precision instruction: so many of the second type, then the first."""
    if len(ins.types) == 1:
        return None
    return [ins.types[1]] * halves + [ins.types[0]]
