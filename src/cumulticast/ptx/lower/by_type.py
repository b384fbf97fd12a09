"""Opcodes that integers and floats share: ``add.s32`` is lowered in one file, ``add.rn.f32`` in another.

    @lowers_integer("add")
    def lower_add(em: Emitter, ins: Instruction) -> None: ...

    @lowers_float("add")
    def lower_add(em: Emitter, ins: Instruction) -> None: ...

The last type decides: u16x2 and b32 count as integers, f16x2 and f32x2 as floats.
"""

from __future__ import annotations

from collections.abc import Callable

from cumulticast.ptx.lower.emitter import LOWERINGS, Emitter, Lowering, lowers
from cumulticast.ptx.syntax import TYPE_BITS, Instruction

#: The types that hold floating-point numbers, alone or packed.
FLOAT_TYPES = frozenset(name for name in TYPE_BITS if name[0] in "fte" or name.startswith("bf"))

_BY_TYPE: dict[tuple[str, bool], Lowering] = {}


def lowers_integer(*opcodes: str) -> Callable[[Lowering], Lowering]:
    """Register the decorated function for opcodes whose last type is an integer."""
    return _register(opcodes, floating=False)


def lowers_float(*opcodes: str) -> Callable[[Lowering], Lowering]:
    """Register the decorated function for opcodes whose last type is a float."""
    return _register(opcodes, floating=True)


def _register(opcodes: tuple[str, ...], *, floating: bool) -> Callable[[Lowering], Lowering]:
    def register(function: Lowering) -> Lowering:
        for opcode in opcodes:
            if (opcode, floating) in _BY_TYPE:
                raise TypeError(f"{opcode} is lowered twice")
            _BY_TYPE[opcode, floating] = function
            if LOWERINGS.get(opcode) is not lower_by_type:
                lowers(opcode)(lower_by_type)
        return function

    return register


def lower_by_type(em: Emitter, ins: Instruction) -> None:
    """Hand an instruction to the file of its last type."""
    function = _BY_TYPE.get((ins.opcode, ins.types[-1] in FLOAT_TYPES)) if ins.types else None
    if function is None:
        raise em.fail(f"{ins.name} is not supported")
    function(em, ins)
