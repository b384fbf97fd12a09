"""Logic: and or xor not cnot lop3 (PTX ISA 9.7.8)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import integer_type, sources
from cumulticast.ptx.syntax import Instruction, Integer, Operand, Pair


@lowers("and", "or", "xor")
def lower_and_or_xor(em: Emitter, ins: Instruction) -> None:
    """Combine the bits of predicates or of words."""
    kind = em.kind(integer_type(ins))
    em.set(ins.operands[0], kind, em.op(ins.opcode, kind, *sources(em, ins, integer_type(ins))))


@lowers("not")
def lower_not(em: Emitter, ins: Instruction) -> None:
    """Invert the bits."""
    kind = em.kind(integer_type(ins))
    em.set(ins.operands[0], kind, inverted(em, kind, em.get(ins.operands[1], kind)))


def inverted(em: Emitter, kind: str, value: str) -> str:
    """Answer ``~value``."""
    return em.op("xor", kind, value, em.const(kind, -1))


@lowers("cnot")
def lower_cnot(em: Emitter, ins: Instruction) -> None:
    """``d = a == 0 ? 1 : 0``"""
    kind = em.kind(integer_type(ins))
    zero = em.compare("icmp", "eq", kind, em.get(ins.operands[1], kind), em.const(kind, 0))
    em.set(ins.operands[0], kind, em.resize("i1", kind, zero))


@lowers("lop3")
def lower_lop3(em: Emitter, ins: Instruction) -> None:
    """Any function of three bits, given by its table; ``.or`` and ``.and`` also combine ``d != 0`` with a predicate."""
    table = ins.operands[4]
    if not isinstance(table, Integer):
        raise em.fail("the table of lop3 has to be a constant of 0 to 255")
    a, b, c = (em.get(operand, "i32") for operand in ins.operands[1:4])
    value = by_table(em, table.value & 0xFF, [a, b, c])
    target = ins.operands[0]
    if isinstance(target, Pair):
        _set_predicate(em, ins, target.second, value)
        target = target.first
    em.set(target, "i32", value)


def _set_predicate(em: Emitter, ins: Instruction, target: Operand, value: str) -> None:
    nonzero = em.compare("icmp", "ne", "i32", value, em.const("i32", 0))
    q = em.get(ins.operands[5], "i1")
    em.set(target, "i1", em.op("or" if ins.has("or") else "and", "i1", nonzero, q))


def by_table(em: Emitter, table: int, values: list[str]) -> str:
    """Apply the function whose result for the bits ``values`` (the first counts most) is that bit of the table."""
    if not values:
        return em.const("i32", -table)
    first, rest = values[0], values[1:]
    width = 1 << len(rest)
    ones = (1 << width) - 1
    high, low = table >> width, table & ones
    if high == low:
        return by_table(em, low, rest)
    if high == low ^ ones:
        return _but_zero(em, "xor", first, by_table(em, low, rest), low == 0)
    if_set = em.op("and", "i32", first, by_table(em, high, rest)) if high else ""
    if_clear = em.op("and", "i32", inverted(em, "i32", first), by_table(em, low, rest)) if low else ""
    return em.op("or", "i32", if_set, if_clear) if high and low else if_set or if_clear


def _but_zero(em: Emitter, name: str, a: str, b: str, b_is_zero: bool) -> str:
    return a if b_is_zero else em.op(name, "i32", a, b)
