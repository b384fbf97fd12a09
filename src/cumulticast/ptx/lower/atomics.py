"""atom and red: lanes act one after the other, in ascending order, and each learns what it found.

Every element of a vector or packed type is its own atomic act (PTX ISA, "atom": atomicity is guaranteed for each
element separately).
"""

from __future__ import annotations

from cumulticast.ptx.lower import address, memory, memory_calls, ordering
from cumulticast.ptx.lower.access import Access
from cumulticast.ptx.lower.elements import OPERATIONS, Operation, element_of
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.memory_calls import Data
from cumulticast.ptx.syntax import Instruction, Operand, Vector


def operation_of(em: Emitter, ins: Instruction) -> Operation:
    """Answer what an instruction does."""
    found = next((OPERATIONS[word] for word in ins.modifiers if word in OPERATIONS), None)
    if found is None:
        raise em.fail(f"{ins.name} names no operation")
    return found


@lowers("atom")
def lower_atom(em: Emitter, ins: Instruction) -> None:
    """Combine with memory and answer what was there."""
    if not em.vector:
        raise AssertionError("atom gives each lane a value of its own")
    _lower(em, ins, ins.operands[0], ins.operands[1:])


@lowers("red")
def lower_red(em: Emitter, ins: Instruction) -> None:
    """Combine with memory."""
    with address.shape(em, vector=True):
        _lower(em, ins, None, ins.operands)


def _lower(em: Emitter, ins: Instruction, destination: Operand | None, rest: tuple[Operand, ...]) -> None:
    release, acquire = ins.has("release") or ins.has("acq_rel"), ins.has("acquire") or ins.has("acq_rel")
    if release:
        ordering.release(em, ins.modifiers)
    _act(em, ins, destination, rest)
    if acquire:
        ordering.acquire(em)


def _act(em: Emitter, ins: Instruction, destination: Operand | None, rest: tuple[Operand, ...]) -> None:
    operation, kind = operation_of(em, ins), ins.types[-1]
    element, times = element_of(kind, operation)
    access = memory.access_of(ins, write=True)
    sources = rest[1 : 3 if operation is Operation.CAS else 2]
    values = [_data(em, access, source, em.kind(kind), f"source{i}") for i, source in enumerate(sources)]
    code = element | operation << 8 | access.bytes * times // (int(em.kind(kind)[1:]) // 8) << 16
    words = [memory_calls.word(access.space, access.bytes, memory_calls.READ_WRITE), code]
    where = memory_calls.raw64(em, rest[0], access.space)
    # The runtime's functions take two sources and the old values; what is not needed is not looked at.
    values += [Data(1, "unused")] * (2 - len(values))
    if destination is None:
        memory_calls.call_lanes(em, "ptx_red", words, where, values)
        return
    rooms = memory_calls.call_lanes(em, "ptx_atom", words, where, [*values, Data(access.bytes, "old")])
    wide = em.emit(f"load {access.wide}, ptr {rooms[2]}, align 64")
    registers = memory.elements(destination)
    for register, part in zip(registers, memory.split(em, access, wide, em.kind(kind), len(registers)), strict=True):
        em.set(register, em.kind(kind), part)


def _data(em: Emitter, access: Access, source: Operand, kind: str, use: str) -> Data:
    parts = source.elements if isinstance(source, Vector) else (source,)
    value = memory.join(em, access, [em.get(part, kind) for part in parts], kind)
    return Data(access.bytes, use, access.wide, value)
