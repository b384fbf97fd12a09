"""sin, cos, ex2, lg2, tanh (.approx): computed in ``double`` and rounded once.

A GPU's tables cannot be had by a formula; what is answered here lies within every bound that PTX ISA states, and is
the documented value where there is one (infinities, zeros, NaN).
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.float_forms import Operation, elementwise, flushed
from cumulticast.ptx.syntax import Instruction


@lowers("sin", "cos", "ex2", "lg2", "tanh")
def lower_approximate(em: Emitter, ins: Instruction) -> None:
    """``sin.approx{.ftz}.f32 d, a``; ex2 and tanh of f16, bf16 and pairs of them too."""

    def compute(em: Emitter, kind: str, values: list[str]) -> tuple[str, str]:
        value = flushed(em, "f32", values[0]) if ins.opcode == "sin" else values[0]  # 0 of a subnormal, always
        wide = em.cast("fpext", kind, "double", value)
        return "double", em.runtime(f"ptx_{ins.opcode}_f64", ["double"], [("double", wide)])[0]

    elementwise(em, ins, Operation(compute))
