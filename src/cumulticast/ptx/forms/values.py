"""What one value of an instruction may be: registers, constants and special registers held to a type and a size.

Source: PTX ISA, "Operand Size Exceeding Instruction-Type Size" and the type tables there; trials of ptxas 13.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..syntax import (
    TYPE_BITS,
    Float,
    Function,
    Integer,
    Module,
    Negated,
    Operand,
    Register,
    Sink,
    Special,
    Variable,
)
from ..versions import Target
from .notation import BITS, Shape

#: Formats that a register can be declared with.
FLOATS = ("f16", "f32", "f64", "f16x2")
#: Formats that no register is declared with: they lie in registers of bits.
_FORMATS = ("bf16", "bf16x2", "tf32", "f32x2", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e4m3x4", "e5m2x4")


@dataclass(slots=True)
class Where:
    """Where an instruction stands: what its names mean, and for which target."""

    module: Module
    function: Function
    parameters: dict[str, Variable]
    labels: frozenset[str]
    target: Target

    def bits(self, register: Register) -> int:
        """Give the width of a register."""
        return TYPE_BITS[self.function.registers[register.name]]

    def variable(self, name: str) -> Variable | None:
        """Find the variable or parameter of a name."""
        return self.function.variables.get(name) or self.parameters.get(name) or self.module.variables.get(name)


@dataclass(frozen=True, slots=True)
class Typed:
    """A shape with its type found: what one place of an instruction wants."""

    shape: Shape
    type: str

    @property
    def bits(self) -> int:
        """How wide a register must be."""
        return BITS[self.type] * self.shape.scale

    def __str__(self) -> str:
        return f".{self.type}" if self.shape.scale == 1 else f"{self.bits} bits"


def single(where: Where, want: Typed, operand: Operand) -> str:
    if isinstance(operand, Register):
        return register(where, want, operand.name)
    if want.shape.destination:
        return "" if isinstance(operand, Sink) and want.shape.sink else "a register is expected as destination"
    if isinstance(operand, Negated):
        return "" if want.type == "pred" else "! stands before predicates only"
    if isinstance(operand, Integer | Float):
        return _immediate(want, operand)
    if isinstance(operand, Special):
        return f"special register {operand.name} is read with mov or cvt only"
    return f"a register or constant of type {want} is expected"


def register(where: Where, want: Typed, name: str) -> str:
    have = where.function.registers[name]
    if not _fits_register(want, have):
        return f"{name} is .{have}, which does not fit {want}"
    return ""


def _fits_register(want: Typed, have: str) -> bool:
    if "pred" in (want.type, have):
        return want.type == have
    bits = TYPE_BITS[have]
    wider = want.shape.wider and bits > want.bits and want.type not in _FORMATS
    if bits != want.bits and not wider:
        return False
    if want.type in _FORMATS:
        return have[0] == "b"
    if want.type in FLOATS:
        return have[0] == "b" or have == want.type
    return have[0] == "b" or want.type[0] == "b" or have not in FLOATS


def _immediate(want: Typed, operand: Integer | Float) -> str:
    if want.type in ("u16x2", "s16x2"):
        good = False
    elif want.type in ("f32", "f64"):
        good = isinstance(operand, Float)
    elif want.type in FLOATS or want.type in _FORMATS:
        good = False
    else:
        good = isinstance(operand, Integer) or (want.type[0] == "b" and want.bits in (32, 64))
    return "" if good else f"the constant does not fit type {want}"
