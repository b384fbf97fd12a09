"""min and max of floats: -0 is less than +0; a NaN loses against a number, or wins with .NaN."""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import lowers_float
from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.float_formats import RAW, element, read, write
from cumulticast.ptx.lower.float_forms import flushed
from cumulticast.ptx.lower.float_signs import absolute, canonical, is_nan, signs_differ, with_sign
from cumulticast.ptx.syntax import Instruction


@lowers_float("min", "max")
def lower_min_max(em: Emitter, ins: Instruction) -> None:
    """``min{.ftz}{.NaN}{.xorsign.abs}.type d, a, b``; ``min{.ftz}{.NaN}{.abs}.f32 d, a, b, c``."""
    ptx_type = element(ins.types[0])
    columns = [read(em, operand, ins.types[0]) for operand in ins.operands[1:]]
    results = [_choose(em, ins, ptx_type, list(row)) for row in zip(*columns, strict=True)]
    if ptx_type == "f64":
        em.set(ins.operands[0], "i64", _with_nan_of(em, columns[1][0], results[0]))
    else:
        write(em, ins.operands[0], ins.types[0], results)


def _with_nan_of(em: Emitter, operand: str, result: str) -> str:
    """Answer the bits of an f64 result: of two NaNs the second, made quiet (as an H200 answers)."""
    both = em.compare("fcmp", "uno", "double", result, result)
    quiet = em.op("or", "i64", em.bitcast("double", "i64", operand), em.const("i64", 1 << 51))
    return em.select(both, "i64", quiet, em.bitcast("double", "i64", result))


def _choose(em: Emitter, ins: Instruction, ptx_type: str, raw: list[str]) -> str:
    """Choose one element among two or three."""
    if ins.has("ftz"):
        raw = [flushed(em, ptx_type, value) for value in raw]
    sizes = [absolute(em, ptx_type, value) for value in raw] if ins.has("abs") else raw
    best = sizes[0]
    for other in sizes[1:]:
        best = _pick(em, ins, ptx_type, best, other)
    if ins.has("xorsign"):
        best = with_sign(em, ptx_type, best, signs_differ(em, ptx_type, raw[0], raw[1]))
    return canonical(em, ptx_type, best)


def _pick(em: Emitter, ins: Instruction, ptx_type: str, a: str, b: str) -> str:
    """Choose between two elements; NaNs need not be canonical yet."""
    kind = RAW[ptx_type]
    if kind[0] != "i":
        name = {"min": "minimum", "max": "maximum"}[ins.opcode] + ("" if ins.has("NaN") else "num")
        return em.intrinsic(f"llvm.{name}", kind, a, b)
    keys = [_key(em, kind, value) for value in (a, b)]
    better = em.compare("icmp", "slt" if ins.opcode == "min" else "sgt", kind, *keys)
    best = em.select(better, kind, a, b)
    nan_a, nan_b = is_nan(em, ptx_type, a), is_nan(em, ptx_type, b)
    if ins.has("NaN"):
        return em.select(nan_a, kind, a, em.select(nan_b, kind, b, best))
    return em.select(nan_a, kind, b, em.select(nan_b, kind, a, best))


def _key(em: Emitter, kind: str, raw: str) -> str:
    """Answer an integer that orders as the half does, -0 below +0."""
    negative = em.op("ashr", kind, raw, em.const(kind, 15))
    return em.op("xor", kind, raw, em.op("and", kind, negative, em.const(kind, 0x7FFF)))
