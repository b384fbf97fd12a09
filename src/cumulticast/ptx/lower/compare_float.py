"""Comparison of floating-point numbers (PTX ISA 9.3.1.2, 9.7.4)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.float_formats import COMPUTED
from cumulticast.ptx.lower.float_forms import computed, flushed

#: PTX's word → LLVM's predicate: o… is false when a NaN is there, u… true.
PREDICATES = {
    **{word: f"o{word}" for word in ("eq", "lt", "le", "gt", "ge")},
    **{f"{word}u": f"u{word}" for word in ("eq", "ne", "lt", "le", "gt", "ge")},
    "ne": "one",
    "num": "ord",
    "nan": "uno",
}


def compare_floats(em: Emitter, word: str, ptx_type: str, raw: tuple[str, str], *, flush: bool) -> str:
    """Compare two raw elements (`float_formats.RAW`) by PTX's word; with ``flush`` subnormals count as zero."""
    if word not in PREDICATES:
        raise em.fail(f".{word} does not compare .{ptx_type}; {' '.join(f'.{known}' for known in PREDICATES)} do")
    a, b = (flushed(em, ptx_type, value) for value in raw) if flush else raw
    kind = COMPUTED[ptx_type]
    return em.compare("fcmp", PREDICATES[word], kind, computed(em, ptx_type, a), computed(em, ptx_type, b))
