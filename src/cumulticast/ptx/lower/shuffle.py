"""shfl.sync: lanes of a warp read each other's registers (PTX ISA, "Data Movement: shfl.sync")."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.syntax import Instruction, Operand, Pair

LANE_NUMBERS = f"<{', '.join(f'i32 {lane}' for lane in range(LANES))}>"


def destinations(operand: Operand) -> tuple[Operand, Operand | None]:
    """Part ``d|p``."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)


@lowers("shfl")
def lower_shfl(em: Emitter, ins: Instruction) -> None:
    """shfl.sync.mode.b32 d|p, a, b, c, mask. A lane out of range keeps its own value, and p is false."""
    em.vector = True
    target, inside = destinations(ins.operands[0])
    value = em.get(ins.operands[1], "i32")
    b, c = (em.constant(operand) for operand in ins.operands[2:4])
    mode = next(word for word in ("up", "down", "bfly", "idx") if ins.has(word))
    if b is None or c is None:
        found, ok = _by_value(em, ins, mode, value)
    else:
        found, ok = _by_constants(em, mode, value, b, c)
    em.set(target, "i32", found)
    if inside is not None:
        em.set(inside, "i1", ok)


# ---- with constants one permutation does


def source_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Answer which lane ``lane`` reads, and whether that one is in range.

    The manual's own text: bits 0-4 of c are a clamp, bits 8-12 a mask that parts the warp into segments.
    """
    segment, b, clamp = c >> 8 & 31, b & 31, c & 31
    low = lane & segment
    high = low | clamp & ~segment
    j = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": low | b & ~segment}[mode]
    ok = j >= high if mode == "up" else j <= high
    return (j if ok else lane), ok


def _by_constants(em: Emitter, mode: str, value: str, b: int, c: int) -> tuple[str, str]:
    lanes = [source_lane(mode, lane, b, c) for lane in range(LANES)]
    order = ", ".join(f"i32 {lane % LANES}" for lane, _ in lanes)
    found = em.emit(f"shufflevector <{LANES} x i32> {value}, <{LANES} x i32> poison, <{LANES} x i32> <{order}>")
    return found, f"<{', '.join(f'i1 {str(ok).lower()}' for _, ok in lanes)}>"


# ---- with values


def _by_value(em: Emitter, ins: Instruction, mode: str, value: str) -> tuple[str, str]:
    b, c = (em.get(operand, "i32") for operand in ins.operands[2:4])
    lane, ok = _source(em, mode, b, c)
    lane = em.select(ok, "i32", lane, LANE_NUMBERS)
    return read_lanes(em, value, em.op("and", "i32", lane, em.const("i32", 31))), ok


def _source(em: Emitter, mode: str, b: str, c: str) -> tuple[str, str]:
    k31 = em.const("i32", 31)
    b, clamp = em.op("and", "i32", b, k31), em.op("and", "i32", c, k31)
    segment = em.op("and", "i32", em.op("lshr", "i32", c, em.const("i32", 8)), k31)
    inside = em.op("xor", "i32", segment, k31)
    low = em.op("and", "i32", LANE_NUMBERS, segment)
    high = em.op("or", "i32", low, em.op("and", "i32", clamp, inside))
    if mode == "idx":
        j = em.op("or", "i32", low, em.op("and", "i32", b, inside))
    else:
        j = em.op({"up": "sub", "down": "add", "bfly": "xor"}[mode], "i32", LANE_NUMBERS, b)
    return j, em.compare("icmp", "sge" if mode == "up" else "sle", "i32", j, high)


def read_lanes(em: Emitter, value: str, lane: str) -> str:
    """Answer, for each lane, ``value`` (i32) of the lane whose number is in ``lane`` (0 to 31)."""
    room = em.room("i32", "shuffled")
    em.do(f"store <{LANES} x i32> {value}, ptr {room}")
    pointers = em.emit(f"getelementptr i32, ptr {room}, <{LANES} x i32> {lane}")
    ones = f"<{LANES} x i1> splat (i1 true)"
    name = f"@llvm.masked.gather.v{LANES}i32.v{LANES}p0"
    em.declare(f"<{LANES} x i32> {name}(<{LANES} x ptr>, <{LANES} x i1>, <{LANES} x i32>)")
    return em.emit(
        f"call <{LANES} x i32> {name}(<{LANES} x ptr> align 4 {pointers}, {ones}, <{LANES} x i32> zeroinitializer)"
    )
