"""Calls of the runtime's functions that act on memory for the active lanes of a warp.

Their form is ``void ptx_NAME(warp, number, active, words…, addresses, data…)``: the instruction's number, the lanes as
bits, 32-bit words, an array of 32 addresses, and arrays of 32 lanes' data in the order of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cumulticast.ptx import layout
from cumulticast.ptx.lower import address
from cumulticast.ptx.lower.access import Space
from cumulticast.ptx.lower.emitter import LANES, Emitter
from cumulticast.ptx.syntax import Address, Operand

READ_WRITE = layout.RIGHT_READ | layout.RIGHT_WRITE


@dataclass(frozen=True, slots=True)
class Data:
    """An array of 32 lanes: ``bytes`` for each; ``value`` of IR type ``type`` is stored there before the call."""

    bytes: int
    use: str
    type: str = ""
    value: str = ""


def word(space: Space, size: int, right: int) -> int:
    """Make the word that memory.h takes apart: space, bytes of a lane, right; that the access is strong."""
    return space | size << 8 | right << 16 | 1 << 24


def place_operand(em: Emitter, operand: Operand) -> Address:
    """Answer an operand that must be an address."""
    if not isinstance(operand, Address):
        raise em.fail(f"operand {operand} is no address")
    return operand


def raw64(em: Emitter, operand: Operand, space: Space) -> str:
    """Answer an address as its space counts it, 64 bits wide."""
    kind, value = address.raw(em, place_operand(em, operand), space)
    return em.resize(kind, "i64", value)


def call_lanes(em: Emitter, name: str, words: Sequence[int | str], where: str, data: Sequence[Data]) -> list[str]:
    """Call for the active lanes; ``where`` are 32 addresses (``i64``). Answers the arrays as pointers.

    The instruction has to be in the shape of 32 lanes.
    """
    rooms = [em.room("i64", "addresses"), *(em.room(f"i{part.bytes * 8}", part.use) for part in data)]
    em.do(f"store <{LANES} x i64> {where}, ptr {rooms[0]}, align 64")
    for part, room in zip(data, rooms[1:], strict=True):
        if part.type:
            em.do(f"store {part.type} {part.value}, ptr {room}, align 64")
    em.declare(f"void @{name}({', '.join(['ptr', 'i32', 'i32', *['i32'] * len(words), *['ptr'] * len(rooms)])})")
    scalars = [f"ptr {em.warp}", f"i32 {em.number}", f"i32 {em.active}", *(f"i32 {number}" for number in words)]
    em.do(f"call void @{name}({', '.join([*scalars, *(f'ptr {room}' for room in rooms)])})")
    return rooms[1:]


def first_active(em: Emitter, kind: str, vector: str) -> str:
    """Take the value of the first lane that acted: for an instruction that is the same for all."""
    em.declare("i32 @llvm.cttz.i32(i32, i1)")
    lane = em.emit(f"call i32 @llvm.cttz.i32(i32 {em.active}, i1 true)")
    return em.emit(f"extractelement <{LANES} x {kind}> {vector}, i32 {lane}")
