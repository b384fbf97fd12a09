"""vote, match, redux, activemask, elect: what the lanes of a warp have in common.

The lanes that carry an instruction out are those of `Emitter.active`; that all members are among them was seen to
before (flow/writer.py). A result is one scalar where the member mask is, else each lane's own.
"""

from __future__ import annotations

from cumulticast.ptx.lower.address import shape
from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.lower.shuffle import LANE_NUMBERS, destinations
from cumulticast.ptx.syntax import Instruction, Operand


def mask_of(em: Emitter, predicate: str) -> str:
    """Answer a predicate of all lanes as i32."""
    return em.emit(f"bitcast <{LANES} x i1> {predicate} to i32")


def members(em: Emitter, operand: Operand) -> str:
    """Answer the members of each lane's group that are there, in the instruction's shape."""
    return em.op("and", "i32", em.get(operand, "i32"), em.shaped("i32", em.active))


def ballot(em: Emitter, operand: Operand) -> str:
    """Answer for which lanes a predicate holds, as a scalar i32; lanes that take no part count as well."""
    with shape(em, vector=True):
        return mask_of(em, em.get(operand, "i1"))


# ---- vote


@lowers("vote")
def lower_vote(em: Emitter, ins: Instruction) -> None:
    """vote.sync.{all,any,uni}.pred p, {!}a, mask; vote.sync.ballot.b32 d, {!}a, mask."""
    group = members(em, ins.operands[-1])
    votes = em.op("and", "i32", em.shaped("i32", ballot(em, ins.operands[1])), group)
    if ins.has("ballot"):
        em.set(ins.operands[0], "i32", votes)
        return
    every = em.compare("icmp", "eq", "i32", votes, group)
    none = em.compare("icmp", "eq", "i32", votes, em.const("i32", 0))
    if ins.has("all"):
        found = every
    elif ins.has("any"):
        found = em.op("xor", "i1", none, em.const("i1", 1))
    else:
        found = em.op("or", "i1", every, none)
    em.set(ins.operands[0], "i1", found)


@lowers("activemask")
def lower_activemask(em: Emitter, ins: Instruction) -> None:
    """activemask.b32 d: the lanes that are here."""
    em.set(ins.operands[0], "i32", em.shaped("i32", em.active))


@lowers("elect")
def lower_elect(em: Emitter, ins: Instruction) -> None:
    """elect.sync d|p, mask: the lowest member leads."""
    em.vector = True
    target, leads = destinations(ins.operands[0])
    leader = em.intrinsic("llvm.cttz", "i32", members(em, ins.operands[-1]), extra="i1 false")
    em.set(target, "i32", leader)
    if leads is not None:
        em.set(leads, "i1", em.compare("icmp", "eq", "i32", leader, LANE_NUMBERS))


# ---- match


@lowers("match")
def lower_match(em: Emitter, ins: Instruction) -> None:
    """match.any.sync.type d, a, mask; match.all.sync.type d|p, a, mask."""
    em.vector = True
    kind = em.kind(ins.types[-1])
    group = members(em, ins.operands[-1])
    wide = em.resize(kind, "i64", em.get(ins.operands[1], kind))
    equal = em.op("and", "i32", em.runtime("ptx_match", ["i32"], [("i64", wide)])[0], group)
    target, all_equal = destinations(ins.operands[0])
    if ins.has("any"):
        em.set(target, "i32", equal)
        return
    same = em.compare("icmp", "eq", "i32", equal, group)
    em.set(target, "i32", em.select(same, "i32", group, em.const("i32", 0)))
    if all_equal is not None:
        em.set(all_equal, "i1", same)


# ---- redux

#: Operation → (LLVM's reduction, the value that changes nothing).
REDUCTIONS: dict[str, tuple[str, int]] = {
    "add": ("add", 0),
    "and": ("and", -1),
    "or": ("or", 0),
    "xor": ("xor", 0),
    "min.u32": ("umin", 0xFFFFFFFF),
    "max.u32": ("umax", 0),
    "min.s32": ("smin", 0x7FFFFFFF),
    "max.s32": ("smax", -0x80000000),
}


@lowers("redux")
def lower_redux(em: Emitter, ins: Instruction) -> None:
    """redux.sync.op.type d, a, mask. Members whose masks differ are combined group by group in C."""
    operation, ptx_type = ins.modifiers[1], ins.types[-1]
    if ptx_type == "f32":
        _float_redux(em, ins)
        return
    uniform = not em.vector
    name, neutral = REDUCTIONS.get(operation) or REDUCTIONS[f"{operation}.{ptx_type}"]
    if not uniform:
        value, group = em.get(ins.operands[1], "i32"), members(em, ins.operands[-1])
        code = em.const(
            "i32", list(REDUCTIONS).index(operation if operation in REDUCTIONS else f"{operation}.{ptx_type}")
        )
        em.set(
            ins.operands[0], "i32", em.runtime("ptx_redux", ["i32"], [("i32", value), ("i32", group), ("i32", code)])[0]
        )
        return
    group = members(em, ins.operands[-1])
    with shape(em, vector=True):
        chosen = em.emit(f"bitcast i32 {group} to <{LANES} x i1>")
        value = em.select(chosen, "i32", em.get(ins.operands[1], "i32"), em.const("i32", neutral))
    em.set(ins.operands[0], "i32", reduced(em, name, value))


def reduced(em: Emitter, name: str, value: str) -> str:
    """Combine an i32 of all lanes into a scalar."""
    em.declare(f"i32 @llvm.vector.reduce.{name}.v{LANES}i32(<{LANES} x i32>)")
    return em.emit(f"call i32 @llvm.vector.reduce.{name}.v{LANES}i32(<{LANES} x i32> {value})")


def _float_redux(em: Emitter, ins: Instruction) -> None:
    """redux.sync.{min,max}{.abs}{.NaN}.f32 (sm_100a): in C, for both shapes."""
    uniform, em.vector = not em.vector, True
    flags = em.const("i32", ins.has("max") | ins.has("abs") << 1 | ins.has("NaN") << 2)
    value, group = em.get(ins.operands[1], "i32"), members(em, ins.operands[-1])
    found = em.runtime("ptx_redux_float", ["i32"], [("i32", value), ("i32", group), ("i32", flags)])[0]
    if uniform:
        first = em.emit(f"extractelement <{LANES} x i32> {found}, i32 {first_lane(em)}")
        em.vector = False
        found = first
    em.set(ins.operands[0], "i32", found)


def first_lane(em: Emitter) -> str:
    """Answer the number of the lowest lane that is here, a scalar i32."""
    em.declare("i32 @llvm.cttz.i32(i32, i1)")
    return em.emit(f"call i32 @llvm.cttz.i32(i32 {em.active}, i1 false)")
