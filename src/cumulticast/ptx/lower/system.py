"""Calls of what the system provides: vprintf and __assertfail (CUDA C++ Programming Guide, "Formatted Output",
"Assertion"). flow/calls.py makes instructions of them.
"""

from __future__ import annotations

from cumulticast.ptx.lower.address import shape
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.syntax import Instruction, Operand


def _spill(em: Emitter, operand: Operand, kind: str, use: str) -> str:
    """Store an operand of all lanes and answer where."""
    room = em.room(kind, use)
    em.do(f"store {em.t(kind)} {em.get(operand, kind)}, ptr {room}")
    return room


@lowers("vprintf")
def lower_vprintf(em: Emitter, ins: Instruction) -> None:
    """Vprintf result, format, arguments: every active lane prints, the lowest first."""
    em.vector = True
    places = [_spill(em, operand, "i64", f"print{n}") for n, operand in enumerate(ins.operands[1:])]
    out = em.room("i32", "printed")
    em.declare("void @ptx_vprintf(ptr, i32, i32, ptr, ptr, ptr)")
    given = f"ptr {em.warp}, i32 {em.number}, i32 {em.active}"
    em.do(f"call void @ptx_vprintf({given}, ptr {out}, ptr {places[0]}, ptr {places[1]})")
    em.set(ins.operands[0], "i32", em.emit(f"load {em.t('i32')}, ptr {out}"))


@lowers("assertfail")
def lower_assertfail(em: Emitter, ins: Instruction) -> None:
    """__assertfail(message, file, line, function, character size): prints and ends the kernel (710)."""
    with shape(em, vector=True):
        message, file, line, function = (
            _spill(em, operand, kind, f"assert{n}")
            for n, (operand, kind) in enumerate(zip(ins.operands, ("i64", "i64", "i32", "i64"), strict=False))
        )
    em.declare("void @ptx_assertfail(ptr, i32, i32, ptr, ptr, ptr, ptr)")
    em.do(
        f"call void @ptx_assertfail(ptr {em.warp}, i32 {em.number}, i32 {em.active}, "
        f"ptr {message}, ptr {file}, ptr {line}, ptr {function})"
    )


@lowers("device_malloc", "device_free")
def lower_heap(em: Emitter, ins: Instruction) -> None:
    """Refuse malloc and free: memory that kernels allocate is not simulated.

    The kernel ends when it comes here, not before: a class with a virtual destructor names free, used or not.
    """
    em.declare("void @ptx_no_heap(ptr, i32, i32)")
    em.do(f"call void @ptx_no_heap(ptr {em.warp}, i32 {em.number}, i32 {em.active})")
    if ins.opcode == "device_malloc":
        em.set(ins.operands[0], "i64", em.const("i64", 0))
