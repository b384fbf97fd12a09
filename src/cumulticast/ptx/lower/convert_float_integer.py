"""cvt between integers and floats."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import LANES, Emitter
from cumulticast.ptx.lower.float_exact import add, sum_to_odd
from cumulticast.ptx.lower.float_forms import constant, rounding
from cumulticast.ptx.syntax import TYPE_BITS, Instruction


def from_integer(em: Emitter, ins: Instruction, target: str, source: str) -> tuple[str, str]:
    """Answer an integer operand as (kind, value) that one more rounding to ``target`` makes the exact conversion."""
    signed = source[0] == "s"
    value = em.get(ins.operands[1], em.kind(source))
    cast = "sitofp" if signed else "uitofp"
    if rounding(ins) == "rn" and target in ("f32", "f64"):
        kind = {"f32": "float", "f64": "double"}[target]
        return kind, em.cast(cast, em.kind(source), kind, value)
    if TYPE_BITS[source] < 64:
        return "double", em.cast(cast, em.kind(source), "double", value)
    upper = em.op("ashr" if signed else "lshr", "i64", value, em.const("i64", 32))
    lower = em.op("and", "i64", value, em.const("i64", 0xFFFFFFFF))
    high = em.op("fmul", "double", em.cast(cast, "i64", "double", upper), constant(em, "double", 2.0**32))
    low = em.cast("uitofp", "i64", "double", lower)
    if target == "f64":
        return "double", add(em, rounding(ins), "double", high, low)
    return "double", sum_to_odd(em, "double", high, low)


def to_integer(em: Emitter, kind: str, value: str, target: str, source: str) -> str:
    """Convert a float that is an integer (or infinite, or NaN) to an integer type; what it cannot hold is clamped.

    NaN becomes 0; of f64, and as 64 bits, it becomes the integer whose uppermost bit alone is set (as an H200 answers).
    """
    whole = em.kind(target)
    name = "fptosi" if target[0] == "s" else "fptoui"
    suffix = {"float": "f32", "double": "f64"}[kind]
    lanes = f"v{LANES}" if em.vector else ""
    full = f"llvm.{name}.sat.{lanes}{whole}.{lanes}{suffix}"
    em.declare(f"{em.t(whole)} @{full}({em.t(kind)})")
    result = em.emit(f"call {em.t(whole)} @{full}({em.t(kind)} {value})")
    if TYPE_BITS[target] < 64 and source != "f64":
        return result
    nan = em.compare("fcmp", "uno", kind, value, value)
    return em.select(nan, whole, em.const(whole, 1 << (TYPE_BITS[target] - 1)), result)
