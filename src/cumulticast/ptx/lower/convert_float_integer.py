"""cvt between integers and floats."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import LANES, Emitter
from cumulticast.ptx.lower.float_exact import add, sum_to_odd
from cumulticast.ptx.lower.float_forms import rounding
from cumulticast.ptx.syntax import TYPE_BITS, Instruction

#: What a NaN becomes as a 64-bit integer (CUDA C++ Programming Guide); as a narrower one it becomes 0.
NAN_AS_64 = 1 << 63
TWO_32 = 0x41F0000000000000


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
    high = em.op("fmul", "double", em.cast(cast, "i64", "double", upper), em.float_const("double", TWO_32))
    low = em.cast("uitofp", "i64", "double", lower)
    if target == "f64":
        return "double", add(em, rounding(ins), "double", high, low)
    return "double", sum_to_odd(em, high, low)


def to_integer(em: Emitter, kind: str, value: str, target: str) -> str:
    """Convert a float that is an integer (or infinite, or NaN) to an integer type; what it cannot hold is clamped."""
    whole = em.kind(target)
    name = "fptosi" if target[0] == "s" else "fptoui"
    suffix = {"float": "f32", "double": "f64"}[kind]
    lanes = f"v{LANES}" if em.vector else ""
    full = f"llvm.{name}.sat.{lanes}{whole}.{lanes}{suffix}"
    em.declare(f"{em.t(whole)} @{full}({em.t(kind)})")
    result = em.emit(f"call {em.t(whole)} @{full}({em.t(kind)} {value})")
    if TYPE_BITS[target] < 64:
        return result
    nan = em.compare("fcmp", "uno", kind, value, value)
    return em.select(nan, whole, em.const(whole, NAN_AS_64), result)
