"""Whether an instruction's operands are what its form asks for: kinds, types and sizes as ptxas checks them."""

from __future__ import annotations

from collections.abc import Callable

from ..syntax import Instruction, Operand, Pair, Register, Sink, Special, Vector
from .moves import moved, special
from .notation import BITS, Form, Shape
from .places import address, constant, label, pointer
from .values import Typed, Where, register, single

_LETTERS = "TUVW"


def wrong(where: Where, one: Instruction, form: Form) -> str:
    """Say what is wrong with the operands; empty if nothing."""
    shapes = _expected(one, form)
    if not sum(not shape.optional for shape in shapes) <= len(one.operands) <= len(shapes):
        return f"{len(one.operands)} operands where {_count(shapes)} are expected"
    types = one.types if len(one.types) == len(form.types) else tuple(word for word in one.modifiers if word in BITS)
    for place, (shape, operand) in enumerate(zip(shapes, one.operands, strict=False), 1):
        reason = _CHECKS[shape.kind](where, one, _typed(shape, types), operand)
        if reason:
            return f"operand {place}: {reason}"
    return ""


def _expected(one: Instruction, form: Form) -> list[Shape]:
    hint = "L2::cache_hint" in one.modifiers
    return [shape for shape in form.shapes if hint or shape.kind != "policy"]


def _count(shapes: list[Shape]) -> str:
    least = sum(not shape.optional for shape in shapes)
    return str(least) if least == len(shapes) else f"{least} to {len(shapes)}"


def _typed(shape: Shape, types: tuple[str, ...]) -> Typed:
    return Typed(shape, types[_LETTERS.index(shape.type)] if shape.type and shape.type in _LETTERS else shape.type)


def _value(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    if want.shape.pair and isinstance(operand, Pair):
        return single(where, want, operand.first) or _predicate(where, operand.second)
    if want.shape.pair == "|P!":
        return "a predicate is expected as second destination: d|p"
    if want.shape.sink and isinstance(operand, Sink):
        return ""
    count = _vector_count(one, want.shape)
    if count or isinstance(operand, Vector):
        return _vector(where, want, operand, count)
    return single(where, want, operand)


def _vector_count(one: Instruction, shape: Shape) -> int:
    if shape.count > 1 or (shape.count == 1 and one.opcode in ("mma", "ldmatrix", "stmatrix")):
        return shape.count
    if not shape.count:
        return 0
    return next((int(word[1:]) for word in one.modifiers if word in ("v2", "v4", "v8")), 0)


def _vector(where: Where, want: Typed, operand: Operand, count: int) -> str:
    if not isinstance(operand, Vector) or len(operand.elements) != max(count, 1):
        return f"a vector of {count} is expected" if count else "a single value is expected"
    reasons = [_element(where, want, element) for element in operand.elements]
    widths = {where.bits(element) for element in operand.elements if isinstance(element, Register)}
    if len(widths) > 1:
        return "the registers of a vector must have one width"
    return next(filter(None, reasons), "")


def _element(where: Where, want: Typed, element: Operand) -> str:
    if isinstance(element, Sink):
        return "" if want.shape.destination else "_ is not a source"
    return single(where, want, element)


def _predicate(where: Where, operand: Operand) -> str:
    if isinstance(operand, Sink) or (
        isinstance(operand, Register) and where.function.registers[operand.name] == "pred"
    ):
        return ""
    return "a predicate is expected behind |"


def _converted(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    """Hold a value to its type; cvt reads special registers too."""
    if one.opcode == "cvt" and isinstance(operand, Special) and not want.shape.destination:
        return special(where, want, operand)
    return _value(where, one, want, operand)


def _policy(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    return single(where, Typed(want.shape, "u64"), operand)


def _register(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    return register(where, want, operand.name) if isinstance(operand, Register) else "a register is expected"


def _sink(where: Where, one: Instruction, want: Typed, operand: Operand) -> str:
    return "" if isinstance(operand, Sink) else "_ is expected as destination"


_CHECKS: dict[str, Callable[[Where, Instruction, Typed, Operand], str]] = {
    "value": _converted,
    "address": address,
    "constant": constant,
    "label": label,
    "pointer": pointer,
    "policy": _policy,
    "register": _register,
    "move": moved,
    "sink": _sink,
}
