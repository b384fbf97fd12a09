"""cvt to and from pairs: f16x2 and bf16x2 of two floats, and the 8-, 6- and 4-bit formats, which come in pairs only.

Of two operands the first becomes the upper element.
"""

from __future__ import annotations

from collections.abc import Callable

from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.float_formats import PACKED, join, read, split
from cumulticast.ptx.lower.float_forms import clipped, computed, rounding
from cumulticast.ptx.lower.float_round import narrow, widen
from cumulticast.ptx.syntax import Instruction

#: Pairs of small numbers: the format of one, and the bits that each takes of the register.
SMALL: dict[str, tuple[str, int]] = {
    "e4m3x2": ("e4m3", 8),
    "e5m2x2": ("e5m2", 8),
    "e3m2x2": ("e3m2", 8),
    "e2m3x2": ("e2m3", 8),
    "e2m1x2": ("e2m1", 4),
    "ue8m0x2": ("ue8m0", 8),
}
INFINITY, NAN_8 = 0x7F800000, 0xFF


def pack(em: Emitter, ins: Instruction, target: str) -> None:
    """``cvt.rnd{.relu}{.satfinite}.f16x2.f32 d, a, b``."""

    def one(value: str) -> str:
        value = clipped(em, "float", value) if ins.has("relu") else value
        return narrow(em, "float", value, PACKED[target], rounding(ins), finite=ins.has("satfinite"))

    em.set(ins.operands[0], "i32", _pair(em, ins, 16, _floats(em, ins, "f32"), one))


def to_small(em: Emitter, ins: Instruction, target: str, source: str) -> None:
    """``cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b``, ``cvt.rn.satfinite{.relu}.e4m3x2.f16x2 d, a`` and the like."""
    name, bits = SMALL[target]

    def one(value: str) -> str:
        value = clipped(em, "float", value) if ins.has("relu") else value
        if name == "ue8m0":
            return _power_of_two(em, value, up=ins.has("rp"), finite=ins.has("satfinite"))
        return narrow(em, "float", value, name, rounding(ins), finite=True)

    em.set(ins.operands[0], f"i{2 * bits}", _pair(em, ins, bits, _floats(em, ins, source), one))


def from_small(em: Emitter, ins: Instruction, target: str, source: str) -> None:
    """``cvt.rn{.relu}.f16x2.e4m3x2 d, a`` and the like: always exact."""
    name, bits = SMALL[source]
    kind = f"i{2 * bits}"
    values: list[str] = []
    for raw in split(em, kind, em.get(ins.operands[1], kind)):
        value = _power_as_float(em, raw) if name == "ue8m0" else widen(em, name, raw, f"i{bits}")
        values.append(clipped(em, "float", value) if ins.has("relu") else value)
    results = [narrow(em, "float", value, PACKED[target]) for value in values]
    em.set(ins.operands[0], "i32", join(em, "i32", *results))


def _floats(em: Emitter, ins: Instruction, source: str) -> list[str]:
    """Answer the two values to convert as floats, the lower one first."""
    if (source == "f32") != (len(ins.operands) == 3):
        raise em.fail(f"{ins.name} with {len(ins.operands)} operands is not supported")
    if source == "f32":
        return [em.get(operand, "float") for operand in reversed(ins.operands[1:])]
    return [computed(em, PACKED[source], raw) for raw in read(em, ins.operands[1], source)]


def _pair(em: Emitter, ins: Instruction, bits: int, values: list[str], one: Callable[[str], str]) -> str:
    """Convert two values and put them together, each in so many bits."""
    have = f"i{max(8, bits)}"
    parts = [em.resize(have, f"i{bits}", one(value)) for value in values]
    return join(em, f"i{2 * bits}", *parts)


def _power_of_two(em: Emitter, value: str, *, up: bool, finite: bool) -> str:
    """Answer the ue8m0 (an exponent, without sign) of a float's magnitude, rounded down or up.

    As cuda_fp8.hpp computes it where there is no such instruction: 0 is 2^-127, infinity overflows.
    """
    bits = em.op("and", "i32", em.bitcast("float", "i32", value), em.const("i32", 0x7FFFFFFF))
    exponent = em.op("lshr", "i32", bits, em.const("i32", 23))
    if up:
        mantissa = em.op("and", "i32", bits, em.const("i32", 0x7FFFFF))
        inexact = em.compare("icmp", "ne", "i32", mantissa, em.const("i32", 0))
        beyond = em.compare("icmp", "ugt", "i32", bits, em.const("i32", 0x400000))
        step = em.cast("zext", "i1", "i32", em.op("and", "i1", inexact, beyond))
        exponent = em.op("add", "i32", exponent, step)
    exponent = em.intrinsic("llvm.umin", "i32", exponent, em.const("i32", 0xFE if finite else NAN_8))
    nan = em.compare("icmp", "ugt", "i32", bits, em.const("i32", INFINITY))
    return em.resize("i32", "i8", em.select(nan, "i32", em.const("i32", NAN_8), exponent))


def _power_as_float(em: Emitter, raw: str) -> str:
    """Answer the float that a ue8m0 means."""
    exponent = em.resize("i8", "i32", raw)
    bits = em.op("shl", "i32", exponent, em.const("i32", 23))
    least = em.compare("icmp", "eq", "i32", exponent, em.const("i32", 0))
    bits = em.select(least, "i32", em.const("i32", 0x400000), bits)
    nan = em.compare("icmp", "eq", "i32", exponent, em.const("i32", NAN_8))
    return em.bitcast("i32", "float", em.select(nan, "i32", em.const("i32", 0x7FC00000), bits))
