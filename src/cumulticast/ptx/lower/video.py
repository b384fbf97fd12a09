"""SIMD video instructions: vadd2 … vset4, on the halves or the bytes of words (PTX ISA, "Video Instructions").

Those that NVRTC writes for ``__vabsdiffu4``, ``__vsadu2`` are among them. Selectors (``%r1.h10``) and the scalar video
instructions are not: the parser refuses the former, `emitter.lowering` does not find the latter.
"""

from __future__ import annotations

from cumulticast.ptx.lower.compare import compare_integers
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer import absolute_difference
from cumulticast.ptx.lower.integer_types import bounds, clamp, is_signed, join, split
from cumulticast.ptx.syntax import Instruction

OPERATIONS = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@lowers(*(name + count for name in OPERATIONS for count in "24"))
def lower_simd(em: Emitter, ins: Instruction) -> None:
    """Each element by itself; with ``.add`` the sum of all the results and c."""
    bits = 16 if ins.opcode.endswith("2") else 8
    a_type, b_type = ins.types[-2:]
    result = f"{ins.types[0][0]}{bits}"
    left, right = _numbers(em, ins, 1, a_type, bits), _numbers(em, ins, 2, b_type, bits)
    values = [_element(em, ins, a, b) for a, b in zip(left, right, strict=True)]
    if ins.has("sat"):
        values = [clamp(em, value, "s32", *bounds(result)) for value in values]
    em.set(ins.operands[0], "i32", _sum(em, ins, values) if ins.has("add") else _packed(em, values, bits))


def _numbers(em: Emitter, ins: Instruction, operand: int, ptx_type: str, bits: int) -> list[str]:
    """Read the elements of an operand as numbers of kind i32, lowest first."""
    parts = split(em, em.get(ins.operands[operand], "i32"), "i32", f"i{bits}")
    return [em.resize(f"i{bits}", "i32", part, signed=is_signed(ptx_type)) for part in parts]


def _element(em: Emitter, ins: Instruction, a: str, b: str) -> str:
    """Compute one element, as a number of kind i32 in which nothing overflows."""
    match ins.opcode[:-1]:
        case "vabsdiff":
            return absolute_difference(em, "i32", True, a, b)
        case "vmin" | "vmax":
            return em.intrinsic(f"llvm.s{ins.opcode[1:4]}", "i32", a, b)
        case "vavrg":
            return _average(em, a, b)
        case "vset":
            word = next(word for word in ins.modifiers if word in COMPARISONS)
            return em.resize("i1", "i32", compare_integers(em, word, "s32", a, b))
        case name:
            return em.op(name[1:], "i32", a, b)


def _average(em: Emitter, a: str, b: str) -> str:
    """Halve the sum; what lies between two numbers goes away from zero."""
    total = em.op("add", "i32", a, b)
    positive = em.resize("i1", "i32", em.compare("icmp", "sge", "i32", total, em.const("i32", 0)))
    return em.op("ashr", "i32", em.op("add", "i32", total, positive), em.const("i32", 1))


def _sum(em: Emitter, ins: Instruction, values: list[str]) -> str:
    """Add the third source. An H200 adds the results before they are cut to an element's width (driver 580.159)."""
    total = em.get(ins.operands[3], "i32")
    for value in values:
        total = em.op("add", "i32", total, value)
    return total


def _packed(em: Emitter, values: list[str], bits: int) -> str:
    return join(em, [em.resize("i32", f"i{bits}", value) for value in values], f"i{bits}", "i32")
