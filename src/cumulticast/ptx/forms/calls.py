"""Calls: that the function exists, and that arguments and results are as many and as large as it says.

Source: PTX ISA, "call".
"""

from __future__ import annotations

from ..syntax import TYPE_BITS, Instruction, Operand, Register, Symbol, Variable, Vector
from .values import FLOATS, Where


def wrong(where: Where, one: Instruction) -> str:
    """Say what is wrong with a call; empty if nothing."""
    if one.modifiers not in ((), ("uni",)):
        return f"no form {one.name}; the nearest is call{{.uni}}"
    results, target, arguments, rest = _split(one.operands)
    if isinstance(target, Symbol):
        return _direct(where, target, results, arguments, rest)
    if not isinstance(target, Register):
        return "a function or a register is expected behind call"
    return _indirect(where, target, results, arguments, rest)


def _split(
    operands: tuple[Operand, ...],
) -> tuple[tuple[Operand, ...], Operand | None, tuple[Operand, ...], tuple[Operand, ...]]:
    """Give results, callee, arguments, and what follows them."""
    left = list(operands)
    results = _taken(left)
    target = left.pop(0) if left else None
    return results, target, _taken(left), tuple(left)


def _taken(left: list[Operand]) -> tuple[Operand, ...]:
    first = left[0] if left else None
    if not isinstance(first, Vector):
        return ()
    del left[0]
    return first.elements


def _direct(
    where: Where,
    target: Symbol,
    results: tuple[Operand, ...],
    arguments: tuple[Operand, ...],
    rest: tuple[Operand, ...],
) -> str:
    name = where.module.aliases.get(target.name, target.name)
    function = where.module.functions.get(name)
    if function is None or function.kernel:
        return f"{target.name} is no function"
    if rest:
        return "a prototype is for indirect calls"
    return _shape(where, function.returns, results, "results") or _shape(
        where, function.parameters, arguments, "arguments"
    )


def _indirect(
    where: Where,
    target: Register,
    results: tuple[Operand, ...],
    arguments: tuple[Operand, ...],
    rest: tuple[Operand, ...],
) -> str:
    have = where.function.registers[target.name]
    if TYPE_BITS[have] not in (32, 64) or have in FLOATS:
        return f"{target.name} is .{have}: an address of a function has 64 bits"
    if len(rest) != 1 or not isinstance(rest[0], Symbol):
        return "an indirect call names a .callprototype or .calltargets"
    prototype = where.function.prototypes.get(rest[0].name)
    if prototype is None:
        return "" if rest[0].name in where.function.tables else f"{rest[0].name} is no prototype"
    return _shape(where, prototype.returns, results, "results") or _shape(
        where, prototype.parameters, arguments, "arguments"
    )


def _shape(where: Where, wanted: tuple[Variable, ...], given: tuple[Operand, ...], what: str) -> str:
    if len(wanted) != len(given):
        return f"{len(given)} {what} where {len(wanted)} are expected"
    for want, operand in zip(wanted, given, strict=True):
        size = _size(where, operand)
        if size is not None and size != want.size and want.size:
            return f"{what}: {size} bytes where {want.name} has {want.size}"
    return ""


def _size(where: Where, operand: Operand) -> int | None:
    """Give the bytes of an argument; None for what has no size of its own."""
    if isinstance(operand, Register):
        return max(1, TYPE_BITS[where.function.registers[operand.name]] // 8)
    variable = where.variable(operand.name) if isinstance(operand, Symbol) else None
    return variable.size if variable is not None else None
