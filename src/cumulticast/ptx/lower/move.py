"""mov: registers, constants, addresses, special registers, and vectors packed into a word (PTX ISA 9.7.9)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import bits_of, integer_type, join, split
from cumulticast.ptx.syntax import Instruction, Operand, Special, Symbol, Vector


@lowers("mov")
def lower_mov(em: Emitter, ins: Instruction) -> None:
    """Copy; ``{a, b}`` as a source packs (a lowest), as a destination unpacks; ``.v2``, ``.v4`` copy one by one."""
    target, source = ins.operands
    if isinstance(target, Vector) and isinstance(source, Vector):
        _copy_each(em, target, source, em.kind(integer_type(ins)))
        return
    kind = em.kind(integer_type(ins))
    value = _source(em, source, kind)
    if isinstance(target, Vector):
        _unpack(em, target, kind, value)
    else:
        em.set(target, kind, value)


def _copy_each(em: Emitter, target: Vector, source: Vector, kind: str) -> None:
    values = [_source(em, element, kind) for element in source.elements]  # all are read before one is written
    for element, value in zip(target.elements, values, strict=True):
        em.set(element, kind, value)


def _source(em: Emitter, source: Operand, kind: str) -> str:
    match source:
        case Vector(elements):
            part = _part(em, kind, len(elements))
            return join(em, [em.get(element, part) for element in elements], part, kind)
        case Symbol():
            return em.resize("i64", kind, em.address_of(source))
        case Special(name):
            have, value = em.special(name)
            return em.resize(have, kind, value)
        case _:
            return em.get(source, kind)


def _unpack(em: Emitter, target: Vector, kind: str, value: str) -> None:
    part = _part(em, kind, len(target.elements))
    for element, piece in zip(target.elements, split(em, value, kind, part), strict=True):
        em.set(element, part, piece)


def _part(em: Emitter, kind: str, count: int) -> str:
    """Answer the kind of one of ``count`` elements of a word."""
    if count not in (2, 4) or bits_of(kind) // count < 8:
        raise em.fail(f"{count} elements do not make {bits_of(kind)} bits: 2 or 4 of 8 to 64 bits do")
    return f"i{bits_of(kind) // count}"
