"""The C runtime that kernels call (native/): its functions by name, for linking."""

from __future__ import annotations

import ctypes

from cumulticast.ptx import _runtime

_OWN = ctypes.CDLL(_runtime.__file__)
_HOST = ctypes.CDLL(None)
#: What LLVM itself may call for a loop or a copy that it recognises.
HOST_SYMBOLS = ("memcpy", "memset", "memmove")

lib, ffi = _runtime.lib, _runtime.ffi


def address_of(symbol: str) -> int | None:
    """Answer the address of a function that kernels may call; None when there is no such function."""
    library = _HOST if symbol in HOST_SYMBOLS else _OWN
    if symbol not in HOST_SYMBOLS and not symbol.startswith("ptx_"):
        return None
    try:
        return ctypes.cast(library[symbol], ctypes.c_void_p).value
    except AttributeError:
        return None
