"""Integer addition and what is like it: add sub neg abs min max sad (PTX ISA 9.7.1), packed forms included."""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import lowers_integer
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import elementwise
from cumulticast.ptx.syntax import Instruction


@lowers_integer("add", "sub")
def lower_add_sub(em: Emitter, ins: Instruction) -> None:
    """``d = a ± b``, wrapping round; with ``.sat`` it stays within the type."""

    def element(kind: str, signed: bool, values: list[str]) -> str:
        if not ins.has("sat"):
            return em.op(ins.opcode, kind, *values)
        return em.intrinsic(f"llvm.{'s' if signed else 'u'}{ins.opcode}.sat", kind, *values)

    elementwise(em, ins, element)


@lowers_integer("neg")
def lower_neg(em: Emitter, ins: Instruction) -> None:
    """``d = -a``; the least number stays as it is."""
    elementwise(em, ins, lambda kind, _, values: em.op("sub", kind, em.const(kind, 0), *values))


@lowers_integer("abs")
def lower_abs(em: Emitter, ins: Instruction) -> None:
    """``d = |a|``; the least number stays as it is."""
    elementwise(em, ins, lambda kind, _, values: em.intrinsic("llvm.abs", kind, *values, extra="i1 false"))


@lowers_integer("min", "max")
def lower_min_max(em: Emitter, ins: Instruction) -> None:
    """The lesser or the greater; with ``.relu`` at least 0 (signed types)."""

    def element(kind: str, signed: bool, values: list[str]) -> str:
        chosen = em.intrinsic(f"llvm.{'s' if signed else 'u'}{ins.opcode}", kind, *values)
        return em.intrinsic("llvm.smax", kind, chosen, em.const(kind, 0)) if ins.has("relu") else chosen

    elementwise(em, ins, element)


@lowers("sad")
def lower_sad(em: Emitter, ins: Instruction) -> None:
    """``d = c + |a - b|``; the difference does not overflow."""
    elementwise(
        em, ins, lambda kind, signed, v: em.op("add", kind, v[2], absolute_difference(em, kind, signed, v[0], v[1]))
    )


def absolute_difference(em: Emitter, kind: str, signed: bool, a: str, b: str) -> str:
    """Answer ``|a - b|`` as an unsigned number."""
    letter = "s" if signed else "u"
    high, low = em.intrinsic(f"llvm.{letter}max", kind, a, b), em.intrinsic(f"llvm.{letter}min", kind, a, b)
    return em.op("sub", kind, high, low)
