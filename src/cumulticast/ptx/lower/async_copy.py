"""cp.async and the copies of stretches (cp.async.bulk, cp.reduce.async.bulk, their multicast forms, st.bulk, st.async).

All are carried out at once, which PTX allows: nobody may look at a destination before the copy is complete, so groups
have nothing to wait for. A copy that a barrier counts is counted at once.
"""

from __future__ import annotations

from cumulticast.ptx import layout
from cumulticast.ptx.lower import address, memory, memory_calls, ordering
from cumulticast.ptx.lower.access import Access, Space
from cumulticast.ptx.lower.atomics import lower_red, operation_of
from cumulticast.ptx.lower.elements import Element, Operation, element_of
from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.lower.mbarrier import Act, act_on
from cumulticast.ptx.lower.memory_calls import Data
from cumulticast.ptx.syntax import Instruction, Integer, Operand

COPY = -1
ALL_BYTES = 0xFFFF
NO_BARRIER, ONE_BARRIER, BLOCKS = 0, 1, 2
ADD_FLUSHED = 255  # the operation of f32 sums in global memory: subnormal numbers become zero


# ---- cp.async


@lowers("cp.async")
def lower_cp_async(em: Emitter, ins: Instruction) -> None:
    """Copy 4, 8 or 16 bytes a lane from global to shared memory; what the source lacks is zero."""
    if ins.modifiers[1] in ("commit_group", "wait_group", "wait_all"):
        return
    target, source, size, *rest = ins.operands
    if not isinstance(size, Integer):
        raise em.fail(f"{ins.name}: the size is a constant")
    with address.shape(em, vector=True):
        count = _source_bytes(em, ins, size.value, rest)
        if count is None:
            _copy_all(em, target, source, size.value)
        else:
            _copy_some(em, target, source, size.value, count)


def _source_bytes(em: Emitter, ins: Instruction, size: int, rest: list[Operand]) -> str | None:
    """Answer how many bytes each lane reads (``i32``); None for all."""
    if ins.has("L2::cache_hint"):
        rest = rest[:-1]
    if not rest or (isinstance(rest[0], Integer) and rest[0].value == size):
        return None
    if memory.is_predicate(em, rest[0]):  # ignore-src
        return em.select(em.get(rest[0], "i1"), "i32", em.const("i32", 0), em.const("i32", size))
    return em.get(rest[0], "i32")


def _copy_all(em: Emitter, target: Operand, source: Operand, size: int) -> None:
    element, count = ("i32", 1) if size == 4 else ("i64", size // 8)
    read = Access(Space.GLOBAL, element, count)
    write = Access(Space.SHARED, element, count, write=True)
    value = memory.load(em, read, memory_calls.place_operand(em, source))
    memory.call(em, write, memory_calls.place_operand(em, target), value)


def _copy_some(em: Emitter, target: Operand, source: Operand, size: int, count: str) -> None:
    words = [
        memory_calls.word(Space.SHARED, size, layout.RIGHT_WRITE),
        memory_calls.word(Space.GLOBAL, size, layout.RIGHT_READ),
    ]
    data = [_wide(memory_calls.raw64(em, source, Space.GLOBAL), "source0"), _narrow(count, "source1")]
    memory_calls.call_lanes(em, "ptx_copy_some", words, memory_calls.raw64(em, target, Space.SHARED), data)


def _wide(value: str, use: str) -> Data:
    return Data(8, use, f"<{LANES} x i64>", value)


def _narrow(value: str, use: str) -> Data:
    return Data(4, use, f"<{LANES} x i32>", value)


@lowers("cp.async.mbarrier")
def lower_async_arrive(em: Emitter, ins: Instruction) -> None:
    """Arrive when the copies before are complete, which they are; without ``.noinc`` one more is expected before."""
    if ins.has("noinc"):
        with address.shape(em, vector=True):
            ordering.release(em, ("cta",))
            act_on(em, Act.ARRIVE, ins.operands[0], em.const("i64", 1), ins)


# ---- stretches


def _spaces(ins: Instruction) -> tuple[Space, Space]:
    target, source = (address.SPACES[word] for word in ins.modifiers if word in address.SPACES)
    return target, source


def _code(em: Emitter, ins: Instruction) -> int:
    if "reduce" not in ins.modifiers:
        return COPY
    operation = operation_of(em, ins)
    element, _ = element_of(ins.types[-1], operation)
    flushed = element is Element.F32 and operation is Operation.ADD
    return element | (ADD_FLUSHED if flushed else operation) << 8


@lowers("cp.async.bulk", "cp.reduce.async")
def lower_bulk(em: Emitter, ins: Instruction) -> None:
    """Copy or combine a stretch for each active lane."""
    if not {"commit_group", "wait_group", "prefetch"}.isdisjoint(ins.modifiers):
        return
    if not {"tensor", "ignore_oob"}.isdisjoint(ins.modifiers):
        raise em.fail(f"{ins.name} is not supported")
    (to, source), blocks = _spaces(ins), ins.has("multicast::cluster")
    target, origin, size, *rest = ins.operands
    counted = ins.has("mbarrier::complete_tx::bytes")
    with address.shape(em, vector=True):
        barrier = memory_calls.raw64(em, rest[0], to) if counted else em.const("i64", 0)
        # A cache policy stands behind the mask of blocks, and before the mask of bytes.
        masked = rest[1:2] if blocks else rest[-1:] if ins.has("cp_mask") else []
        mask = em.resize("i16", "i32", em.get(masked[0], "i16")) if masked else em.const("i32", ALL_BYTES)
        data = [
            _wide(memory_calls.raw64(em, origin, source), "source0"),
            _narrow(em.get(size, "i32"), "source1"),
            _wide(barrier, "source2"),
            _narrow(mask, "source3"),
        ]
        words = [to | source << 8, _code(em, ins), BLOCKS if blocks else ONE_BARRIER if counted else NO_BARRIER]
        memory_calls.call_lanes(em, "ptx_bulk", words, memory_calls.raw64(em, target, to), data)


@lowers("multimem.cp")
def lower_multimem_bulk(em: Emitter, ins: Instruction) -> None:
    """Copy a stretch of shared memory into every replica, or combine it with them."""
    target, origin, size, *rest = ins.operands
    with address.shape(em, vector=True):
        mask = em.resize("i16", "i32", em.get(rest[0], "i16")) if ins.has("cp_mask") else em.const("i32", ALL_BYTES)
        data = [
            _wide(memory_calls.raw64(em, origin, Space.SHARED), "source0"),
            _narrow(em.get(size, "i32"), "source1"),
            _narrow(mask, "source2"),
        ]
        where = memory_calls.raw64(em, target, Space.GLOBAL)
        memory_calls.call_lanes(em, "ptx_multimem_bulk", [Space.SHARED, _code(em, ins)], where, data)


@lowers("st.bulk")
def lower_st_bulk(em: Emitter, ins: Instruction) -> None:
    """Write zeros over a stretch of shared memory."""
    space = address.space_of(ins)
    with address.shape(em, vector=True):
        data = [_wide(em.get(ins.operands[1], "i64"), "source0")]
        memory_calls.call_lanes(em, "ptx_fill", [space], memory_calls.raw64(em, ins.operands[0], space), data)


@lowers("st.async", "red.async")
def lower_async_store(em: Emitter, ins: Instruction) -> None:
    """Store, or combine; where a barrier counts the bytes, count them."""
    plain = Instruction(
        ins.opcode,
        tuple(word for word in ins.modifiers[1:] if not word.startswith("mbarrier")),
        ins.operands[:2],
        line=ins.line,
    )
    (memory.lower_st if ins.opcode == "st" else lower_red)(em, plain)
    if ins.has("mbarrier::complete_tx::bytes"):
        size = memory.access_of(ins, write=True).bytes
        with address.shape(em, vector=True):
            ordering.release(em, ("cluster",))
            act_on(em, Act.COMPLETE, ins.operands[2], em.const("i64", size), ins)
