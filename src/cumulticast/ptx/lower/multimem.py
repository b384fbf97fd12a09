"""multimem.ld_reduce, multimem.st and multimem.red: one address, the memory of all devices of the team behind it.

Replicas are taken in ascending device order. f16 and bf16 are summed in f32 and rounded once, with ``.acc::f32`` or
without; a warp that moves one contiguous stretch has each replica's stretch read or written at once (multimem.c).
"""

from __future__ import annotations

from dataclasses import replace

from cumulticast.ptx.lower import address, memory, memory_calls, multimem_ir, ordering
from cumulticast.ptx.lower.access import Access, Space
from cumulticast.ptx.lower.atomics import operation_of
from cumulticast.ptx.lower.elements import element_of
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.memory_calls import Data
from cumulticast.ptx.syntax import Instruction, Operand


def _code(em: Emitter, ins: Instruction, access: Access) -> int:
    operation, kind = operation_of(em, ins), ins.types[-1]
    element, times = element_of(kind, operation)
    return element | operation << 8 | access.bytes * 8 // int(em.kind(kind)[1:]) * times << 16


def _access(ins: Instruction, *, write: bool) -> Access:
    return replace(memory.access_of(ins, write=write), space=Space.GLOBAL)


def _data(em: Emitter, access: Access, source: Operand, kind: str) -> Data:
    value = memory.join(em, access, [em.get(part, kind) for part in memory.elements(source)], kind)
    return Data(access.bytes, "source0", access.wide, value)


@lowers("multimem.ld_reduce")
def lower_ld_reduce(em: Emitter, ins: Instruction) -> None:
    """Read every replica and combine."""
    access, kind = _access(ins, write=False), em.kind(ins.types[-1])
    uniform = not em.vector
    with address.once(em):
        wide = _load(em, ins, access)
        registers = memory.elements(ins.operands[0])
        parts = memory.split(em, access, wide, kind, len(registers))
    if ins.has("acquire"):
        ordering.acquire(em)
    for register, part in zip(registers, parts, strict=True):
        em.set(register, kind, memory_calls.first_active(em, kind, part) if uniform else part)


def _load(em: Emitter, ins: Instruction, access: Access) -> str:
    code, place = _code(em, ins, access), memory_calls.place_operand(em, ins.operands[1])
    element, operation = element_of(ins.types[-1], operation_of(em, ins))[0], operation_of(em, ins)
    if multimem_ir.combines(element, operation):
        access, arguments = memory.reach(em, access, place)
        reduction = multimem_ir.Reduction(access, element, operation, code)
        for name, text in multimem_ir.load_functions(reduction).items():
            em.define(name, text)
        for text in (*multimem_ir.DECLARATIONS, "void @ptx_multimem_load(ptr, i32, i32, i32, i32, ptr, ptr)"):
            em.declare(text)
        return em.emit(f"call {access.wide} @{reduction.way}({arguments})")
    where = memory_calls.raw64(em, place, access.space)
    words = [access.word, code]
    (room,) = memory_calls.call_lanes(em, "ptx_multimem_load", words, where, [Data(access.bytes, "old")])
    return em.emit(f"load {access.wide}, ptr {room}, align 64")


@lowers("multimem.st")
def lower_multimem_st(em: Emitter, ins: Instruction) -> None:
    """Write into every replica."""
    access, kind = _access(ins, write=True), em.kind(ins.types[-1])
    if ins.has("release"):
        ordering.release(em, ins.modifiers)
    with address.once(em):
        access, arguments = memory.reach(em, access, memory_calls.place_operand(em, ins.operands[0]))
        for name, text in multimem_ir.store_functions(access).items():
            em.define(name, text)
        for text in (*multimem_ir.DECLARATIONS, "void @ptx_multimem_store(ptr, i32, i32, i32, ptr, ptr)"):
            em.declare(text)
        value = _data(em, access, ins.operands[1], kind).value
        em.do(f"call void @{multimem_ir.store_way(access)}({arguments}, {access.wide} {value})")


@lowers("multimem.red")
def lower_multimem_red(em: Emitter, ins: Instruction) -> None:
    """Combine with every replica, each element in one atomic act."""
    access, kind = _access(ins, write=True), em.kind(ins.types[-1])
    if ins.has("release"):
        ordering.release(em, ins.modifiers)
    with address.shape(em, vector=True):
        words = [memory_calls.word(access.space, access.bytes, memory_calls.READ_WRITE), _code(em, ins, access)]
        where = memory_calls.raw64(em, ins.operands[0], access.space)
        data = _data(em, access, ins.operands[1], kind)
        memory_calls.call_lanes(em, "ptx_multimem_red", words, where, [data])
