"""What the files of integer instructions share: types, operands by type, and packed values in parts."""

from __future__ import annotations

from collections.abc import Callable

from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.syntax import TYPE_BITS, Instruction, Operand

#: The element types of packed integers.
PACKED = {"u16x2": "u16", "s16x2": "s16"}

#: (kind, signed, values of one element of each source) → the value of that element of the result.
Element = Callable[[str, bool, list[str]], str]


def is_signed(ptx_type: str) -> bool:
    """Tell whether a type is read by sign: ``s32``, ``s16x2``."""
    return ptx_type.startswith("s")


def bits_of(kind: str) -> int:
    """Answer the bits of an integer kind."""
    return int(kind[1:])


def integer_type(ins: Instruction) -> str:
    """Answer the type of an instruction that has one: the last that is written."""
    return ins.types[-1]


def sources(em: Emitter, ins: Instruction, ptx_type: str) -> list[str]:
    """Read all operands but the first as one type."""
    return [em.get(operand, em.kind(ptx_type)) for operand in ins.operands[1:]]


def write(em: Emitter, operand: Operand, ptx_type: str, value: str) -> None:
    """Write a destination; a wider register is extended by the type's sign."""
    em.set(operand, em.kind(ptx_type), value, signed=is_signed(ptx_type))


def elementwise(em: Emitter, ins: Instruction, element: Element) -> None:
    """Carry an instruction of one type out: for a packed type once for each element."""
    whole = integer_type(ins)
    part = PACKED.get(whole, whole)
    kind, signed = em.kind(part), is_signed(part)
    columns = [split(em, value, em.kind(whole), kind) for value in sources(em, ins, whole)]
    parts = [element(kind, signed, list(row)) for row in zip(*columns, strict=True)]
    write(em, ins.operands[0], whole, join(em, parts, kind, em.kind(whole)))


def split(em: Emitter, value: str, whole: str, part: str) -> list[str]:
    """Cut a value into parts of a narrower kind, lowest first."""
    width = bits_of(part)
    return [part_of(em, value, whole, part, at) for at in range(0, bits_of(whole), width)]


def part_of(em: Emitter, value: str, whole: str, part: str, at: int) -> str:
    """Take the bits of a narrower kind that begin at bit ``at``."""
    if at:
        value = em.op("lshr", whole, value, em.const(whole, at))
    return em.resize(whole, part, value)


def join(em: Emitter, parts: list[str], part: str, whole: str) -> str:
    """Put parts together, lowest first; fewer than fill the value leave zeros above."""
    result = em.resize(part, whole, parts[0])
    for i, value in enumerate(parts[1:], start=1):
        wide = em.resize(part, whole, value)
        shifted = em.op("shl", whole, wide, em.const(whole, i * bits_of(part)))
        result = em.op("or", whole, result, shifted)
    return result


def bounds(ptx_type: str) -> tuple[int, int]:
    """Answer the least and the greatest number of an integer type."""
    bits = TYPE_BITS[ptx_type]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(ptx_type) else (0, (1 << bits) - 1)


def clamp(em: Emitter, value: str, source: str, low: int, high: int) -> str:
    """Limit a value of type ``source`` to ``low … high``, as far as it can lie outside of them."""
    kind, letter = em.kind(source), "s" if is_signed(source) else "u"
    least, greatest = bounds(source)
    if low > least:
        value = em.intrinsic(f"llvm.{letter}max", kind, value, em.const(kind, low))
    if high < greatest:
        value = em.intrinsic(f"llvm.{letter}min", kind, value, em.const(kind, high))
    return value
