"""What mov moves: values, special registers, addresses, and registers packed and unpacked. Source: PTX ISA, "mov"."""

from __future__ import annotations

from ..specials import SPECIAL_TYPES
from ..syntax import TYPE_BITS, Instruction, Operand, Sink, Special, Symbol, Vector
from .notation import Shape
from .values import FLOATS, Typed, Where, single


def moved(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    """Say what is wrong with an operand of mov; empty if nothing."""
    if isinstance(operand, Vector):
        return _parts(where, one, want, operand)
    if want.shape.destination:
        return single(where, want, operand)
    if isinstance(operand, Special):
        return special(where, want, operand)
    if isinstance(operand, Symbol):
        return _symbol(where, want, operand)
    return single(where, want, operand)


def _parts(where: Where, one: Instruction, want: Typed, vector: Vector) -> str:
    count = len(vector.elements)
    if want.type[0] != "b" or want.bits // count * count != want.bits or f"b{want.bits // count}" not in TYPE_BITS:
        return f"{count} registers do not make up .{want.type}"
    if all(isinstance(operand, Vector) for operand in one.operands):
        return "a vector is moved to a register or from one"
    part = Typed(Shape("value", destination=want.shape.destination), f"b{want.bits // count}")
    for element in vector.elements:
        if isinstance(element, Sink) and want.shape.destination:
            continue
        reason = single(where, part, element)
        if reason:
            return reason
    return ""


def special(where: Where, want: Typed, operand: Special) -> str:
    """Say what is wrong with a special register where one may stand; empty if nothing."""
    have = SPECIAL_TYPES[operand.name]
    if "cluster" in operand.name and where.target.sm < 90:
        return f"{operand.name} needs .target sm_90 or higher"
    if "pred" in (have, want.type):
        good = have == want.type
    else:
        good = want.type not in FLOATS and (want.bits == TYPE_BITS[have] or want.bits < TYPE_BITS[have] == 32)
    return "" if good else f"{operand.name} is .{have}, which does not fit {want}"


def _symbol(where: Where, want: Typed, symbol: Symbol) -> str:
    if symbol.name in where.labels:
        return f"the label {symbol.name} cannot be moved"
    if want.type in FLOATS or want.bits not in (32, 64):
        return f"an address does not fit {want}"
    return ""
