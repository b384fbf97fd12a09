"""ldmatrix, stmatrix and movmatrix: matrices between shared memory and the registers of a warp, and their transposes.

Lanes 0 to 7 (to 15, to 31) give the addresses of the rows, 16 bytes each, of one (two, four) matrices.
"""

from __future__ import annotations

from enum import IntEnum

from cumulticast.ptx import layout
from cumulticast.ptx.lower import address, memory_calls
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.memory import elements
from cumulticast.ptx.lower.memory_calls import Data
from cumulticast.ptx.lower.mma import load_registers, registers_room, store_registers
from cumulticast.ptx.syntax import Instruction, Operand

ROW_BYTES = 16


class Layout(IntEnum):
    """How elements are shared out, numbered as enum layout in native/mma_matrix.c."""

    PLAIN = 0
    TRANSPOSED = 1
    BYTES = 2


def layout_of(em: Emitter, ins: Instruction) -> Layout:
    """Read an instruction's words."""
    if ins.types[-1:] == ("b8",) and not ins.has("m8n8"):
        return Layout.BYTES
    if not ins.has("m8n8") or ins.types != ("b16",):
        raise em.fail(f"{ins.name} is not simulated: its elements have less than 8 bits")
    return Layout.TRANSPOSED if ins.has("trans") else Layout.PLAIN


def _call(em: Emitter, ins: Instruction, registers: Operand, place: Operand, right: int) -> None:
    space, count = address.space_of(ins), len(elements(registers))
    words = [memory_calls.word(space, ROW_BYTES, right), count, layout_of(em, ins)]
    where = memory_calls.raw64(em, place, space)
    memory_calls.call_lanes(em, f"ptx_{ins.opcode}", words, where, [Data(4 * count, "matrix.d")])


@lowers("ldmatrix")
def lower_ldmatrix(em: Emitter, ins: Instruction) -> None:
    """ldmatrix.sync.aligned.shape.num{.trans}{.shared}.type r, [p]."""
    em.vector = True
    registers, place = ins.operands
    _call(em, ins, registers, place, layout.RIGHT_READ)
    load_registers(em, "i32", registers, registers_room(em, "i32", registers, "d"))


@lowers("stmatrix")
def lower_stmatrix(em: Emitter, ins: Instruction) -> None:
    """stmatrix.sync.aligned.shape.num{.trans}{.shared}.type [p], r."""
    em.vector = True
    place, registers = ins.operands
    store_registers(em, "i32", registers, registers_room(em, "i32", registers, "d"))
    _call(em, ins, registers, place, layout.RIGHT_WRITE)


@lowers("movmatrix")
def lower_movmatrix(em: Emitter, ins: Instruction) -> None:
    """movmatrix.sync.aligned.m8n8.trans.b16 d, a."""
    em.vector = True
    target, source = (registers_room(em, "i32", operand, use) for operand, use in zip(ins.operands, "da", strict=True))
    store_registers(em, "i32", ins.operands[1], source)
    em.declare("void @ptx_movmatrix(ptr, i32, i32, ptr, ptr)")
    em.do(f"call void @ptx_movmatrix(ptr {em.warp}, i32 {em.number}, i32 {em.active}, ptr {target}, ptr {source})")
    load_registers(em, "i32", ins.operands[0], target)
