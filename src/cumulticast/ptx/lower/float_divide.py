"""div, rcp, sqrt, rsqrt of floats.

The rounded forms are IEEE 754. The approximate ones (.approx, .full) are correctly rounded too: within every bound that
PTX ISA states, though not the bits of a GPU's tables.
"""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import lowers_float
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.float_exact import divide, square_root
from cumulticast.ptx.lower.float_forms import elementwise, rounding
from cumulticast.ptx.syntax import Instruction

ONE = {"float": 0x3F800000, "double": 0x3FF0000000000000}


def approximate(ins: Instruction) -> bool:
    """Tell whether an instruction may be inexact."""
    return ins.has("approx") or ins.has("full")


@lowers_float("div")
def lower_div(em: Emitter, ins: Instruction) -> None:
    """``div.rnd{.ftz}.type``, ``div.approx{.ftz}.f32``, ``div.full{.ftz}.f32``."""
    elementwise(em, ins, lambda em, kind, v: (kind, divide(em, rounding(ins), kind, v[0], v[1])))


@lowers("rcp")
def lower_rcp(em: Emitter, ins: Instruction) -> None:
    """``rcp.rnd{.ftz}.type``, ``rcp.approx{.ftz}.f32``, ``rcp.approx.ftz.f64``."""
    elementwise(
        em, ins, lambda em, kind, v: (kind, divide(em, rounding(ins), kind, em.float_const(kind, ONE[kind]), v[0]))
    )


@lowers("sqrt")
def lower_sqrt(em: Emitter, ins: Instruction) -> None:
    """``sqrt.rnd{.ftz}.type``, ``sqrt.approx{.ftz}.f32``."""
    elementwise(em, ins, lambda em, kind, v: (kind, square_root(em, rounding(ins), kind, v[0])))


@lowers("rsqrt")
def lower_rsqrt(em: Emitter, ins: Instruction) -> None:
    """``rsqrt.approx{.ftz}.type``."""

    def compute(em: Emitter, kind: str, values: list[str]) -> tuple[str, str]:
        wide = em.cast("fpext", kind, "double", values[0]) if kind == "float" else values[0]
        root = square_root(em, "rn", "double", wide)
        value = em.op("fdiv", "double", em.float_const("double", ONE["double"]), root)
        return kind, em.cast("fptrunc", "double", kind, value) if kind == "float" else value

    elementwise(em, ins, compute)
