"""Frames on a lane's stack, for functions that can be entered again before they have returned.

``%sp`` is the offset in local memory of the first free byte. A framed function begins with ``fp = sp; sp = fp + size``
and returns with ``sp = fp``. Its frame begins with results and parameters, in order, so that a caller that knows only
the prototype finds them; then its variables; then room for the registers that live across its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from cumulticast.ptx.flow.blocks import Block
from cumulticast.ptx.flow.liveness import live_in
from cumulticast.ptx.syntax import (
    TYPE_BITS,
    Address,
    Function,
    Instruction,
    Integer,
    Operand,
    Register,
    Sink,
    Symbol,
    Variable,
    Vector,
)

SP = "%sp"
ALIGN = 16


def make(opcode: str, modifiers: str, *operands: Operand) -> Instruction:
    """Make an instruction that no text has."""
    return Instruction(opcode, tuple(modifiers.split(".")) if modifiers else (), operands)


def lay_out(variables: Iterable[Variable], end: int = 0) -> tuple[dict[str, int], int]:
    """Put variables one after another; answer offsets and the size of all."""
    at: dict[str, int] = {}
    for variable in variables:
        end = -(-end // variable.align) * variable.align
        at[variable.name] = end
        end += variable.size
    return at, end


def size_of(variables: Iterable[Variable]) -> int:
    """Answer how many bytes variables take, a multiple of ALIGN."""
    return -(-lay_out(variables)[1] // ALIGN) * ALIGN


def framed(functions: Mapping[str, Function], callees: Callable[[Function], list[str]]) -> set[str]:
    """List the functions that need frames: those in a circle of calls, and those that pointers may lead to."""
    graph = {name: callees(function) for name, function in functions.items()}
    found = {name for name in graph if name in _reach(graph, name)}
    for function in functions.values():
        for ins in function.body or ():
            if isinstance(ins, Instruction) and ins.opcode == "call" and _through_pointer(ins):
                found.update(callees(replace(function, body=[ins])))
    return found


def _through_pointer(ins: Instruction) -> bool:
    return any(isinstance(one, Register) for one in ins.operands)


def _reach(graph: Mapping[str, list[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += graph[name]
    return seen


class Frame:
    """The frame of one function.

    Attributes
    ----------
    offsets
        Of its variables, by the name in the function's text.
    """

    def __init__(self, function: Function) -> None:
        self.name = function.name
        self.pointer = f"{function.name}|%fp"
        variables = [v for v in function.variables.values() if v.space in ("local", "param")]
        self.offsets, self._end = lay_out([*function.returns, *function.parameters, *variables])
        self._prefix = f"{function.name}|"
        self._saved: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Bytes, with room for all registers that were given a place so far."""
        return -(-self._end // ALIGN) * ALIGN

    def owns(self, register: str) -> bool:
        """Tell whether a register is the function's."""
        return register.startswith(self._prefix) and register != self.pointer

    def place_of(self, register: str, size: int) -> Address:
        """Answer where a register is saved."""
        if register not in self._saved:
            self._end = -(-self._end // size) * size
            self._saved[register] = self._end
            self._end += size
        return Address(Register(self.pointer), self._saved[register])

    def place(self, operand: Operand) -> Operand:
        """Answer an operand with the function's own variables found from the frame pointer."""
        base = operand.base if isinstance(operand, Address) else operand
        if not isinstance(base, Symbol) or not base.name.startswith(self._prefix):
            return operand
        at = self.offsets.get(base.name[len(self._prefix) :])
        if at is None:
            return operand
        offset = operand.offset if isinstance(operand, Address) else 0
        return Address(Register(self.pointer), at + base.offset + offset)

    def enter(self) -> list[Instruction]:
        """Take the frame. The size is filled in by `finish`."""
        return [
            make("mov", "b64", Register(self.pointer), Register(SP)),
            make("add", "s64", Register(SP), Register(self.pointer), Symbol(self.name)),
        ]

    def leave(self) -> list[Instruction]:
        """Give the frame back."""
        return [make("mov", "b64", Register(SP), Register(self.pointer))]

    def back(self) -> list[Instruction]:
        """After a call: find the frame again."""
        return [make("sub", "s64", Register(self.pointer), Register(SP), Symbol(self.name))]


@dataclass(slots=True, eq=False)
class Save:
    """A call in a framed function: what lives across it is saved before and restored at its site.

    Until it is known what that is, two instructions of ours stand in the blocks: ``frame_save``, ``frame_restore``.
    """

    frame: Frame
    block: Block
    site: Block
    names: frozenset[str] = frozenset()

    def write(self) -> None:
        """Let the two instructions say which registers they are about."""
        registers = Vector(tuple(Register(name) for name in sorted(self.names)))
        for block, mark in ((self.block, SAVE), (self.site, RESTORE)):
            at = next(n for n, ins in enumerate(block.body) if ins.opcode == mark and ins.modifiers == (str(id(self)),))
            operands = (Sink(), registers) if mark == SAVE else (registers,)
            block.body[at] = Instruction(mark, (str(id(self)),), operands)


SAVE, RESTORE = "frame_save", "frame_restore"


def save_what_lives(
    blocks: list[Block], saves: list[Save], registers: dict[str, str], frames: Mapping[str, Frame]
) -> None:
    """Save and restore registers around calls, and fill in the sizes of frames.

    What one call saves is read there, and so lives across the calls before it: sets grow until nothing changes.
    """
    registers[FLAG.name] = "b32"
    changed = True
    while changed:
        changed = False
        live = live_in(blocks)
        for save in saves:
            names = save.names | {name for name in live[save.site] if save.frame.owns(name)}
            if names != save.names:
                save.names = names
                save.write()
                changed = True
    by_mark = {str(id(save)): save for save in saves}
    for block in blocks:
        block.body[:] = [one for ins in block.body for one in _expanded(ins, by_mark, registers)]
    for block in blocks:
        block.body[:] = [_filled(ins, frames) for ins in block.body]


def mark(save: Save) -> tuple[Instruction, Instruction]:
    """Answer the two instructions that stand for a save and its restore."""
    word = (str(id(save)),)
    return Instruction(SAVE, word, (Sink(), Vector(()))), Instruction(RESTORE, word, (Vector(()),))


def _expanded(ins: Instruction, saves: Mapping[str, Save], registers: Mapping[str, str]) -> list[Instruction]:
    if ins.opcode not in (SAVE, RESTORE):
        return [ins]
    save = saves[ins.modifiers[0]]
    names = sorted(save.names)
    if ins.opcode == SAVE:
        return [one for name in names for one in _store(save.frame, name, registers)]
    return [*save.frame.back(), *(one for name in names for one in _load(save.frame, name, registers))]


def _filled(ins: Instruction, frames: Mapping[str, Frame]) -> Instruction:
    if ins.opcode not in ("add", "sub") or not isinstance(ins.operands[-1], Symbol):
        return ins
    frame = frames.get(ins.operands[-1].name)
    if frame is None:
        return ins
    return Instruction(ins.opcode, ins.modifiers, (*ins.operands[:-1], Integer(frame.size)), line=ins.line)


FLAG = Register("%saved.flag")


def _store(frame: Frame, name: str, registers: Mapping[str, str]) -> list[Instruction]:
    bits = TYPE_BITS[registers[name]]
    if bits == 1:
        place = frame.place_of(name, 4)
        flag = make("selp", "b32", FLAG, Integer(1), Integer(0), Register(name))
        return [flag, make("st", "local.b32", place, FLAG)]
    return [make("st", f"local.b{bits}", frame.place_of(name, bits // 8), Register(name))]


def _load(frame: Frame, name: str, registers: Mapping[str, str]) -> list[Instruction]:
    bits = TYPE_BITS[registers[name]]
    if bits == 1:
        load = make("ld", "local.b32", FLAG, frame.place_of(name, 4))
        return [load, make("setp", "ne.b32", Register(name), FLAG, Integer(0))]
    return [make("ld", f"local.b{bits}", Register(name), frame.place_of(name, bits // 8))]


# ---- copies


def address(operand: Operand, offset: int = 0) -> Address:
    """Answer an operand as an address."""
    if isinstance(operand, Address):
        return Address(operand.base, operand.offset + offset)
    assert isinstance(operand, Symbol)
    return Address(operand, offset)


def copy(target: Operand, source: Operand, like: Variable, registers: dict[str, str]) -> list[Instruction]:
    """Copy a variable within local memory, in pieces as wide as its alignment allows."""
    found: list[Instruction] = []
    at = 0
    while at < like.size:
        width = min(8, like.align)
        while width > like.size - at:
            width //= 2
        register = Register(f"%copied.{8 * width}")
        registers[register.name] = f"b{8 * width}"
        found.append(make("ld", f"local.b{8 * width}", register, address(source, at)))
        found.append(make("st", f"local.b{8 * width}", address(target, at), register))
        at += width
    return found
