"""Shifts: shl shr shf (PTX ISA 9.7.8). Amounts are unsigned 32-bit numbers, and clamp: they never wrap round."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import bits_of, integer_type, is_signed, write
from cumulticast.ptx.syntax import Instruction, Integer


@lowers("shl", "shr")
def lower_shift(em: Emitter, ins: Instruction) -> None:
    """``d = a << b`` or ``a >> b``; an amount beyond the width leaves nothing, or the sign (``shr.s``)."""
    ptx_type = integer_type(ins)
    value = em.get(ins.operands[1], em.kind(ptx_type))
    name = "shl" if ins.opcode == "shl" else "ashr" if is_signed(ptx_type) else "lshr"
    if isinstance(ins.operands[2], Integer):
        result = shift_by(em, name, em.kind(ptx_type), value, ins.operands[2].value & 0xFFFFFFFF)
    else:
        result = shift_clamped(em, name, em.kind(ptx_type), value, em.get(ins.operands[2], "i32"))
    write(em, ins.operands[0], ptx_type, result)


def shift_by(em: Emitter, name: str, kind: str, value: str, amount: int) -> str:
    """Shift by a number known now."""
    if amount >= bits_of(kind) and name != "ashr":
        return em.const(kind, 0)
    return em.op(name, kind, value, em.const(kind, min(amount, bits_of(kind) - 1)))


def shift_clamped(em: Emitter, name: str, kind: str, value: str, amount: str) -> str:
    """Shift by a number of kind i32: where it reaches the width, LLVM's result is not used."""
    bits = bits_of(kind)
    if name == "ashr":
        amount = em.intrinsic("llvm.umin", "i32", amount, em.const("i32", bits - 1))
        return em.op(name, kind, value, em.resize("i32", kind, amount))
    inside = em.compare("icmp", "ult", "i32", amount, em.const("i32", bits))
    return em.select(inside, kind, em.op(name, kind, value, em.resize("i32", kind, amount)), em.const(kind, 0))


@lowers("shf")
def lower_shf(em: Emitter, ins: Instruction) -> None:
    """Shift the 64 bits ``{b, a}``: ``.l`` left, and give the high word; ``.r`` right, and give the low word."""
    low, high, amount = (em.get(operand, "i32") for operand in ins.operands[1:4])
    left = ins.has("l")
    shifted = em.intrinsic("llvm.fshl" if left else "llvm.fshr", "i32", high, low, amount)  # takes it modulo 32
    if ins.has("clamp"):
        beyond = em.compare("icmp", "ugt", "i32", amount, em.const("i32", 31))
        shifted = em.select(beyond, "i32", low if left else high, shifted)
    em.set(ins.operands[0], "i32", shifted)
