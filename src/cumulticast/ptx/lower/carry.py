"""Extended precision: add.cc addc sub.cc subc mad.cc madc (PTX ISA 9.7.2).

The condition code's carry flag is a hidden predicate register, `CARRY`, that the compiler gives a slot like any other.
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_multiply import product
from cumulticast.ptx.lower.integer_types import integer_type, sources, write
from cumulticast.ptx.syntax import Instruction, Register

#: CC.CF: the carry, or the borrow, of the last instruction with ``.cc``.
CARRY = Register("%cc")


@lowers("add.cc", "addc")
def lower_add_with_carry(em: Emitter, ins: Instruction) -> None:
    """``d = a + b``, for addc plus the carry."""
    a, b = sources(em, ins, integer_type(ins))
    _sum(em, ins, a, b)


@lowers("mad.lo.cc", "mad.hi.cc", "madc")
def lower_mad_with_carry(em: Emitter, ins: Instruction) -> None:
    """``d = (a · b).lo or .hi + c``, for madc plus the carry."""
    kind, value = product(em, ins)
    _sum(em, ins, value, em.get(ins.operands[3], kind))


def _sum(em: Emitter, ins: Instruction, a: str, b: str) -> None:
    """Add with the carry that comes in, and keep the one that goes out."""
    kind = em.kind(integer_type(ins))
    total = em.op("add", kind, a, b)
    carry = em.compare("icmp", "ult", kind, total, a)
    if ins.opcode in ("addc", "madc"):
        coming = em.resize("i1", kind, em.get(CARRY, "i1"))
        first, total = total, em.op("add", kind, total, coming)
        carry = em.op("or", "i1", carry, em.compare("icmp", "ult", kind, total, first))
    _finish(em, ins, total, carry)


@lowers("sub.cc", "subc")
def lower_sub_with_borrow(em: Emitter, ins: Instruction) -> None:
    """``d = a - b``, for subc less the borrow."""
    kind = em.kind(integer_type(ins))
    a, b = sources(em, ins, integer_type(ins))
    total = em.op("sub", kind, a, b)
    borrow = em.compare("icmp", "ult", kind, a, b)
    if ins.opcode == "subc":
        coming = em.resize("i1", kind, em.get(CARRY, "i1"))
        borrow = em.op("or", "i1", borrow, em.compare("icmp", "ult", kind, total, coming))
        total = em.op("sub", kind, total, coming)
    _finish(em, ins, total, borrow)


def _finish(em: Emitter, ins: Instruction, value: str, carry: str) -> None:
    write(em, ins.operands[0], integer_type(ins), value)
    if ins.has("cc"):
        em.set(CARRY, "i1", carry)
