"""Pointers to device functions: which functions have one, and what number it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cumulticast.ptx.syntax import Function, Instruction, Module, Symbol

#: Where device functions' addresses begin; nothing is ever mapped there, so a function pointer is good for calls only.
FUNCTION_BASE = 0x100
FUNCTION_STEP = 0x10


def address_taken(module: Module) -> list[str]:
    """List the device functions whose address is used."""
    names: dict[str, None] = {}
    known = {name for name, function in module.functions.items() if not function.kernel}
    for variable in module.variables.values():
        names.update(dict.fromkeys(one.symbol for one in variable.relocations if one.symbol in known))
    for function in module.functions.values():
        for ins in instructions(function):
            operands = ins.operands if ins.opcode != "call" else ()
            names.update(dict.fromkeys(o.name for o in operands if isinstance(o, Symbol) and o.name in known))
    return list(names)


def addresses(taken: Sequence[str]) -> Mapping[str, int]:
    """Answer the addresses of functions whose address is used."""
    return {name: FUNCTION_BASE + FUNCTION_STEP * n for n, name in enumerate(taken)}


def instructions(function: Function) -> list[Instruction]:
    """List the instructions of a function."""
    return [one for one in function.body or () if isinstance(one, Instruction)]
