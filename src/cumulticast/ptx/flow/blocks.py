"""The body of a kernel cut into basic blocks.

A block ends where control can go elsewhere and where a warp can be suspended: at barriers, at nanosleep, at the end of
a loop. A guarded branch, return or barrier becomes a branch around an unguarded one; other guarded instructions stay
where they are and are carried out under a mask. A block that begins with an instruction at which lanes wait for others
of their warp (shfl.sync, …) is a ``gathering`` block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.flow import effects
from cumulticast.ptx.layout import Reason
from cumulticast.ptx.syntax import Function, Instruction, Label, Operand, Register, Symbol


@dataclass(slots=True, eq=False)
class Block:
    """Instructions without a branch between them, and how they end.

    Attributes
    ----------
    index
        Place in the order of execution: of several blocks with waiting lanes the lowest goes first.
    """

    body: list[Instruction] = field(default_factory=list[Instruction])
    end: End = field(default_factory=lambda: Exit())
    index: int = -1
    gathering: bool = False

    @property
    def targets(self) -> tuple[Block, ...]:
        """The blocks that lanes can go to from here."""
        return self.end.targets


@dataclass(slots=True, eq=False)
class End:
    """How a block ends; ``targets`` are where lanes go."""

    targets: tuple[Block, ...] = ()

    def retarget(self, old: Block, new: Block) -> None:
        """Send to ``new`` what went to ``old``."""
        self.targets = tuple(new if target is old else target for target in self.targets)


@dataclass(slots=True, eq=False)
class Jump(End):
    """To the only target."""


@dataclass(slots=True, eq=False)
class Branch(End):
    """Lanes whose predicate holds go to the first target, others to the second."""

    predicate: str = ""
    inverted: bool = False


@dataclass(slots=True, eq=False)
class Table(End):
    """brx.idx: a lane whose index is i goes to ``choices[i]``."""

    index: Operand | None = None
    choices: tuple[Block, ...] = ()

    def retarget(self, old: Block, new: Block) -> None:
        """Send to ``new`` what went to ``old``."""
        self.targets = tuple(new if target is old else target for target in self.targets)
        self.choices = tuple(new if target is old else target for target in self.choices)


@dataclass(slots=True, eq=False)
class Exit(End):
    """The lanes have ended."""


@dataclass(slots=True, eq=False)
class Leave(End):
    """Lanes whose predicate holds have ended; the others go to the target. They stay together."""

    predicate: str = ""
    inverted: bool = False


@dataclass(slots=True, eq=False)
class Trap(End):
    """The kernel has failed."""

    line: int = 0


@dataclass(slots=True, eq=False)
class Suspend(End):
    """The warp's code returns to the scheduler; the lanes go on at the target.

    ``cost`` is what a round of a loop takes of the warp's budget of rounds.
    """

    reason: Reason = Reason.HANDOVER
    ins: Instruction | None = None
    cost: int = 1

    @property
    def whole(self) -> bool:
        """Whether it is a barrier for all threads of the block, whichever they are."""
        return self.reason is Reason.BARRIER and self.ins is not None and not _has_count(self.ins)


def _has_count(ins: Instruction) -> bool:
    """Tell whether a barrier names how many threads take part."""
    return len(ins.operands) > (3 if "red" in ins.modifiers else 1)


SUSPENDING = {"bar": Reason.BARRIER, "barrier": Reason.BARRIER, "nanosleep": Reason.SLEEP}
RESULT = "barrier_result"  # our own instruction: the value of a bar.red, read after the barrier


class Linkage(Protocol):
    """Who knows where calls go and where functions return to (flow/calls.py)."""

    def end_of_function(self, function: Function, block: Block) -> None:
        """End a block that returns."""
        ...

    def call(self, function: Function, block: Block, ins: Instruction, following: Block) -> None:
        """End a block with a call that comes back to ``following``."""
        ...


class Cutter:
    """Cuts one function, beginning with the block ``entry``."""

    def __init__(self, function: Function, linkage: Linkage, entry: Block) -> None:
        self.function = function
        self.linkage = linkage
        self.entry = entry
        self.labels: dict[str, Block] = {}
        self.blocks: list[Block] = []

    def cut(self) -> list[Block]:
        """Answer the blocks in the order of the text; the first is where the function begins."""
        self.blocks.append(self.entry)
        current = self.entry
        for statement in self.function.body or ():
            if isinstance(statement, Label):
                target = self._labelled(statement.name)
                current.end = Jump((target,))
                current = target
                self.blocks.append(current)
            else:
                current = self._instruction(current, statement)
        self.linkage.end_of_function(self.function, current)
        return list(dict.fromkeys(self.blocks))

    def _new(self) -> Block:
        block = Block()
        self.blocks.append(block)
        return block

    def _labelled(self, name: str) -> Block:
        return self.labels.setdefault(name, Block())

    def _instruction(self, block: Block, ins: Instruction) -> Block:
        if effects.gathers(ins):
            return self._gathering(block, ins)
        if ins.opcode in ("call", "ret"):
            return self._linked(block, ins)
        end = self._end(ins)
        if end is None:
            block.body.append(ins)
            return block
        following = self._new()
        if isinstance(end, Suspend):
            end.targets = (self._after_barrier(ins, following),)
        if ins.guard is None:
            block.end = end
            return following
        taken = end.targets[0] if isinstance(end, Jump) else self._holding(end)
        block.end = Branch((taken, following), predicate=ins.guard.name, inverted=ins.inverted)
        return following

    def _linked(self, block: Block, ins: Instruction) -> Block:
        """Call or return, around which a guard makes a branch."""
        following = self._new()
        if ins.guard is not None:
            inner = self._new()
            block.end = Branch((inner, following), predicate=ins.guard.name, inverted=ins.inverted)
            block, ins = inner, replace(ins, guard=None)
        if ins.opcode == "ret":
            self.linkage.end_of_function(self.function, block)
            return following
        site = self._new()
        site.end = Jump((following,))
        self.linkage.call(self.function, block, ins, site)
        return following

    def _after_barrier(self, ins: Instruction, following: Block) -> Block:
        if ins.opcode == "nanosleep" or "red" not in ins.modifiers:
            return following
        result = self._new()
        result.body.append(replace(ins, opcode=RESULT, guard=None, operands=ins.operands[:1]))
        result.end = Jump((following,))
        return result

    def _holding(self, end: End) -> Block:
        block = self._new()
        block.end = end
        return block

    def _gathering(self, block: Block, ins: Instruction) -> Block:
        following = self._new()
        following.gathering = True
        following.body.append(ins)
        if ins.guard is None:
            block.end = Jump((following,))
            return following
        following.body[0] = replace(ins, guard=None)
        after = self._new()
        following.end = Jump((after,))
        block.end = Branch((following, after), predicate=ins.guard.name, inverted=ins.inverted)
        return after

    def _end(self, ins: Instruction) -> End | None:
        match ins.opcode:
            case "bra":
                return Jump((self._target(ins, ins.operands[0]),))
            case "brx":
                return self._table(ins)
            case "exit":
                return Exit()
            case "trap" | "brkpt":  # without a debugger, 719 is what an H200 answers to both
                return Trap(line=ins.line)
            case "bar" | "barrier" | "nanosleep":
                return Suspend(reason=_reason(ins), ins=replace(ins, guard=None))
            case _:
                return None

    def _target(self, ins: Instruction, operand: Operand) -> Block:
        if not isinstance(operand, Symbol):
            raise PtxError(f"{ins.name}: {operand} is no label", ins.line)
        return self._labelled(operand.name)

    def _table(self, ins: Instruction) -> Table:
        index, names = ins.operands
        if not isinstance(names, Symbol) or names.name not in self.function.tables:
            raise PtxError(f"{ins.name}: {names} is no .branchtargets list", ins.line)
        choices = tuple(self._labelled(name) for name in self.function.tables[names.name])
        return Table(tuple(dict.fromkeys(choices)), index=index, choices=choices)


def _reason(ins: Instruction) -> Reason:
    if ins.opcode == "nanosleep":
        return Reason.SLEEP
    if "cluster" in ins.modifiers:
        return Reason.CLUSTER_ARRIVE if "arrive" in ins.modifiers else Reason.CLUSTER
    return Reason.ARRIVE if "arrive" in ins.modifiers else Reason.BARRIER


def reachable(first: Block) -> set[Block]:
    """Collect the blocks that lanes can come to."""
    seen = {first}
    todo = [first]
    while todo:
        for target in todo.pop().targets:
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def leaves(blocks: Sequence[Block]) -> None:
    """Turn branches to a bare exit into `Leave`: the lanes that stay are then all that there are."""
    for block in blocks:
        end = block.end
        if not isinstance(end, Branch):
            continue
        first, second = (_bare_exit(target) for target in end.targets)
        if first and not second:
            block.end = Leave((end.targets[1],), predicate=end.predicate, inverted=end.inverted)
        elif second and not first:
            block.end = Leave((end.targets[0],), predicate=end.predicate, inverted=not end.inverted)


def _bare_exit(block: Block) -> bool:
    return not block.body and isinstance(block.end, Exit)


def predicate_of(end: End) -> str | None:
    """Answer the register that decides where lanes go."""
    if isinstance(end, Branch | Leave):
        return end.predicate
    if isinstance(end, Table) and isinstance(end.index, Register):
        return end.index.name
    return None
