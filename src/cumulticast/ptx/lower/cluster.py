"""mapa and getctarank: the shared memory of the other blocks of a cluster.

A shared::cluster address has the block's rank plus one from bit 24 on; 0 there is the block itself (memory.c).
"""

from __future__ import annotations

from cumulticast.ptx.lower import address, memory_calls
from cumulticast.ptx.lower.access import Space
from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.lower.memory_calls import Data
from cumulticast.ptx.syntax import Instruction, Operand, Symbol

RANK_SHIFT = 24


def _source(em: Emitter, operand: Operand, kind: str) -> str:
    if isinstance(operand, Symbol):
        return em.resize("i64", kind, address.symbol_address(em, operand))
    return em.get(operand, kind)


@lowers("mapa")
def lower_mapa(em: Emitter, ins: Instruction) -> None:
    """Answer the address of the same variable in another block."""
    kind = em.kind(ins.types[-1])
    if address.space_of(ins) is Space.SHARED:
        offset = em.op("and", kind, _source(em, ins.operands[1], kind), em.const(kind, (1 << RANK_SHIFT) - 1))
        rank = em.op("add", kind, em.resize("i32", kind, em.get(ins.operands[2], "i32")), em.const(kind, 1))
        em.set(ins.operands[0], kind, em.op("or", kind, offset, em.op("shl", kind, rank, em.const(kind, RANK_SHIFT))))
        return
    uniform = not em.vector
    with address.once(em):
        data = [Data(4, "source0", em.t("i32"), em.get(ins.operands[2], "i32")), Data(8, "old")]
        rooms = memory_calls.call_lanes(em, "ptx_mapa", [], em.get(ins.operands[1], "i64"), data)
        found = em.emit(f"load <{LANES} x i64>, ptr {rooms[1]}, align 64")
    em.set(ins.operands[0], "i64", memory_calls.first_active(em, "i64", found) if uniform else found)


@lowers("getctarank")
def lower_getctarank(em: Emitter, ins: Instruction) -> None:
    """Answer the rank of the block that a shared address belongs to."""
    if address.space_of(ins) is Space.SHARED:
        kind = em.kind(ins.types[-1])
        high = em.op("lshr", kind, _source(em, ins.operands[1], kind), em.const(kind, RANK_SHIFT))
        high = em.resize(kind, "i32", high)
        own = em.shaped("i32", em.field("cluster_ctarank"))
        other = em.op("sub", "i32", high, em.const("i32", 1))
        is_own = em.compare("icmp", "eq", "i32", high, em.const("i32", 0))
        em.set(ins.operands[0], "i32", em.select(is_own, "i32", own, other))
        return
    uniform = not em.vector
    with address.once(em):
        where = em.get(ins.operands[1], "i64")
        (room,) = memory_calls.call_lanes(em, "ptx_getctarank", [], where, [Data(4, "old")])
        found = em.emit(f"load <{LANES} x i32>, ptr {room}, align 64")
    em.set(ins.operands[0], "i32", memory_calls.first_active(em, "i32", found) if uniform else found)
