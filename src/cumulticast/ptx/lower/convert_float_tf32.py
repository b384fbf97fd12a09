"""cvt.rna.tf32.f32: to nearest, ties away from zero, in plain integer arithmetic.

As an H200 answers, a NaN's bits are cut off (not rounded), and ``.satfinite`` takes one place off whatever has the
greatest exponent then.
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.float_formats import FORMATS
from cumulticast.ptx.syntax import Instruction


def ties_away(em: Emitter, ins: Instruction) -> None:
    """``cvt.rna{.satfinite}.tf32.f32 d, a``."""
    place = 1 << FORMATS["tf32"].padding
    bits = em.get(ins.operands[1], "i32")
    half = em.select(_beyond(em, bits), "i32", em.const("i32", 0), em.const("i32", place // 2))
    bits = em.op("and", "i32", em.op("add", "i32", bits, half), em.const("i32", -place))
    if ins.has("satfinite"):
        bits = em.select(_beyond(em, bits), "i32", em.op("sub", "i32", bits, em.const("i32", place)), bits)
    em.set(ins.operands[0], "i32", bits)


def _beyond(em: Emitter, bits: str) -> str:
    """Tell whether an f32's bits are infinity or NaN."""
    infinity = em.const("i32", FORMATS["f32"].infinity)
    return em.compare("icmp", "eq", "i32", em.op("and", "i32", bits, infinity), infinity)
