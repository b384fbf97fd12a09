"""mbarrier: barriers in shared memory (mbarrier.c). A wait never waits: the program asks again."""

from __future__ import annotations

import enum

from cumulticast.ptx.lower import address, memory_calls, ordering
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.memory_calls import Data
from cumulticast.ptx.syntax import Address, Instruction, Operand, Sink

PENDING_BITS = 20


class Act(enum.IntEnum):
    """What is done to a barrier (mbarrier.h)."""

    INIT = 0
    INVAL = 1
    ARRIVE = 2
    ARRIVE_EXPECT = 3
    DROP = 4
    DROP_EXPECT = 5
    EXPECT = 6
    COMPLETE = 7
    TEST = 8
    TEST_PARITY = 9


def act_on(em: Emitter, act: Act, where: Operand, operand: str, ins: Instruction) -> str:
    """Act for the active lanes; answers what each is told, kind ``i64``."""
    space = address.space_of(ins)
    words = [memory_calls.word(space, 8, memory_calls.READ_WRITE), act]
    data = [Data(8, "source0", em.t("i64"), operand), Data(8, "old")]
    rooms = memory_calls.call_lanes(em, "ptx_mbarrier", words, memory_calls.raw64(em, where, space), data)
    return em.emit(f"load {em.t('i64')}, ptr {rooms[1]}, align 64")


@lowers("mbarrier.init", "mbarrier.inval", "mbarrier.expect_tx", "mbarrier.complete_tx")
def lower_change(em: Emitter, ins: Instruction) -> None:
    """Set a barrier up, give it up, or announce or count bytes."""
    act = {"init": Act.INIT, "inval": Act.INVAL, "expect_tx": Act.EXPECT, "complete_tx": Act.COMPLETE}[ins.modifiers[0]]
    where, *operands = ins.operands
    with address.shape(em, vector=True):
        operand = _count(em, operands, 0)
        act_on(em, act, where, operand, ins)


def _count(em: Emitter, operands: list[Operand], otherwise: int) -> str:
    return em.resize("i32", "i64", em.get(operands[0], "i32")) if operands else em.const("i64", otherwise)


@lowers("mbarrier.arrive", "mbarrier.arrive_drop")
def lower_arrive(em: Emitter, ins: Instruction) -> None:
    """Arrive; the state tells which phase that was."""
    drop, expects = ins.has("arrive_drop"), ins.has("expect_tx")
    act = {(0, 0): Act.ARRIVE, (0, 1): Act.ARRIVE_EXPECT, (1, 0): Act.DROP, (1, 1): Act.DROP_EXPECT}[drop, expects]
    operands = list(ins.operands)
    result = Sink() if isinstance(operands[0], Address) else operands.pop(0)
    where, *count = operands
    with address.shape(em, vector=True):
        operand = _count(em, count, 1)
        if not ins.has("relaxed"):
            ordering.release(em, ("cta", *ins.modifiers) if not ins.has("cluster") else ins.modifiers)
        em.set(result, "i64", act_on(em, act, where, operand, ins))


@lowers("mbarrier.test_wait", "mbarrier.try_wait")
def lower_wait(em: Emitter, ins: Instruction) -> None:
    """Tell whether a phase is over."""
    parity = ins.has("parity")
    with address.shape(em, vector=True):
        operand = em.get(ins.operands[2], "i32" if parity else "i64")
        operand = em.resize("i32" if parity else "i64", "i64", operand)
        told = act_on(em, Act.TEST_PARITY if parity else Act.TEST, ins.operands[1], operand, ins)
        if not ins.has("relaxed"):
            ordering.acquire(em)
        em.set(ins.operands[0], "i1", em.resize("i64", "i1", told))


@lowers("mbarrier.pending_count")
def lower_pending_count(em: Emitter, ins: Instruction) -> None:
    """Read from a state how many arrivals were pending."""
    count = em.op("and", "i64", em.get(ins.operands[1], "i64"), em.const("i64", (1 << PENDING_BITS) - 1))
    em.set(ins.operands[0], "i32", em.resize("i64", "i32", count))
