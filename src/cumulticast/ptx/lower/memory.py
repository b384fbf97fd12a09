"""ld, ldu and st: every space, type and vector width; what they say of order, caches and eviction.

Hints (cache operators, eviction priorities, prefetch sizes, cache policies, ``.nc``) change nothing that a program
can see. ``.volatile``, ``.relaxed``, ``.acquire``, ``.release`` and ``.mmio`` are strong: never merged, hoisted or left
out; acquire and release bring their fence.
"""

from __future__ import annotations

from dataclasses import replace

from cumulticast.ptx.lower import access_ir, address, indexing, ordering
from cumulticast.ptx.lower.access import Access, Space
from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.syntax import TYPE_BITS, Address, Instruction, Negated, Operand, Register, Symbol, Vector

STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "mmio"))


def access_of(ins: Instruction, *, write: bool) -> Access:
    """Tell what an instruction moves."""
    bits = TYPE_BITS[ins.types[-1]]
    count = next((int(word[1:]) for word in ins.modifiers if word in ("v2", "v4", "v8")), 1)
    element, count = (f"i{bits}", count) if bits <= 64 else ("i64", count * bits // 64)
    return Access(address.space_of(ins), element, count, write, not STRONG.isdisjoint(ins.modifiers))


def elements(operand: Operand) -> tuple[Operand, ...]:
    """List the registers (or constants) of an operand."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


def is_predicate(em: Emitter, operand: Operand) -> bool:
    """Tell whether an operand is a predicate."""
    return isinstance(operand, Negated) or (isinstance(operand, Register) and em.slots[operand.name].kind == "i1")


def address_operand(em: Emitter, operand: Operand) -> Address:
    """Answer an operand that must be an address."""
    if not isinstance(operand, Address):
        raise em.fail(f"operand {operand} is no address")
    return operand


@lowers("ld", "ldu")
def lower_ld(em: Emitter, ins: Instruction) -> None:
    """Load."""
    access, kind = access_of(ins, write=False), em.kind(ins.types[-1])
    wide = load(em, access, address_operand(em, ins.operands[1]))
    if ins.has("acquire"):
        ordering.acquire(em)
    destinations = elements(ins.operands[0])
    for destination, part in zip(destinations, split(em, access, wide, kind, len(destinations)), strict=True):
        em.set(destination, kind, part, signed=ins.types[-1][0] == "s")


@lowers("st")
def lower_st(em: Emitter, ins: Instruction) -> None:
    """Store."""
    access, kind = access_of(ins, write=True), em.kind(ins.types[-1])
    if access.space in (Space.LOCAL, Space.PARAM):
        with address.shape(em, vector=True):
            _store(em, access, kind, ins)
        return
    if ins.has("release"):
        ordering.release(em, ins.modifiers)
    _store(em, access, kind, ins)


def _store(em: Emitter, access: Access, kind: str, ins: Instruction) -> None:
    access = replace(access, vector=em.vector)
    value = join(em, access, [em.get(part, kind) for part in elements(ins.operands[1])], kind)
    call(em, access, address_operand(em, ins.operands[0]), value)


# ---- accesses, for whoever else moves memory


def load(em: Emitter, access: Access, place: Address) -> str:
    """Read memory; the value is of type ``access.wide`` in the instruction's shape."""
    direct = _parameter(em, access, place)
    if direct is not None:
        return _spread(em, access, direct)
    if access.space is Space.LOCAL or not em.vector or not address.is_uniform(em, place):
        with address.shape(em, vector=em.vector or access.space is Space.LOCAL):
            return call(em, replace(access, vector=em.vector), place)
    with address.shape(em, vector=False):
        value = call(em, replace(access, vector=False), place)
    return _spread(em, access, value)


def call(em: Emitter, access: Access, place: Address, value: str = "") -> str:
    """Carry an access out in the shape that ``access`` has."""
    access, arguments = reach(em, access, place)
    _define(em, access)
    if access.write:
        em.do(f"call void @{access.way}({arguments}, {access.wide} {value})")
        return ""
    return em.emit(f"call {access.wide} @{access.way}({arguments})")


def reach(em: Emitter, access: Access, place: Address) -> tuple[Access, str]:
    """Answer the arguments of an access's IR function, up to the value to store, and which function that is."""
    arguments = f"ptr {em.warp}, i32 {em.number}, i32 {em.active}, "
    if access.vector and access.space in (Space.GLOBAL, Space.GENERIC):
        known = indexing.stretch(em, place, access.bytes)
        if known is not None:
            return replace(access, index=known[0]), arguments + known[1]
    kind, where = address.raw(em, place, access.space)
    access = replace(access, offset=kind)
    return access, f"{arguments}{access.address} {where}"


def _define(em: Emitter, access: Access) -> None:
    if access.way not in em.defined:
        em.declare(access_ir.declaration(access))
        em.define(access.way, access_ir.function(access))
        em.define(f"{access.way}.slow", access_ir.slow_function(access))


def _parameter(em: Emitter, access: Access, place: Address) -> str | None:
    """Read a kernel's parameter by its name: the compiler knows that it is there."""
    if access.space is not Space.PARAM or not isinstance(place.base, Symbol):
        return None
    space, offset = em.symbol(place.base.name)
    if space != "param" or not isinstance(offset, int):
        return None
    one = replace(access, vector=False)
    at = em.emit(f"getelementptr i8, ptr {em.field('params')}, i64 {offset + place.base.offset + place.offset}")
    return em.emit(f"load {one.wide}, ptr {at}, align {access.size}")


def _spread(em: Emitter, access: Access, one: str) -> str:
    """Give every lane the value that one scalar access read."""
    if not em.vector:
        return one
    if access.count == 1:
        return em.splat(access.element, one)
    source = replace(access, vector=False).wide
    mask = access_ir.mask(i % access.count for i in range(LANES * access.count))
    return em.emit(f"shufflevector {source} {one}, {source} poison, {mask}")


# ---- one vector of memory ↔ the registers of a vector operand


def split(em: Emitter, access: Access, wide: str, kind: str, count: int) -> list[str]:
    """Take what was read apart: a value of ``kind`` in the instruction's shape for each of ``count`` registers."""
    lanes = LANES if em.vector else 1
    source = f"<{lanes * count} x {kind}>" if lanes * count > 1 else kind
    have = replace(access, vector=em.vector).wide
    if have != source:
        wide = em.emit(f"bitcast {have} {wide} to {source}")
    if count == 1:
        return [wide]
    if not em.vector:
        return [em.emit(f"extractelement {source} {wide}, i64 {i}") for i in range(count)]
    masks = [access_ir.mask(range(i, lanes * count, count)) for i in range(count)]
    return [em.emit(f"shufflevector {source} {wide}, {source} poison, {mask}") for mask in masks]


def join(em: Emitter, access: Access, parts: list[str], kind: str) -> str:
    """Put the registers' values together as memory has them."""
    lanes = LANES if em.vector else 1
    value = _interleave(em, parts, kind, lanes) if em.vector else _pack(em, parts, kind)
    have = f"<{lanes * len(parts)} x {kind}>" if lanes * len(parts) > 1 else kind
    want = replace(access, vector=em.vector).wide
    return value if have == want else em.emit(f"bitcast {have} {value} to {want}")


def _pack(em: Emitter, parts: list[str], kind: str) -> str:
    if len(parts) == 1:
        return parts[0]
    value, source = "poison", f"<{len(parts)} x {kind}>"
    for i, part in enumerate(parts):
        value = em.emit(f"insertelement {source} {value}, {kind} {part}, i64 {i}")
    return value


def _interleave(em: Emitter, parts: list[str], kind: str, lanes: int) -> str:
    if len(parts) == 1:
        return parts[0]
    even, odd = (_interleave(em, half, kind, lanes) for half in (parts[0::2], parts[1::2]))
    half = lanes * len(parts) // 2
    mask = access_ir.mask(i // 2 + (i % 2) * half for i in range(2 * half))
    return em.emit(f"shufflevector <{half} x {kind}> {even}, <{half} x {kind}> {odd}, {mask}")
