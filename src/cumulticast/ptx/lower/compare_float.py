"""Comparison of floating-point numbers given by their bits (PTX ISA 9.3.1.2, 9.7.4)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter

#: PTX's word → LLVM's predicate: o… is false when a NaN is there, u… true.
PREDICATES = {
    **{word: f"o{word}" for word in ("eq", "lt", "le", "gt", "ge")},
    **{f"{word}u": f"u{word}" for word in ("eq", "ne", "lt", "le", "gt", "ge")},
    "ne": "one",
    "num": "ord",
    "nan": "uno",
}

#: The bits of the exponent: a number in which they are all 0 is zero or subnormal.
EXPONENT = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF << 52}


def compare_floats(em: Emitter, word: str, ptx_type: str, a: str, b: str, *, flush: bool) -> str:
    """Compare two numbers of a PTX type given by their bits; with ``flush`` subnormals count as zero."""
    if word not in PREDICATES:
        raise em.fail(f".{word} does not compare .{ptx_type}")
    if flush:
        a, b = flushed(em, ptx_type, a), flushed(em, ptx_type, b)
    (kind, x), (_, y) = widened(em, ptx_type, a), widened(em, ptx_type, b)
    return em.compare("fcmp", PREDICATES[word], kind, x, y)


def flushed(em: Emitter, ptx_type: str, bits: str) -> str:
    """Make zero (of either sign: they are equal) of a subnormal number."""
    kind = em.kind(ptx_type)
    exponent = em.op("and", kind, bits, em.const(kind, EXPONENT[ptx_type]))
    small = em.compare("icmp", "eq", kind, exponent, em.const(kind, 0))
    return em.select(small, kind, em.const(kind, 0), bits)


def widened(em: Emitter, ptx_type: str, bits: str) -> tuple[str, str]:
    """Answer the number as a kind that every host compares; widening a half is exact."""
    if ptx_type == "f64":
        return "double", em.bitcast("i64", "double", bits)
    if ptx_type == "bf16":
        bits = em.op("shl", "i32", em.resize("i16", "i32", bits), em.const("i32", 16))
    if ptx_type == "f16":
        return "float", em.cast("fpext", "half", "float", em.bitcast("i16", "half", bits))
    return "float", em.bitcast("i32", "float", bits)
