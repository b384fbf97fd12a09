"""cvt between integers, and cvt.pack (PTX ISA 9.7.9)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.integer_types import bounds, clamp, is_signed, write
from cumulticast.ptx.syntax import Instruction


def convert(em: Emitter, ins: Instruction) -> None:
    """Widen by the source's sign, or cut; with ``.sat`` limit to the result's range first."""
    result, source = ins.types
    value = em.get(ins.operands[1], em.kind(source))
    if ins.has("sat"):
        value = clamp(em, value, source, *bounds(result))
    value = em.resize(em.kind(source), em.kind(result), value, signed=is_signed(source))
    write(em, ins.operands[0], result, value)


def pack(em: Emitter, ins: Instruction) -> None:
    """``cvt.pack.sat.u8.s32.b32 d, a, b, c``: a and b limited and put into the low bits, a above b, c's bits above."""
    element = next(word for word in ins.modifiers if word not in ("pack", "sat"))
    bits = int(element[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(element) else (0, (1 << bits) - 1)
    a, b = (_limited(em, em.get(operand, "i32"), low, high, bits) for operand in ins.operands[1:3])
    value = em.op("or", "i32", em.op("shl", "i32", a, em.const("i32", bits)), b)
    if len(ins.operands) == 4:
        above = em.op("shl", "i32", em.get(ins.operands[3], "i32"), em.const("i32", 2 * bits))
        value = em.op("or", "i32", value, above)
    em.set(ins.operands[0], "i32", value)


def _limited(em: Emitter, value: str, low: int, high: int, bits: int) -> str:
    limited = clamp(em, value, "s32", low, high)
    return em.op("and", "i32", limited, em.const("i32", (1 << bits) - 1))
