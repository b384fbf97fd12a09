"""One file per family of instructions: each turns an instruction into LLVM IR."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules


def all_lowerings() -> None:
    """Import every file here, so that each registers what it lowers."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
