"""How an address is made: ``uniform + index * scale``, as ``a[i]`` compiles to.

Whether 32 lanes' addresses are one stretch can then be asked of the index: it has half the bits, and accesses with one
index share the answer (LLVM sees that it is the same question). Only what the block itself computes is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cumulticast.ptx.lower import access, access_ir, address
from cumulticast.ptx.lower.emitter import LANES, Emitter
from cumulticast.ptx.syntax import Address, Instruction, Integer, Operand, Register

DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Index:
    """An address taken apart.

    Attributes
    ----------
    register
        What differs between lanes.
    kind
        ``i32``, extended by sign where ``signed``, or ``i64``.
    scale
        Bytes by which the address grows with the register.
    terms
        Uniform registers and constants to add.
    """

    register: str
    kind: str = "i64"
    signed: bool = False
    scale: int = 1
    terms: tuple[Operand, ...] = ()


def index_of(em: Emitter, place: Address) -> Index | None:
    """Take an address apart; None when nothing is known of how it was made."""
    if not isinstance(place.base, Register):
        return None
    found = Index(place.base.name, terms=(Integer(place.offset),))
    for _ in range(DEEPEST):
        made = em.recent.of(found.register)
        further = _further(em, found, made) if made is not None else None
        if further is None:
            break
        found = further
        if found.kind == "i32":
            return found
    return found if len(found.terms) > 1 else None


def _further(em: Emitter, found: Index, made: Instruction) -> Index | None:
    """Look one instruction back; None when that leads nowhere."""
    words, operands = (made.opcode, *made.modifiers), made.operands
    match words:
        case ("add", "s64" | "u64" | "b64"):
            return _sum(em, found, operands[1], operands[2])
        case ("mov", "b64" | "u64" | "s64") | ("cvta", "global", "u64") | ("cvta", "to", "global", "u64"):
            return _same(found, operands[1])
        case ("mul", "wide", "s32" | "u32" as kind):
            return _scaled(found, operands[1], operands[2], kind)
        case ("mad", "wide", "s32" | "u32" as kind) if _is_uniform(em, operands[3]):
            return _scaled(replace(found, terms=(*found.terms, operands[3])), operands[1], operands[2], kind)
        case ("cvt", "s64", "s32") | ("cvt", "u64", "u32"):
            return _scaled(found, operands[1], Integer(1), words[2])
        case ("shl", "b64") if isinstance(operands[2], Integer):
            return _shifted(em, found, operands[1], operands[2].value)
        case _:
            return None


def _is_uniform(em: Emitter, operand: Operand) -> bool:
    return isinstance(operand, Integer) or (isinstance(operand, Register) and em.slots[operand.name].uniform)


def _same(found: Index, source: Operand) -> Index | None:
    return replace(found, register=source.name) if isinstance(source, Register) else None


def _sum(em: Emitter, found: Index, a: Operand, b: Operand) -> Index | None:
    for one, other in ((a, b), (b, a)):
        if _is_uniform(em, one) and isinstance(other, Register):
            return replace(found, register=other.name, terms=(*found.terms, one))
    return None


def _scaled(found: Index, index: Operand, scale: Operand, kind: str) -> Index | None:
    if not isinstance(index, Register) or not isinstance(scale, Integer) or scale.value <= 0:
        return None
    return replace(found, register=index.name, kind="i32", signed=kind[0] == "s", scale=scale.value)


def _shifted(em: Emitter, found: Index, source: Operand, bits: int) -> Index | None:
    """``cvt`` then ``shl``: what older compilers write for ``mul.wide``."""
    made = em.recent.of(source.name) if isinstance(source, Register) else None
    widened = _further(em, found, made) if made is not None and made.opcode == "cvt" else None
    return replace(widened, scale=1 << bits) if widened is not None and 0 <= bits < 32 else None


# ---- the question, in IR


def stretch(em: Emitter, place: Address, size: int) -> tuple[access.IndexKind, str] | None:
    """Answer what a warp's addresses grow with, and the arguments that say so to an access of ``size`` bytes a lane.

    The arguments are the index, whether lanes lie ``size`` bytes apart, and where lane 0 is. None when nothing is known
    of the index, or lanes cannot lie so.
    """
    index = index_of(em, place)
    if index is None or em.slots[index.register].uniform or size % index.scale:
        return None
    vector = em.get(Register(index.register), index.kind)
    even, first = _even(em, index, vector, size // index.scale), _first(em, index, vector)
    arguments = f"<{LANES} x {index.kind}> {vector}, i1 {even}, i64 {first}"
    return access.IndexKind(index.kind, index.signed, index.scale), arguments


def _even(em: Emitter, index: Index, vector: str, step: int) -> str:
    name = f"index.{index.kind}.{'s' if index.signed else 'u'}{step}"
    even = em.recent.kept(index.register, name, em.lines)
    if even is None:
        em.define(name, _function(name, index, step))
        even = em.emit(f"call i1 @{name}(<{LANES} x {index.kind}> {vector})")
        em.recent.keep(index.register, name, even, len(em.lines))
    return even


def _first(em: Emitter, index: Index, vector: str) -> str:
    first = em.emit(f"extractelement <{LANES} x {index.kind}> {vector}, i64 0")
    with address.shape(em, vector=False):
        first = em.resize(index.kind, "i64", first, signed=index.signed)
        if index.scale != 1:
            first = em.op("mul", "i64", first, em.const("i64", index.scale))
        for term in index.terms:
            first = em.op("add", "i64", first, em.get(term, "i64"))
    return first


def _function(name: str, index: Index, step: int) -> str:
    kind = index.kind
    lines = access_ir.even_steps(kind, step)
    if kind == "i32":  # widened, lanes are apart as they are in 32 bits only where nothing wraps
        limit = (1 << (31 if index.signed else 32)) - 1 - step * (LANES - 1)
        lines += [
            f"  %within = icmp {'sle' if index.signed else 'ule'} i32 %a0, {limit}",
            "  %r = and i1 %even, %within",
        ]
    else:
        lines += ["  %r = and i1 %even, true"]
    head = f"define internal i1 @{name}(<{LANES} x {kind}> %a) alwaysinline {{"
    return "\n".join([head, *lines, "  ret i1 %r", "}"])
