"""Operands that are places: addresses in brackets and without, labels. Source: PTX ISA, "Addresses as Operands"."""

from __future__ import annotations

from ..syntax import TYPE_BITS, Address, Instruction, Integer, Operand, Register, Symbol
from .values import FLOATS, Typed, Where

_SPACES = frozenset(["const", "global", "local", "param", "shared"])
_NARROW = ("shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func")


def address(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    """Hold an operand to ``[base + offset]``."""
    base = operand.base if isinstance(operand, Address) else operand
    if isinstance(base, Symbol):
        return _address_symbol(where, one, base.name)
    if not isinstance(operand, Address) or not isinstance(base, Register | Integer):
        return "an address in [ ] is expected"
    if isinstance(base, Integer):
        return "" if "local" in one.modifiers else "a constant address is for .local only"
    return _address_register(where, one, base.name)


def _address_symbol(where: Where, one: Instruction, name: str) -> str:
    variable = where.variable(name)
    if variable is None:
        return f"{name} is not a variable"
    spaces = {word.partition("::")[0] for word in one.modifiers} & _SPACES
    if len(spaces) == 1 and variable.space not in (*spaces, "reg"):
        return f"{name} is a .{variable.space} variable"
    return ""


def _address_register(where: Where, one: Instruction, name: str) -> str:
    have = where.function.registers[name]
    if have in FLOATS or TYPE_BITS[have] not in (32, 64):
        return f"{name} is .{have}: an address is of integers or bits, 32 or 64 of them"
    narrow = not set(_NARROW).isdisjoint(one.modifiers) or one.opcode in ("ldmatrix", "stmatrix", "cp")
    narrow = narrow or one.has("mbarrier::complete_tx::bytes")
    if TYPE_BITS[have] == 32 and not narrow:
        return f"{name} is .{have}: a 32-bit address of memory with 64-bit addresses"
    return ""


def constant(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    """Hold an operand to an integer constant."""
    return "" if isinstance(operand, Integer) else "an integer constant is expected"


def label(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    """Hold an operand to a label of the function."""
    if isinstance(operand, Symbol) and not operand.offset and operand.name in where.labels:
        return ""
    return "a label of this function is expected"


def pointer(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    """Hold an operand to an address that stands without brackets."""
    if isinstance(operand, Symbol):
        return "" if where.variable(operand.name) is not None else f"{operand.name} is not a variable"
    if not isinstance(operand, Register):
        return "a register or a variable is expected"
    have = where.function.registers[operand.name]
    wanted = (TYPE_BITS[one.types[0]],) if one.types else (32, 64)
    good = have not in FLOATS and TYPE_BITS[have] in wanted
    return "" if good else f"{operand.name} is .{have}: an address is of integers or bits"
