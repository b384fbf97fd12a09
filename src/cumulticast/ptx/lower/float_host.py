"""What the host's processor can do by itself: where it cannot, LLVM would call a function that nobody has."""

from __future__ import annotations

import functools
import platform

from llvmlite import binding as llvm


@functools.cache
def has_fma() -> bool:
    """Tell whether a fused multiply-add is one instruction here."""
    return platform.machine() != "x86_64" or "+fma," in f"{llvm.get_host_cpu_features().flatten()},"
