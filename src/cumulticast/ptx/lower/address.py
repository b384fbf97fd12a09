"""Addresses: what stands in brackets, the conversions between spaces, and what a variable's name stands for.

A generic address and one of global, const or constant memory is the host's own. An address of shared memory is an
offset from the block's base (32 or 64 bits wide), one of local memory an offset from the lane's base, one of a
parameter an offset in the parameters.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from cumulticast.ptx.lower.access import Space
from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.syntax import Address, Instruction, Integer, Operand, Register, Symbol

SPACES = {
    "global": Space.GLOBAL,
    "const": Space.GLOBAL,
    "shared": Space.SHARED,
    "shared::cta": Space.SHARED,
    "shared::cluster": Space.SHARED,
    "local": Space.LOCAL,
    "param": Space.PARAM,
    "param::entry": Space.PARAM,
    "param::func": Space.PARAM,
}


def space_of(ins: Instruction) -> Space:
    """Answer the state space that an instruction names; generic if it names none."""
    return next((SPACES[word] for word in ins.modifiers if word in SPACES), Space.GENERIC)


@contextmanager
def shape(em: Emitter, *, vector: bool) -> Generator[None]:
    """Write something in another shape than the instruction's."""
    before, em.vector = em.vector, vector
    try:
        yield
    finally:
        em.vector = before


@contextmanager
def once(em: Emitter) -> Generator[None]:
    """Write what a uniform instruction does in the shape of 32 lanes: the first active lane acts for all."""
    uniform, active = not em.vector, em.active
    if uniform:
        em.active = em.emit(f"and i32 {active}, {em.emit(f'sub i32 0, {active}')}")
    try:
        with shape(em, vector=True):
            yield
    finally:
        em.active = active


def is_uniform(em: Emitter, address: Address) -> bool:
    """Tell whether an address is known to be the same in all lanes."""
    return not isinstance(address.base, Register) or em.slots[address.base.name].uniform


def raw(em: Emitter, address: Address, space: Space) -> tuple[str, str]:
    """Answer (kind, value) of an address as its space counts it; shared ones of 32-bit registers stay ``i32``."""
    match address.base:
        case Register(name):
            kind = "i32" if space is Space.SHARED and em.slots[name].kind == "i32" else "i64"
            value = em.get(address.base, kind)
            return kind, em.op("add", kind, value, em.const(kind, address.offset)) if address.offset else value
        case Integer(number):
            return "i64", em.const("i64", number + address.offset)
        case Symbol():
            symbol = Symbol(address.base.name, address.base.offset + address.offset)
            return "i64", symbol_address(em, symbol, generic=space is Space.GENERIC)


def symbol_address(em: Emitter, symbol: Symbol, *, generic: bool = False) -> str:
    """Answer the address of a variable in its own space (or the generic one), of kind ``i64``: what ``mov`` gives."""
    space, place = em.symbol(symbol.name)
    if isinstance(place, int):
        value = em.const("i64", place + symbol.offset)
        return to_generic(em, SPACES[space], value) if generic else value
    value = em.shaped("i64", place)
    return em.op("add", "i64", value, em.const("i64", symbol.offset)) if symbol.offset else value


def base_of(em: Emitter, space: Space) -> str | None:
    """Answer the host address at which a space begins, of kind ``i64``; None where addresses are the host's own."""
    match space:
        case Space.GLOBAL | Space.GENERIC:
            return None
        case Space.SHARED | Space.PARAM:
            pointer = em.field("shared" if space is Space.SHARED else "params")
            return em.shaped("i64", em.emit(f"ptrtoint ptr {pointer} to i64"))
        case Space.LOCAL:
            return _local_bases(em)


def _local_bases(em: Emitter) -> str:
    if not em.vector:
        raise AssertionError("local memory is each lane's own")
    pointer = em.emit(f"ptrtoint ptr {em.field('local')} to i64")
    size = em.emit(f"zext i32 {em.launch_field('local_size')} to i64")
    lanes = f"<{', '.join(f'i64 {lane}' for lane in range(LANES))}>"
    return em.op("add", "i64", em.splat("i64", pointer), em.op("mul", "i64", em.splat("i64", size), lanes))


def to_generic(em: Emitter, space: Space, value: str) -> str:
    """Make a generic address (the host's) of one of a space."""
    base = base_of(em, space)
    return value if base is None else em.op("add", "i64", value, base)


def addresses(em: Emitter, operand: Address, space: Space) -> str:
    """Answer the host addresses of an operand in the instruction's shape, kind ``i64``; nothing is checked."""
    kind, value = raw(em, operand, space)
    return to_generic(em, space, em.resize(kind, "i64", value))


def _source(em: Emitter, operand: Operand) -> str:
    return symbol_address(em, operand) if isinstance(operand, Symbol) else em.get(operand, "i64")


@lowers("cvta")
def lower_cvta(em: Emitter, ins: Instruction) -> None:
    """Convert an address of a space to a generic one, or with ``.to`` back."""
    space, kind = space_of(ins), em.kind(ins.types[-1])
    value, base = _source(em, ins.operands[1]), base_of(em, space)
    if base is not None:
        value = em.op("sub" if ins.has("to") else "add", "i64", value, base)
    em.set(ins.operands[0], kind, em.resize("i64", kind, value))


@lowers("isspacep")
def lower_isspacep(em: Emitter, ins: Instruction) -> None:
    """Tell whether a generic address lies in the window of a space; one that lies in none is global."""
    if ins.has("const"):
        raise em.fail("isspacep.const is not supported: constants lie in global memory here")
    value = em.get(ins.operands[1], "i64")
    space = space_of(ins)
    if space is Space.GLOBAL:
        windows = [_within(em, value, other) for other in (Space.SHARED, Space.LOCAL)]
        inside = em.op("xor", "i1", em.op("or", "i1", *windows), em.const("i1", 1))
    else:
        inside = _within(em, value, space)
    em.set(ins.operands[0], "i1", inside)


def _within(em: Emitter, value: str, space: Space) -> str:
    base = base_of(em, space)
    if base is None:
        raise em.fail("isspacep knows no such space")
    limit = em.shaped("i64", em.emit(f"zext i32 {_size(em, space)} to i64"))
    return em.compare("icmp", "ult", "i64", em.op("sub", "i64", value, base), limit)


def _size(em: Emitter, space: Space) -> str:
    if space is Space.PARAM:
        em.declare("i32 @ptx_params_size(ptr)")
        return em.emit(f"call i32 @ptx_params_size(ptr {em.warp})")
    return em.launch_field("shared_size" if space is Space.SHARED else "local_size")
