"""Integer multiplication: mul mad mul24 mad24 (PTX ISA 9.7.1.3-9.7.1.6); with carry they are in carry.py."""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import lowers_integer
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import bits_of, integer_type, is_signed
from cumulticast.ptx.syntax import Instruction


@lowers_integer("mul")
def lower_mul(em: Emitter, ins: Instruction) -> None:
    """``d = a · b``: the low half, the high half, or (``.wide``) all of the product."""
    kind, value = product(em, ins)
    em.set(ins.operands[0], kind, value, signed=is_signed(integer_type(ins)))


@lowers_integer("mad")
def lower_mad(em: Emitter, ins: Instruction) -> None:
    """``d = a · b + c`` of the half of the product that is wanted; ``.hi.sat.s32`` stays within the type."""
    kind, value = product(em, ins)
    _add_third(em, ins, kind, value)


@lowers("mul24")
def lower_mul24(em: Emitter, ins: Instruction) -> None:
    """The low or the high 32 bits of the 48-bit product of 24-bit numbers."""
    em.set(ins.operands[0], "i32", product24(em, ins), signed=is_signed(integer_type(ins)))


@lowers("mad24")
def lower_mad24(em: Emitter, ins: Instruction) -> None:
    """``mul24`` plus a third operand; ``.hi.sat.s32`` stays within the type."""
    _add_third(em, ins, "i32", product24(em, ins))


def _add_third(em: Emitter, ins: Instruction, kind: str, value: str) -> None:
    c = em.get(ins.operands[3], kind)
    total = em.intrinsic("llvm.sadd.sat", kind, value, c) if ins.has("sat") else em.op("add", kind, value, c)
    em.set(ins.operands[0], kind, total, signed=is_signed(integer_type(ins)))


def product(em: Emitter, ins: Instruction) -> tuple[str, str]:
    """Multiply operands 1 and 2; answer the kind and the value of the part that ``.lo``, ``.hi``, ``.wide`` name."""
    kind, signed = em.kind(integer_type(ins)), is_signed(integer_type(ins))
    a, b = em.get(ins.operands[1], kind), em.get(ins.operands[2], kind)
    if ins.has("lo"):
        return kind, em.op("mul", kind, a, b)
    if em.vector and kind == "i64":
        return kind, _high64(em, signed, a, b)
    wide = f"i{2 * bits_of(kind)}"
    whole = em.op("mul", wide, em.resize(kind, wide, a, signed=signed), em.resize(kind, wide, b, signed=signed))
    if ins.has("wide"):
        return wide, whole
    return kind, em.resize(wide, kind, em.op("lshr", wide, whole, em.const(wide, bits_of(kind))))


def _high64(em: Emitter, signed: bool, a: str, b: str) -> str:
    """Answer the high half of 128 bits by products of 32-bit halves: LLVM has no vectors of wider products."""
    (al, ah), (bl, bh) = _halves(em, a), _halves(em, b)
    middle = em.op("add", "i64", em.op("mul", "i64", ah, bl), _halves(em, em.op("mul", "i64", al, bl))[1])
    low, high = _halves(em, middle)
    carried = _halves(em, em.op("add", "i64", em.op("mul", "i64", al, bh), low))[1]
    result = em.op("add", "i64", em.op("add", "i64", em.op("mul", "i64", ah, bh), high), carried)
    if not signed:
        return result
    for negative, other in ((a, b), (b, a)):  # what a negative number counts too much: 2^64 times the other
        sign = em.op("ashr", "i64", negative, em.const("i64", 63))
        result = em.op("sub", "i64", result, em.op("and", "i64", sign, other))
    return result


def _halves(em: Emitter, value: str) -> tuple[str, str]:
    """Answer the low and the high 32 bits, each as i64."""
    return em.op("and", "i64", value, em.const("i64", 0xFFFFFFFF)), em.op("lshr", "i64", value, em.const("i64", 32))


def product24(em: Emitter, ins: Instruction) -> str:
    """Multiply the low 24 bits of operands 1 and 2: ``.lo`` is bits 0-31 of the product, ``.hi`` bits 16-47."""
    shift = "ashr" if is_signed(integer_type(ins)) else "lshr"
    a, b = (_low24(em, em.get(operand, "i32"), shift) for operand in ins.operands[1:3])
    if ins.has("lo"):
        return em.op("mul", "i32", a, b)
    signed = shift == "ashr"
    whole = em.op("mul", "i64", em.resize("i32", "i64", a, signed=signed), em.resize("i32", "i64", b, signed=signed))
    return em.resize("i64", "i32", em.op("lshr", "i64", whole, em.const("i64", 16)))


def _low24(em: Emitter, value: str, shift: str) -> str:
    eight = em.const("i32", 8)
    return em.op(shift, "i32", em.op("shl", "i32", value, eight), eight)
