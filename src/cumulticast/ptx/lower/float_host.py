"""What the host's processor can do by itself: where it cannot, LLVM would call a function that nobody has."""

from __future__ import annotations

import functools

from cumulticast.ptx.machine_code import host


@functools.cache
def has_fma() -> bool:
    """Tell whether a fused multiply-add is one instruction here."""
    return not host().startswith("x86_64") or "+fma," in f"{host()},"
