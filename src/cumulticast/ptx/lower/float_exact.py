"""Sums and products of floats in each rounding mode, without any error but the last rounding.

To nearest, the host's own instructions do it. In the directed modes the C runtime turns the host's rounding mode for
the 32 lanes and back.
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import BITS_OF, NAN_BITS, Emitter
from cumulticast.ptx.lower.float_host import has_fma

SUFFIX = {"float": "f32", "double": "f64"}


def directed(em: Emitter, name: str, mode: str, kind: str, *values: str) -> str:
    """Call the runtime's add, mul, fma, div, sqrt (all modes but rn) or its fma to nearest."""
    return em.runtime(f"ptx_{name}_{mode}_{SUFFIX[kind]}", [kind], [(kind, value) for value in values])[0]


def add(em: Emitter, mode: str, kind: str, a: str, b: str) -> str:
    """Add."""
    return em.op("fadd", kind, a, b) if mode == "rn" else directed(em, "add", mode, kind, a, b)


def multiply(em: Emitter, mode: str, kind: str, a: str, b: str) -> str:
    """Multiply."""
    return em.op("fmul", kind, a, b) if mode == "rn" else directed(em, "mul", mode, kind, a, b)


def divide(em: Emitter, mode: str, kind: str, a: str, b: str) -> str:
    """Divide."""
    return em.op("fdiv", kind, a, b) if mode == "rn" else directed(em, "div", mode, kind, a, b)


def square_root(em: Emitter, mode: str, kind: str, a: str) -> str:
    """Take the square root.

    Of the magnitude: LLVM knows that the root of a negative number is NaN, and (no NaN differing from another in its
    eyes) takes the selection of the canonical NaN away again.
    """
    if mode != "rn":
        return directed(em, "sqrt", mode, kind, a)
    size = em.intrinsic("llvm.sqrt", kind, em.intrinsic("llvm.fabs", kind, a))
    negative = em.compare("fcmp", "olt", kind, a, em.float_const(kind, 0))
    result = em.intrinsic("llvm.copysign", kind, size, a)  # -0 gives -0
    return em.select(negative, kind, em.float_const(kind, NAN_BITS[kind]), result)


def fused(em: Emitter, mode: str, kind: str, a: str, b: str, c: str) -> str:
    """Multiply and add with one rounding."""
    if mode == "rn" and has_fma():
        return em.intrinsic("llvm.fma", kind, a, b, c)
    return directed(em, "fma", mode, kind, a, b, c)


def sum_to_odd(em: Emitter, kind: str, a: str, b: str) -> str:
    """Add two numbers; where that is inexact, answer the odd one of the two of that kind beside the sum.

    Rounding the answer to two bits less or fewer, in any mode, gives what rounding the sum itself would (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums"). The error is Knuth's TwoSum: exact short of overflow.
    """
    whole = f"i{BITS_OF[kind]}"
    total = em.op("fadd", kind, a, b)
    back = em.op("fsub", kind, total, a)
    left = em.op("fsub", kind, a, em.op("fsub", kind, total, back))
    error = em.op("fadd", kind, left, em.op("fsub", kind, b, back))
    bits = em.bitcast(kind, whole, total)
    inexact = em.compare("fcmp", "one", kind, error, em.float_const(kind, 0))
    even = em.op("xor", "i1", em.cast("trunc", whole, "i1", bits), em.const("i1", 1))
    outward = em.op("xor", whole, bits, em.bitcast(kind, whole, error))  # signs that differ: the sum is too large
    too_large = em.compare("icmp", "slt", whole, outward, em.const(whole, 0))
    step = em.select(too_large, whole, em.const(whole, -1), em.const(whole, 1))
    move = em.select(em.op("and", "i1", inexact, even), whole, step, em.const(whole, 0))
    return em.bitcast(whole, kind, em.op("add", whole, bits, move))


def fused_to_odd(em: Emitter, ptx_type: str, a: str, b: str, c: str) -> tuple[str, str]:
    """Answer a · b + c of three halves, given as ``float``, rounded to odd: kind and value.

    The product of two f16 is exact as a float; that of two bf16 may be too small or too large and needs a double.
    """
    if ptx_type == "f16":
        return "float", sum_to_odd(em, "float", em.op("fmul", "float", a, b), c)
    wide = [em.cast("fpext", "float", "double", value) for value in (a, b, c)]
    return "double", sum_to_odd(em, "double", em.op("fmul", "double", wide[0], wide[1]), wide[2])
