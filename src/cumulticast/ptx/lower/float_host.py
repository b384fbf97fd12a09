"""What the host's processor can do by itself: where it cannot, LLVM would call a function that nobody has."""

from __future__ import annotations

import functools

from cumulticast.ptx.machine_code import host


@functools.cache
def has_fma() -> bool:
    """Tell whether a fused multiply-add is one instruction here."""
    return _has("fma")


@functools.cache
def has_f16c() -> bool:
    """Tell whether conversions of f16 are instructions here."""
    return _has("f16c")


def _has(feature: str) -> bool:
    """Look among an x86 processor's features; others that LLVM makes code for have them all."""
    return not host().startswith("x86_64") or f"+{feature}," in f"{host()},"
