"""div, rcp, sqrt, rsqrt of floats.

The rounded forms are IEEE 754. The approximate ones (.approx, .full) are correctly rounded too: within every bound that
PTX ISA states, though not the bits of a GPU's tables. Its special values hold.
"""

from __future__ import annotations

from collections.abc import Callable

from cumulticast.ptx.lower.by_type import lowers_float
from cumulticast.ptx.lower.emitter import NAN_BITS, Emitter, lowers
from cumulticast.ptx.lower.float_exact import divide, square_root
from cumulticast.ptx.lower.float_forms import (
    Compute,
    Operation,
    constant,
    elementwise,
    flushed,
    rounding,
    times_border,
)
from cumulticast.ptx.syntax import Instruction

#: Beyond this divisor div.approx answers 0, and NaN of infinity (PTX ISA).
LARGEST_DIVISOR = 2.0**126


@lowers_float("div")
def lower_div(em: Emitter, ins: Instruction) -> None:
    """``div.rnd{.ftz}.type``, ``div.approx{.ftz}.f32``, ``div.full{.ftz}.f32``."""

    def compute(em: Emitter, kind: str, values: list[str]) -> tuple[str, str]:
        quotient = divide(em, rounding(ins), kind, values[0], values[1])
        return kind, _small_divisor(em, kind, values, quotient) if ins.has("approx") else quotient

    elementwise(em, ins, Operation(compute, nans=(0, 1), large=_large(ins, compute)))


def _small_divisor(em: Emitter, kind: str, values: list[str], quotient: str) -> str:
    """Answer the quotient; with a large divisor, the dividend times 0."""
    size = em.intrinsic("llvm.fabs", kind, values[1])
    beyond = em.compare("fcmp", "ogt", kind, size, constant(em, kind, LARGEST_DIVISOR))
    zero = em.intrinsic("llvm.copysign", kind, em.float_const(kind, 0), values[1])
    return em.select(beyond, kind, em.op("fmul", kind, values[0], zero), quotient)


def _large(ins: Instruction, compute: Compute) -> Compute | None:
    """Make of an f32 division the one of the dividend times 2^64."""
    if ins.types[0] != "f32":
        return None
    return lambda em, kind, values: compute(em, kind, [times_border(em, kind, values[0]), *values[1:]])


@lowers("rcp")
def lower_rcp(em: Emitter, ins: Instruction) -> None:
    """``rcp.rnd{.ftz}.type``, ``rcp.approx{.ftz}.f32``, ``rcp.approx.ftz.f64``."""
    if ins.has("approx") and ins.types[0] == "f64":
        _of_upper_half(em, ins, lambda value: em.op("fdiv", "double", constant(em, "double", 1.0), value))
        return

    def over(numerator: float) -> Compute:
        return lambda em, kind, v: (kind, divide(em, rounding(ins), kind, constant(em, kind, numerator), v[0]))

    large = over(2.0**64) if ins.types[0] == "f32" else None
    elementwise(em, ins, Operation(over(1.0), nans=(0,), large=large))


@lowers("sqrt")
def lower_sqrt(em: Emitter, ins: Instruction) -> None:
    """``sqrt.rnd{.ftz}.type``, ``sqrt.approx{.ftz}.f32``."""
    elementwise(em, ins, Operation(lambda em, kind, v: (kind, square_root(em, rounding(ins), kind, v[0])), nans=(0,)))


@lowers("rsqrt")
def lower_rsqrt(em: Emitter, ins: Instruction) -> None:
    """``rsqrt.approx{.ftz}.type``."""
    if ins.has("ftz") and ins.types[0] == "f64":
        _of_upper_half(em, ins, lambda value: _inverse_root(em, "double", value))
    else:
        elementwise(em, ins, Operation(lambda em, kind, v: ("double", _inverse_root(em, kind, v[0])), nans=(0,)))


def _inverse_root(em: Emitter, kind: str, value: str) -> str:
    """Answer 1 / sqrt(value) as a double."""
    wide = em.cast("fpext", kind, "double", value) if kind == "float" else value
    return em.op("fdiv", "double", constant(em, "double", 1.0), square_root(em, "rn", "double", wide))


def _of_upper_half(em: Emitter, ins: Instruction, function: Callable[[str], str]) -> None:
    """Carry out rcp or rsqrt ``.approx.ftz.f64``: only the upper 32 bits of operand and result count (PTX ISA)."""
    upper = em.const("i64", -1 << 32)
    operand = flushed(em, "f64", em.get(ins.operands[1], "double"))
    operand = em.bitcast("i64", "double", em.op("and", "i64", em.bitcast("double", "i64", operand), upper))
    result = flushed(em, "f64", function(operand))
    nan = em.compare("fcmp", "uno", "double", result, result)
    bits = em.op("and", "i64", em.bitcast("double", "i64", result), upper)
    em.set(ins.operands[0], "i64", em.select(nan, "i64", em.const("i64", NAN_BITS["float"] << 32), bits))
