"""What becomes of a NaN's bits in a conversion between floats, where they are not canonical (as an H200 answers).

To and from f64 the payload is shifted and the NaN made quiet; bf16 → f32 is a shift that leaves even a signalling NaN.
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import NAN_BITS, Emitter
from cumulticast.ptx.lower.float_formats import FORMATS, RAW
from cumulticast.ptx.syntax import Instruction


def nan_bits(em: Emitter, ins: Instruction, target: str, source: str, raw: str) -> str:
    """Answer the target's bits for a NaN operand; "" where they are the canonical ones."""
    if ins.has("sat"):
        return ""  # not a NaN
    if (target, source) == ("f32", "bf16"):
        return em.op("shl", "i32", em.resize("i16", "i32", raw), em.const("i32", 16))
    if "f64" not in (target, source) or target == source:
        return ""
    if ins.has("ftz") and source == "f32":  # flushing makes it canonical first
        return em.const("i64", 0x7FF << 52 | (NAN_BITS["float"] & 0x7FFFFF) << 29)
    return _moved(em, target, source, raw)


def _moved(em: Emitter, target: str, source: str, raw: str) -> str:
    """Move sign and payload of a NaN to the target's places and make it quiet."""
    have, want = FORMATS[source], FORMATS[target]
    whole = f"i{max(have.bits, want.bits)}"
    bits = em.resize(f"i{have.bits}", whole, em.bitcast(RAW[source], f"i{have.bits}", raw))
    negative = em.op("and", whole, bits, em.const(whole, 1 << (have.bits - 1)))
    payload = em.op("and", whole, bits, em.const(whole, (1 << have.mantissa) - 1))
    sign, payload = (
        _shift(em, whole, negative, want.bits - have.bits),
        _shift(em, whole, payload, want.mantissa - have.mantissa),
    )
    quiet = em.const(whole, want.infinity | 1 << (want.mantissa - 1))
    result = em.op("or", whole, em.op("or", whole, sign, payload), quiet)
    return em.resize(whole, f"i{want.bits}", result)


def _shift(em: Emitter, whole: str, value: str, places: int) -> str:
    """Shift left, or right where ``places`` is negative."""
    return em.op("shl" if places > 0 else "lshr", whole, value, em.const(whole, abs(places)))
