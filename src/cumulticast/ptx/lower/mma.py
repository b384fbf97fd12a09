"""mma.sync: D = A B + C, matrices that lie spread over the registers of a warp (PTX ISA, "mma").

All 32 lanes hand their fragments to the runtime (native/mma.h says how they lie there), which answers D's.

What is promised: of f16, bf16, tf32 and 8-bit floats products are exact, their sum is taken in f32 from k = 0 upwards,
C is added last, and the result is rounded once more where D is f16. PTX leaves order and rounding open (at least single
precision for an f32 D, half precision for an f16 one), so hardware differs in the last bits. With u = 2^-24 the result
differs from the exact one by at most (k + 1) u (sum |a b| + |c|), plus half a unit in the last place of f16. Forms of
integers, of single bits and of f64 (a chain of fused multiply-adds, k ascending) are exact: an H200 answers the same.
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.lower.memory import elements
from cumulticast.ptx.lower.mma_forms import form_of
from cumulticast.ptx.syntax import Instruction, Operand


@lowers("mma")
def lower_mma(em: Emitter, ins: Instruction) -> None:
    """mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c."""
    em.vector = True
    form = form_of(em, ins)
    kind = "i64" if form.a == "f64" else "i32"
    rooms = [registers_room(em, kind, operand, name) for operand, name in zip(ins.operands, "dabc", strict=True)]
    for operand, room in zip(ins.operands[1:], rooms[1:], strict=True):
        store_registers(em, kind, operand, room)
    em.declare(f"void @{form.function}(ptr, i32, i32, i32, ptr, ptr, ptr, ptr)")
    scalars = f"ptr {em.warp}, i32 {em.number}, i32 {em.active}, i32 {form.code}"
    em.do(f"call void @{form.function}({scalars}, {', '.join(f'ptr {room}' for room in rooms)})")
    load_registers(em, kind, ins.operands[0], rooms[0])


# ---- the registers of a vector operand, one after the other in memory, 32 lanes each


def registers_room(em: Emitter, kind: str, operand: Operand, use: str) -> str:
    """Answer a stack slot for all registers of an operand."""
    return em.room(f"i{int(kind[1:]) * len(elements(operand))}", f"matrix.{use}")


def _places(em: Emitter, kind: str, operand: Operand, room: str) -> list[tuple[Operand, str]]:
    size = int(kind[1:]) // 8 * LANES
    found = enumerate(elements(operand))
    return [(register, em.emit(f"getelementptr i8, ptr {room}, i64 {i * size}")) for i, register in found]


def store_registers(em: Emitter, kind: str, operand: Operand, room: str) -> None:
    """Write the registers of an operand to its slot."""
    for register, place in _places(em, kind, operand, room):
        em.do(f"store {em.t(kind)} {em.get(register, kind)}, ptr {place}, align 64")


def load_registers(em: Emitter, kind: str, operand: Operand, room: str) -> None:
    """Write what stands in an operand's slot to its registers."""
    for register, place in _places(em, kind, operand, room):
        em.set(register, kind, em.emit(f"load {em.t(kind)}, ptr {place}, align 64"))
