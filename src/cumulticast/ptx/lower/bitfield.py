"""Bit fields: bfe bfi bmsk szext (PTX ISA 9.7.1.19-9.7.1.22).

The ISA takes the low 8 bits of a place and of a length. An H200 does so for words of 32 bits; for words of 64 the code
of ptxas 13.0 takes all 32 bits, so that 256 is beyond the word and not 0 (recorded on driver 580.159): as here.
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import bits_of, integer_type, is_signed, write
from cumulticast.ptx.lower.logic import inverted
from cumulticast.ptx.lower.shift import shift_clamped
from cumulticast.ptx.syntax import Instruction, Operand


def _extent(em: Emitter, kind: str, operand: Operand) -> str:
    """Read a place or a length."""
    value = em.get(operand, "i32")
    return value if kind == "i64" else em.op("and", "i32", value, em.const("i32", 0xFF))


def low_ones(em: Emitter, kind: str, count: str) -> str:
    """Answer a value whose lowest ``count`` (of kind i32) bits are 1."""
    return inverted(em, kind, shift_clamped(em, "shl", kind, em.const(kind, -1), count))


@lowers("bfe")
def lower_bfe(em: Emitter, ins: Instruction) -> None:
    """Take a field; signed, the bits above are the field's highest, or the word's where the field ends beyond it."""
    ptx_type = integer_type(ins)
    kind = em.kind(ptx_type)
    place, length = _extent(em, kind, ins.operands[2]), _extent(em, kind, ins.operands[3])
    value = em.get(ins.operands[1], kind)
    if is_signed(ptx_type):
        field = _signed_field(em, kind, shift_clamped(em, "ashr", kind, value, place), length)
    else:
        field = em.op("and", kind, shift_clamped(em, "lshr", kind, value, place), low_ones(em, kind, length))
    write(em, ins.operands[0], ptx_type, field)


def _signed_field(em: Emitter, kind: str, value: str, length: str) -> str:
    """Extend the lowest ``length`` bits by their sign; 0 of no bits."""
    bits = em.const("i32", bits_of(kind))
    inside = em.intrinsic("llvm.umin", "i32", length, bits)
    above = em.resize("i32", kind, em.op("sub", "i32", bits, inside))
    none = em.compare("icmp", "eq", "i32", length, em.const("i32", 0))
    field = em.op("ashr", kind, em.op("shl", kind, value, above), above)  # `above` reaches the width only for no bits
    return em.select(none, kind, em.const(kind, 0), field)


@lowers("bfi")
def lower_bfi(em: Emitter, ins: Instruction) -> None:
    """Put the low bits of a into b, as a field; what would lie beyond the word is dropped."""
    kind = em.kind(integer_type(ins))
    a, b = em.get(ins.operands[1], kind), em.get(ins.operands[2], kind)
    place, length = _extent(em, kind, ins.operands[3]), _extent(em, kind, ins.operands[4])
    field = shift_clamped(em, "shl", kind, low_ones(em, kind, length), place)
    new = em.op("and", kind, shift_clamped(em, "shl", kind, a, place), field)
    em.set(ins.operands[0], kind, em.op("or", kind, new, em.op("and", kind, b, inverted(em, kind, field))))


@lowers("bmsk")
def lower_bmsk(em: Emitter, ins: Instruction) -> None:
    """Make a mask of ``b`` ones from bit ``a`` on; ``.wrap`` takes both modulo 32."""
    place, length = (_amount(em, ins, operand) for operand in ins.operands[1:3])
    em.set(ins.operands[0], "i32", shift_clamped(em, "shl", "i32", low_ones(em, "i32", length), place))


@lowers("szext")
def lower_szext(em: Emitter, ins: Instruction) -> None:
    """Extend the lowest ``b`` bits by sign or by zeros; ``.wrap`` takes b modulo 32."""
    value, length = em.get(ins.operands[1], "i32"), _amount(em, ins, ins.operands[2])
    if is_signed(integer_type(ins)):
        result = _signed_field(em, "i32", value, length)
    else:
        result = em.op("and", "i32", value, low_ones(em, "i32", length))
    em.set(ins.operands[0], "i32", result, signed=is_signed(integer_type(ins)))


def _amount(em: Emitter, ins: Instruction, operand: Operand) -> str:
    value = em.get(operand, "i32")
    return em.op("and", "i32", value, em.const("i32", 31)) if ins.has("wrap") else value
