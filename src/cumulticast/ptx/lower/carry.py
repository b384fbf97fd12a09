"""Extended precision: add.cc addc sub.cc subc mad.cc madc (PTX ISA 9.7.2).

The condition code's carry flag is a hidden predicate register, `CARRY`, that the compiler gives a slot like any other.
A subtraction leaves the carry of ``a + ~b + 1``, which is 1 where nothing was borrowed: within a chain of subtractions
that is the borrow that the ISA speaks of, and an addc behind a sub.cc adds what an H200 adds (driver 580.159).
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_multiply import product
from cumulticast.ptx.lower.integer_types import integer_type, sources, write
from cumulticast.ptx.lower.logic import inverted
from cumulticast.ptx.syntax import Instruction, Register

#: CC.CF, written by instructions with ``.cc``.
CARRY = Register("%cc")


@lowers("add.cc", "addc")
def lower_add_with_carry(em: Emitter, ins: Instruction) -> None:
    """``d = a + b``, for addc plus the carry."""
    a, b = sources(em, ins, integer_type(ins))
    _sum(em, ins, a, b, _coming(em, ins, 0))


@lowers("mad.lo.cc", "mad.hi.cc", "madc")
def lower_mad_with_carry(em: Emitter, ins: Instruction) -> None:
    """``d = (a · b).lo or .hi + c``, for madc plus the carry."""
    kind, value = product(em, ins)
    _sum(em, ins, value, em.get(ins.operands[3], kind), _coming(em, ins, 0))


@lowers("sub.cc", "subc")
def lower_sub_with_borrow(em: Emitter, ins: Instruction) -> None:
    """``d = a - b``, for subc less the borrow: ``a + ~b + 1``, or the carry in place of the 1."""
    a, b = sources(em, ins, integer_type(ins))
    _sum(em, ins, a, inverted(em, em.kind(integer_type(ins)), b), _coming(em, ins, 1))


def _coming(em: Emitter, ins: Instruction, first: int) -> str:
    """Answer the carry that comes in: the flag, or what a chain begins with."""
    return em.get(CARRY, "i1") if ins.opcode in ("addc", "subc", "madc") else em.const("i1", first)


def _sum(em: Emitter, ins: Instruction, a: str, b: str, coming: str) -> None:
    """Add with the carry that comes in, and keep the one that goes out."""
    kind = em.kind(integer_type(ins))
    first = em.op("add", kind, a, b)
    total = em.op("add", kind, first, em.resize("i1", kind, coming))
    write(em, ins.operands[0], integer_type(ins), total)
    if ins.has("cc"):
        over = em.compare("icmp", "ult", kind, first, a)
        again = em.compare("icmp", "ult", kind, total, first)
        em.set(CARRY, "i1", em.op("or", "i1", over, again))
