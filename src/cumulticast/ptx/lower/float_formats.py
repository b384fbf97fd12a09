"""The floating-point formats of PTX as data, and the way between a register and values that can be computed with.

Nothing here uses LLVM's ``half`` or ``bfloat``: they become library calls, or flush denormals, on some hosts. The
16-bit formats are widened to ``float`` (exactly) and rounded back in integer code (float_round.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from cumulticast.ptx.lower.emitter import BITS_OF, NAN_BITS, Emitter
from cumulticast.ptx.syntax import Operand


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: one sign bit, exponent, mantissa.

    Attributes
    ----------
    exponent
        Bits of the exponent.
    mantissa
        Bits of the mantissa that are stored.
    largest
        Bits of the greatest finite number.
    infinity
        Bits of infinity; 0 if there is none.
    nan
        Bits of the NaN that results have; 0 if there is none.
    padding
        Zero bits below the mantissa (tf32 fills the upper 19 bits of 32).
    """

    exponent: int
    mantissa: int
    largest: int
    infinity: int = 0
    nan: int = 0
    padding: int = 0

    @property
    def bias(self) -> int:
        """What is added to the exponent."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def bits(self) -> int:
        """Bits in all, without padding."""
        return 1 + self.exponent + self.mantissa


#: PTX ISA, "Fundamental Types" and "Alternate Floating-Point Data Formats"; NaNs as `emitter.NAN_BITS` says.
FORMATS: dict[str, Format] = {
    "f64": Format(11, 52, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, NAN_BITS["double"]),
    "f32": Format(8, 23, 0x7F7FFFFF, 0x7F800000, NAN_BITS["float"]),
    "tf32": Format(8, 10, 0x3FBFF, 0x3FC00, 0x3FFFF, padding=13),
    "f16": Format(5, 10, 0x7BFF, 0x7C00, 0x7FFF),
    "bf16": Format(8, 7, 0x7F7F, 0x7F80, 0x7FFF),
    "e5m2": Format(5, 2, 0x7B, 0x7C, 0x7F),
    "e4m3": Format(4, 3, 0x7E, nan=0x7F),
    "e3m2": Format(3, 2, 0x1F),
    "e2m3": Format(2, 3, 0x1F),
    "e2m1": Format(2, 1, 0x7),
}
SOURCE = {"float": FORMATS["f32"], "double": FORMATS["f64"]}
#: What a format's values are computed with, and what they are as they come out of a register.
COMPUTED = {"f16": "float", "bf16": "float", "f32": "float", "f64": "double"}
RAW = {"f16": "i16", "bf16": "i16", "f32": "float", "f64": "double"}
PACKED = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}
HALVES = ("f16", "bf16")


def element(ptx_type: str) -> str:
    """Answer the type of one element: of ``f16x2``, ``f16``."""
    return PACKED.get(ptx_type, ptx_type)


def read(em: Emitter, operand: Operand, ptx_type: str) -> list[str]:
    """Answer an operand's elements, lowest first, each of kind `RAW`."""
    if ptx_type not in PACKED:
        return [em.get(operand, RAW[ptx_type])]
    kind = em.kind(ptx_type)
    return [bits_to_raw(em, PACKED[ptx_type], bits) for bits in split(em, kind, em.get(operand, kind))]


def split(em: Emitter, kind: str, value: str) -> list[str]:
    """Cut an integer into its lower and its upper half."""
    bits = int(kind[1:]) // 2
    upper = em.op("lshr", kind, value, em.const(kind, bits))
    return [em.resize(kind, f"i{bits}", value), em.resize(kind, f"i{bits}", upper)]


def join(em: Emitter, kind: str, lower: str, upper: str) -> str:
    """Put two integers of half the width together."""
    bits = int(kind[1:]) // 2
    high = em.op("shl", kind, em.resize(f"i{bits}", kind, upper), em.const(kind, bits))
    return em.op("or", kind, em.resize(f"i{bits}", kind, lower), high)


def bits_to_raw(em: Emitter, ptx_type: str, bits: str) -> str:
    """View the bits of one element as its raw kind."""
    return bits if RAW[ptx_type][0] == "i" else em.bitcast(f"i{BITS_OF[RAW[ptx_type]]}", RAW[ptx_type], bits)


def write(em: Emitter, operand: Operand, ptx_type: str, raw: list[str]) -> None:
    """Write a destination's elements, lowest first; NaNs of f32 and f64 become canonical."""
    kind = em.kind(ptx_type)
    if ptx_type in ("f32", "f64"):
        em.set_float(operand, RAW[ptx_type], raw[0])
    elif ptx_type == "f32x2":
        bits = [em.bitcast("float", "i32", em.canonical("float", value)) for value in raw]
        em.set(operand, kind, join(em, kind, *bits))
    else:
        em.set(operand, kind, join(em, kind, *raw) if ptx_type in PACKED else raw[0])
