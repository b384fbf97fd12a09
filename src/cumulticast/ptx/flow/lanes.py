"""Which lanes run where: registers that are the same in all lanes, and blocks that only a part of the lanes runs.

Two questions that hang together. Where branches depend on values that differ, lanes are *pending* at some blocks while
others run; a register written while others are pending differs in time between lanes, even if it would be the same in
all of them at the end of the day. So both are found together, from the assumption that nothing differs, until nothing
changes any more. (Without this, a counter of rounds in a loop that lanes leave at different times would be wrong.)
"""

from __future__ import annotations

from cumulticast.ptx.flow import effects
from cumulticast.ptx.flow.blocks import (
    Block,
    Branch,
    Exit,
    Jump,
    Leave,
    Suspend,
    Table,
    predicate_of,
)
from cumulticast.ptx.layout import Reason
from cumulticast.ptx.syntax import Address, Instruction, Integer, Register, Symbol

#: The value never changes and is the warp's; it is the warp's at any time; it differs between lanes.
INVARIANT, UNIFORM, VARYING = 0, 1, 2

VARYING_SPECIALS = ("tid", "laneid", "lanemask_")
TIMED_SPECIALS = ("clock", "globaltimer", "pm")
#: Results that are each lane's own, whatever goes in.
PER_LANE = frozenset(
    ("atom", "shfl", "match", "mbarrier", "elect", "alloca", "vprintf", "device_malloc", "ldmatrix", "mma", "movmatrix")
)
#: Results that all members of a warp have in common: only the member mask, the last operand, can make them differ.
PER_WARP = frozenset(["vote", "redux", "activemask"])
ALL_LANES = 0xFFFFFFFF
#: After one of these a warp may go on with any of its waiting lanes, not only with those that were suspended.
TURNING = frozenset((Reason.SPIN, Reason.SLEEP, Reason.BARRIER, Reason.CLUSTER))


class Lanes:
    """The answer for one kernel.

    Attributes
    ----------
    level
        INVARIANT, UNIFORM or VARYING, by register.
    pending
        For each block, by index, the set of blocks (bits, by index) at which lanes may wait while it runs.
    """

    def __init__(self, blocks: list[Block], formals: frozenset[str] = frozenset()) -> None:
        self.blocks = blocks
        self.formals = formals
        self.level: dict[str, int] = {}
        self.pending = [0] * len(blocks)
        self._writers = _writers(blocks)
        self._gathering = _bits([b for b in blocks if b.gathering])
        self._constants = constants(blocks)
        self._barriers = _bits([b.end.targets[0] for b in blocks if _waits_at_barrier(b)])
        while self._raise_levels() | self._spread():
            pass

    def converged(self, block: Block) -> bool:
        """Tell whether all lanes that have not ended run a block at once."""
        return self.pending[block.index] == 0

    def uniform(self, name: str) -> bool:
        """Tell whether a register is one scalar."""
        return self.level.get(name, INVARIANT) < VARYING

    def waiting(self, block: Block) -> list[Block]:
        """List the blocks at which lanes may wait while a block runs."""
        return self._list(self.pending[block.index])

    def _list(self, bits: int) -> list[Block]:
        return [block for block in self.blocks if bits >> block.index & 1]

    # ---- levels

    def _raise_levels(self) -> bool:
        changed = False
        again = True
        while again:
            again = False
            for block in self.blocks:
                for ins in block.body:
                    again |= self._judge(block, ins)
            changed |= again
        return changed

    def _judge(self, block: Block, ins: Instruction) -> bool:
        names = effects.written(ins)
        if not names or all(self.level.get(name) == VARYING for name in names):
            return False
        level = self._level(block, ins)
        if any(self.level.get(name) == VARYING for name in names):
            level = VARYING  # an instruction has one shape, also where it writes two registers
        changed = False
        for name in names:
            mine = level
            if self._writers[name] > 1 or ins.guard is not None:
                mine = max(mine, UNIFORM if self.converged(block) else VARYING)
            if mine > self.level.get(name, INVARIANT):
                self.level[name] = mine
                changed = True
        return changed

    def _level(self, block: Block, ins: Instruction) -> int:
        sources = effects.registers_of(ins.operands[-1]) if ins.opcode in PER_WARP else effects.read(ins)
        level = max((self.level.get(name, INVARIANT) for name in sources), default=INVARIANT)
        for operand in ins.operands:
            for name in effects.specials_of(operand):
                level = max(level, _special(name))
        if ins.guard is not None:
            level = max(level, self.level.get(ins.guard.name, INVARIANT))
        level = max(level, self._own(ins))
        return VARYING if level == UNIFORM and not self.converged(block) else level

    def _own(self, ins: Instruction) -> int:
        """Judge what an instruction adds to its operands."""
        if ins.opcode in PER_LANE or (ins.opcode in ("cvta", "isspacep") and "local" in ins.modifiers):
            return VARYING
        if (
            ins.opcode == "isspacep" and "global" in ins.modifiers
        ):  # global is what is not the lane's local memory either
            return VARYING
        if ins.opcode == "ld":
            if "local" in ins.modifiers:
                return VARYING
            return self._parameter(ins) if "param" in ins.modifiers else UNIFORM
        if ins.opcode in ("ldu", "multimem", "barrier_result", *PER_WARP):
            return UNIFORM
        return INVARIANT

    def _parameter(self, ins: Instruction) -> int:
        """A kernel's parameters are the launch's; those of functions are each lane's."""
        address = ins.operands[1]
        base = address.base if isinstance(address, Address) else None
        if isinstance(base, Symbol):
            return INVARIANT if base.name in self.formals else VARYING
        return UNIFORM

    # ---- who waits

    def _spread(self) -> bool:
        before = list(self.pending)
        todo = set(range(len(self.blocks)))
        while todo:
            block = self.blocks[todo.pop()]
            for target, bits in self._next(block):
                merged = self.pending[target] | bits & ~(1 << target)
                if merged and self.blocks[target].gathering:  # some lanes' groups may be complete, others' not
                    merged |= 1 << target
                if merged != self.pending[target]:
                    self.pending[target] = merged
                    todo.add(target)
        return before != self.pending

    def _next(self, block: Block) -> list[tuple[int, int]]:
        """List (block that may run next, blocks at which lanes may wait then)."""
        here = self.pending[block.index]
        found: list[tuple[int, int]] = []
        if block.gathering and here:
            found += self._any(here, here | 1 << block.index)
            if self._gathers_all(block):
                # Either all lanes are here, or those that never come are forced to be done without: then they wait
                # in blocks like this one, and the lowest of these goes first (native/block.c).
                here &= self._gathering & -(2 << block.index) | self._barriers
        return found + self._after(block, here)

    def _gathers_all(self, block: Block) -> bool:
        """Tell whether a block waits for all lanes of the warp."""
        if block.body[0].opcode in effects.WHOLE_WARP:
            return True
        members = block.body[0].operands[-1]
        number = self._constants.get(members.name) if isinstance(members, Register) else None
        number = members.value if isinstance(members, Integer) else number
        return number is not None and number & ALL_LANES == ALL_LANES

    def _after(self, block: Block, here: int) -> list[tuple[int, int]]:
        end = block.end
        marks = [1 << target.index for target in block.targets]
        match end:
            case Jump():
                return self._lowest(here | marks[0], marks[0])
            case Branch() | Table():
                return self._parted(end, here, marks)
            case Leave():
                return self._lowest(here | marks[0], marks[0]) + self._any(here, here)
            case Suspend():
                return self._suspended(end, here, marks[0])
            case Exit():
                return self._any(here, here)
            case _:
                return []

    def _parted(self, end: Branch | Table, here: int, marks: list[int]) -> list[tuple[int, int]]:
        predicate = predicate_of(end)
        if predicate is None or self.level.get(predicate, INVARIANT) < VARYING:
            return [pair for mark in marks for pair in self._lowest(here | mark, mark)]
        together = here | sum(set(marks))
        return self._lowest(together, max(marks))

    def _suspended(self, end: Suspend, here: int, mark: int) -> list[tuple[int, int]]:
        if not here:
            return [(mark.bit_length() - 1, 0)]
        if end.reason not in TURNING:
            again = self._lowest(here | mark, mark) if end.reason is Reason.WAIT else []  # most rounds are not left
            return [*again, (mark.bit_length() - 1, here)]
        together = here | mark
        if end.whole:  # it ends when all lanes wait at barriers
            return [*self._any(here, together), (mark.bit_length() - 1, here & self._barriers)]
        return self._any(together, together)

    def _lowest(self, waiting: int, surely: int) -> list[tuple[int, int]]:
        """The lowest block with lanes runs: any up to the one that surely has some, and then none below it has."""
        found: list[tuple[int, int]] = []
        bits = waiting
        while bits:
            low = bits & -bits
            bits ^= low
            found.append((low.bit_length() - 1, bits))
            if low >= surely:
                break
        return found

    def _any(self, which: int, waiting: int) -> list[tuple[int, int]]:
        return [(index, waiting) for index in range(which.bit_length()) if which >> index & 1]


def _special(name: str) -> int:
    bare = name.lstrip("%")
    if bare.startswith(VARYING_SPECIALS):
        return VARYING
    return UNIFORM if bare.startswith(TIMED_SPECIALS) else INVARIANT


def _waits_at_barrier(block: Block) -> bool:
    return isinstance(block.end, Suspend) and block.end.reason in (Reason.BARRIER, Reason.CLUSTER)


def _bits(blocks: list[Block]) -> int:
    found = 0
    for block in blocks:
        found |= 1 << block.index
    return found


def _writers(blocks: list[Block]) -> dict[str, int]:
    found: dict[str, int] = {}
    for block in blocks:
        for ins in block.body:
            for name in effects.written(ins):
                found[name] = found.get(name, 0) + 1
    return found


def constants(blocks: list[Block]) -> dict[str, int]:
    """Collect the registers that are written once, by a mov of a number."""
    found: dict[str, int] = {}
    seen: set[str] = set()
    for ins in [one for block in blocks for one in block.body]:
        names = effects.written(ins)
        source = ins.operands[-1] if ins.operands else None
        plain = ins.opcode == "mov" and ins.guard is None and len(names) == 1 and isinstance(source, Integer)
        for name in names:
            if name in seen:
                found.pop(name, None)
            elif plain and isinstance(source, Integer):
                found[name] = source.value
            seen.add(name)
    return found
