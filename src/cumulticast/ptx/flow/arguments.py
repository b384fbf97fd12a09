"""What a call takes along: arguments to the callee's parameters, results to the caller's variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.flow import stack
from cumulticast.ptx.flow.stack import SP, Frame, make
from cumulticast.ptx.syntax import Address, Function, Instruction, Operand, Register, Symbol, Vector

#: What the system provides, and the instruction of ours that does it.
SYSTEM = {"vprintf": "vprintf", "__assertfail": "assertfail", "malloc": "device_malloc", "free": "device_free"}


class Arguments:
    """Writes the copies around calls.

    ``name`` answers the name that a function's register or variable has in the whole kernel; ``registers`` gains those
    that copies go through.
    """

    def __init__(
        self, name: Callable[[Function, str], str], frames: Mapping[str, Frame], registers: dict[str, str]
    ) -> None:
        self._name = name
        self._frames = frames
        self._registers = registers

    def passed(
        self, function: Function, callee: Function, given: tuple[Operand, ...], *, to_callee: bool
    ) -> list[Instruction]:
        """Copy arguments to the callee's parameters, or its results to the caller's variables."""
        formals = callee.parameters if to_callee else callee.returns
        frame = self._frames.get(callee.name)
        found: list[Instruction] = []
        for formal, actual in zip(formals, given, strict=False):
            theirs: Operand = Symbol(self._name(callee, formal.name))
            if formal.space == "reg":
                register = Register(theirs.name)
                pair = (register, actual) if to_callee else (actual, register)
                found.append(make("mov", f"b{8 * formal.size}", *pair))
                continue
            if frame is not None:
                theirs = Address(Register(SP), frame.offsets[formal.name])
            mine = self.variable(function, actual)
            source, target = (mine, theirs) if to_callee else (theirs, mine)
            found += stack.copy(target, source, formal, self._registers)
        return found

    def variable(self, function: Function, operand: Operand) -> Operand:
        """Answer where an argument lies: a variable of the calling function."""
        if not isinstance(operand, Symbol):
            raise PtxError(f"argument {operand} of a call is no variable", function.line)
        frame = self._frames.get(function.name)
        symbol = Symbol(self._name(function, operand.name), operand.offset)
        return symbol if frame is None else frame.place(symbol)

    def system_call(self, function: Function, ins: Instruction, declared: Function) -> list[Instruction]:
        """Do what the system provides: arguments are read, and the result stored, as the callee would."""
        arguments, results = lists(ins)
        found: list[Instruction] = []
        operands: list[Operand] = []
        for number, (formal, actual) in enumerate(zip(declared.parameters, arguments, strict=False)):
            register = Register(f"%system.{number}.{8 * formal.size}")
            self._registers[register.name] = f"b{8 * formal.size}"
            address = stack.address(self.variable(function, actual))
            found.append(make("ld", f"local.b{8 * formal.size}", register, address))
            operands.append(register)
        if not results:
            return [*found, replace(make(SYSTEM[declared.name], "", *operands), line=ins.line)]
        size = declared.returns[0].size
        result = Register(f"%system.result.{8 * size}")
        self._registers[result.name] = f"b{8 * size}"
        call = replace(make(SYSTEM[declared.name], "", result, *operands), line=ins.line)
        store = make("st", f"local.b{8 * size}", stack.address(self.variable(function, results[0])), result)
        return [*found, call, store]


def call_target(ins: Instruction) -> Operand:
    """Answer what a call calls: a symbol or a register."""
    return next(one for one in ins.operands if not isinstance(one, Vector))


def lists(ins: Instruction) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Answer (arguments, results) of a call; a result list stands before the target."""
    at = ins.operands.index(call_target(ins))
    before, after = ins.operands[:at], ins.operands[at + 1 :]
    results = before[0].elements if before and isinstance(before[0], Vector) else ()
    arguments = after[0].elements if after and isinstance(after[0], Vector) else ()
    return arguments, results
