"""Counting and finding bits: popc clz bfind fns brev (PTX ISA 9.7.1)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import bits_of, integer_type, is_signed
from cumulticast.ptx.lower.logic import inverted
from cumulticast.ptx.syntax import Instruction

NOT_FOUND = 0xFFFFFFFF


@lowers("popc")
def lower_popc(em: Emitter, ins: Instruction) -> None:
    """Count the bits that are 1; the result has 32 bits."""
    kind = em.kind(integer_type(ins))
    em.set(ins.operands[0], "i32", em.resize(kind, "i32", population(em, kind, em.get(ins.operands[1], kind))))


def population(em: Emitter, kind: str, value: str) -> str:
    """Count the bits that are 1."""
    return em.intrinsic("llvm.ctpop", kind, value)


@lowers("clz")
def lower_clz(em: Emitter, ins: Instruction) -> None:
    """Count the zeros above the highest 1: all bits of 0. The result has 32 bits."""
    kind = em.kind(integer_type(ins))
    em.set(ins.operands[0], "i32", em.resize(kind, "i32", leading_zeros(em, kind, em.get(ins.operands[1], kind))))


def leading_zeros(em: Emitter, kind: str, value: str) -> str:
    """Count the zeros above the highest 1."""
    return em.intrinsic("llvm.ctlz", kind, value, extra="i1 false")


@lowers("bfind")
def lower_bfind(em: Emitter, ins: Instruction) -> None:
    """Find the highest bit that is no copy of the sign: its place, or (``.shiftamt``) how far it is from the top."""
    kind = em.kind(integer_type(ins))
    value = em.get(ins.operands[1], kind)
    if is_signed(integer_type(ins)):
        sign = em.op("ashr", kind, value, em.const(kind, bits_of(kind) - 1))
        value = em.op("xor", kind, value, sign)
    zeros = em.resize(kind, "i32", leading_zeros(em, kind, value))
    place = zeros if ins.has("shiftamt") else em.op("sub", "i32", em.const("i32", bits_of(kind) - 1), zeros)
    none = em.compare("icmp", "eq", kind, value, em.const(kind, 0))
    em.set(ins.operands[0], "i32", em.select(none, "i32", em.const("i32", NOT_FOUND), place))


@lowers("brev")
def lower_brev(em: Emitter, ins: Instruction) -> None:
    """Reverse the order of the bits."""
    kind = em.kind(integer_type(ins))
    em.set(ins.operands[0], kind, em.intrinsic("llvm.bitreverse", kind, em.get(ins.operands[1], kind)))


@lowers("fns")
def lower_fns(em: Emitter, ins: Instruction) -> None:
    """Find the n-th 1 of a mask from bit ``base`` on, upwards (n > 0) or downwards (n < 0); 0: whether base is one.

    A base beyond the mask, which the ISA does not allow, finds nothing, as on an H200 (driver 580.159). Downwards is
    upwards in the mirror: mask and base are reversed, and so is the place that is found.
    """
    mask, base, offset = (em.get(operand, "i32") for operand in ins.operands[1:4])
    down = em.compare("icmp", "slt", "i32", offset, em.const("i32", 0))
    place = _mirrored(em, down, base)
    bits = em.select(down, "i32", em.intrinsic("llvm.bitreverse", "i32", mask), mask)
    from_base = em.op("shl", "i32", em.const("i32", -1), em.op("and", "i32", place, em.const("i32", 31)))
    bits = em.op("and", "i32", bits, from_base)
    zero = em.compare("icmp", "eq", "i32", offset, em.const("i32", 0))
    only_base = em.op("and", "i32", bits, inverted(em, "i32", em.op("shl", "i32", from_base, em.const("i32", 1))))
    bits = em.select(zero, "i32", only_base, bits)
    wanted = em.intrinsic("llvm.abs", "i32", offset, extra="i1 false")
    wanted = em.intrinsic("llvm.umax", "i32", wanted, em.const("i32", 1))
    there = em.compare("icmp", "uge", "i32", population(em, "i32", bits), wanted)
    there = em.op("and", "i1", there, em.compare("icmp", "ult", "i32", base, em.const("i32", 32)))
    found = _mirrored(em, down, nth_one(em, bits, wanted))
    em.set(ins.operands[0], "i32", em.select(there, "i32", found, em.const("i32", NOT_FOUND)))


def _mirrored(em: Emitter, mirror: str, place: str) -> str:
    return em.select(mirror, "i32", em.op("sub", "i32", em.const("i32", 31), place), place)


def nth_one(em: Emitter, bits: str, n: str) -> str:
    """Find the place of the n-th 1 (the first is n = 1) of 32 bits that have so many, by halving."""
    place = em.const("i32", 0)
    for half in (16, 8, 4, 2, 1):
        low = em.op("and", "i32", bits, em.const("i32", (1 << half) - 1))
        count = population(em, "i32", low)
        above = em.compare("icmp", "ugt", "i32", n, count)
        n = em.select(above, "i32", em.op("sub", "i32", n, count), n)
        bits = em.select(above, "i32", em.op("lshr", "i32", bits, em.const("i32", half)), low)
        place = em.select(above, "i32", em.op("add", "i32", place, em.const("i32", half)), place)
    return place
