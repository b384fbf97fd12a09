"""Other names for what an instruction mentions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cumulticast.ptx.syntax import Address, Instruction, Negated, Operand, Pair, Register, Symbol, Vector

Rename = Callable[[str], str]


def operand(one: Operand, registers: Rename, symbols: Rename) -> Operand:
    """Answer an operand with registers and symbols renamed."""
    match one:
        case Register(name):
            return Register(registers(name))
        case Negated(register):
            return Negated(Register(registers(register.name)))
        case Symbol(name, offset):
            return Symbol(symbols(name), offset)
        case Address(base, offset):
            renamed = operand(base, registers, symbols)
            assert isinstance(renamed, type(base))
            return Address(renamed, offset)
        case Vector(elements):
            return Vector(tuple(operand(element, registers, symbols) for element in elements))
        case Pair(first, second):
            return Pair(operand(first, registers, symbols), operand(second, registers, symbols))
        case _:
            return one


def instruction(ins: Instruction, registers: Rename, symbols: Rename) -> Instruction:
    """Answer an instruction with registers and symbols renamed, its guard included."""
    return replace(
        ins,
        operands=tuple(operand(one, registers, symbols) for one in ins.operands),
        guard=None if ins.guard is None else Register(registers(ins.guard.name)),
    )
