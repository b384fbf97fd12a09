"""Writes a kernel's function in LLVM IR.

    define i32 @kernel(ptr %warp, i32 %resume)

carries one warp on from a place (0: the beginning) and answers why it stopped (layout.Reason). Each block of the kernel
is one of LLVM's; ``%active`` holds the lanes that run, ``%m7`` those that wait at block 7. At the end of a block lanes
are added to the masks of where they go, and the lowest block with waiting lanes is next. Where the analysis has found
that all lanes are together there are no masks, only a jump.
"""

from __future__ import annotations

from collections.abc import Iterable

from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.flow import effects
from cumulticast.ptx.flow.blocks import Block, Branch, End, Exit, Jump, Leave, Suspend, Table, Trap
from cumulticast.ptx.flow.frames import Frame, waits_for_lanes
from cumulticast.ptx.flow.lanes import Lanes
from cumulticast.ptx.flow.liveness import Names
from cumulticast.ptx.flow.suspensions import Suspensions
from cumulticast.ptx.layout import Reason
from cumulticast.ptx.lower.emitter import LANES, lowering
from cumulticast.ptx.lower.kernel_emitter import KernelEmitter
from cumulticast.ptx.syntax import Instruction, Integer, Operand, Register

#: Masks that are looked at one by one; more are looked through by the runtime.
SHORT_CHAIN = 6


class Writer:
    """One kernel in the making."""

    def __init__(
        self, em: KernelEmitter, blocks: list[Block], lanes: Lanes, live: dict[Block, Names], frame: Frame
    ) -> None:
        self.em = em
        self.blocks = blocks
        self.lanes = lanes
        self.live = live
        self.frame = frame
        self.suspensions = Suspensions(em, blocks, lanes, frame)
        self.lines: list[int] = [0]  # of the text, by instruction number

    def write(self, name: str) -> str:
        """Answer the module's text."""
        em = self.em
        self.suspensions.enter(self.live[self.blocks[0]])
        for block in self.blocks:
            self._block(block)
        if self.frame.resident:
            self._dispatch()
        body = [f"define i32 @{name}(ptr %warp, i32 %resume) {{", "entry:", *em.entry, *em.lines, "}"]
        return "\n".join([*sorted(em.declared), *em.defined.values(), *body, ""])

    # ---- blocks

    def _block(self, block: Block) -> None:
        em = self.em
        em.label(f"e{block.index}")  # with lanes that have waited here
        em.do(f"store i32 {em.emit(f'load i32, ptr %m{block.index}')}, ptr %active")
        em.do(f"store i32 0, ptr %m{block.index}")
        em.do(f"br label %b{block.index}")
        em.label(f"b{block.index}")
        active = em.emit("load i32, ptr %active")
        if waits_for_lanes(block, self.lanes):
            active = self.suspensions.gather(block, active)
        waiting = self.lanes.waiting(block)
        em.blend = frozenset[str]().union(*(self.live[other] for other in waiting))
        mask = em.emit(f"bitcast i32 {active} to <{LANES} x i1>")
        em.recent.clear()
        for ins in block.body:
            em.active, em.mask = active, mask
            self._instruction(ins)
            em.recent.note(ins, effects.written(ins), effects.read(ins))
        em.active, em.mask = active, mask
        self._end(block, active)

    def _instruction(self, ins: Instruction) -> None:
        em = self.em
        self.lines.append(ins.line)
        em.line, em.number = ins.line, len(self.lines) - 1
        found = lowering(ins)
        if found is None:
            raise PtxError(f"{ins.name} is not simulated", ins.line)
        names = effects.written(ins)
        em.vector = not names or not all(em.slots[name].uniform for name in names)
        if ins.guard is None:
            found(em, ins)
        elif em.slots[ins.guard.name].uniform:
            self._around(ins)
        else:
            self._masked(ins)

    def _around(self, ins: Instruction) -> None:
        """Carry out a guarded instruction whose guard is the same for all lanes: or not at all."""
        em = self.em
        assert ins.guard is not None
        vector, em.vector = em.vector, False
        guard = em.load(ins.guard.name)
        em.vector = vector
        label = em.name()[1:]
        ways = (f"skip.{label}", f"do.{label}") if ins.inverted else (f"do.{label}", f"skip.{label}")
        em.do(f"br i1 {guard}, label %{ways[0]}, label %{ways[1]}")
        em.label(f"do.{label}")
        found = lowering(ins)
        assert found is not None
        found(em, ins)
        em.do(f"br label %skip.{label}")
        em.label(f"skip.{label}")

    def _masked(self, ins: Instruction) -> None:
        """Carry out a guarded instruction for the lanes whose guard holds."""
        em = self.em
        assert ins.guard is not None
        em.vector = True
        guard = em.load(ins.guard.name)
        if ins.inverted:
            guard = em.op("xor", "i1", guard, em.const("i1", 1))
        em.mask = em.op("and", "i1", em.mask or em.const("i1", 1), guard)
        em.active = em.emit(f"bitcast <{LANES} x i1> {em.mask} to i32")
        em.guarded = True
        found = lowering(ins)
        assert found is not None
        found(em, ins)
        em.guarded = False

    # ---- ends

    def _end(self, block: Block, active: str) -> None:
        match block.end:
            case Jump() as end:
                self.go(block, end.targets[0], active)
            case Branch() as end:
                self._branch(block, end, active)
            case Table() as end:
                self._table(block, end, active)
            case Leave() as end:
                self._leave(block, end, active)
            case Exit():
                self._exit(active)
                self.next_of(self.lanes.waiting(block))
            case Suspend() as end:
                self.suspensions.suspend(block, end, active, self)
            case Trap() as end:
                self._trap(end)
            case End():
                raise AssertionError(f"a block that ends with {block.end}")

    def go(self, block: Block, target: Block, active: str) -> None:
        """Send all lanes that run to one block."""
        waiting = self.lanes.waiting(block)
        if not waiting:
            self.em.do(f"br label %b{target.index}")
            return
        self.add(target, active)
        self.next_of([target, *waiting], surely=target)

    def add(self, target: Block, lanes: str) -> None:
        """Let lanes wait at a block."""
        em = self.em
        old = em.emit(f"load i32, ptr %m{target.index}")
        em.do(f"store i32 {em.emit(f'or i32 {old}, {lanes}')}, ptr %m{target.index}")

    def next_of(self, waiting: Iterable[Block], surely: Block | None = None) -> None:
        """Go to the lowest block with waiting lanes; ``surely`` has some. With none at all the warp is done."""
        em = self.em
        found = sorted(set(waiting), key=lambda block: block.index)
        if self.frame.resident and len(found) > SHORT_CHAIN:
            em.do("br label %dispatch")
            return
        for target in found:
            if target is surely:
                em.do(f"br label %e{target.index}")
                return
            some = em.emit(f"icmp ne i32 {em.emit(f'load i32, ptr %m{target.index}')}, 0")
            label = em.name()[1:]
            em.do(f"br i1 {some}, label %e{target.index}, label %{label}")
            em.label(label)
        em.do(f"ret i32 {Reason.DONE.value}")

    def _dispatch(self) -> None:
        """Go to the lowest block with waiting lanes, whichever it is; for kernels whose masks are in the frame."""
        em = self.em
        em.label("dispatch")
        em.declare("i32 @ptx_lowest_place(ptr, i32)")
        place = em.emit(f"call i32 @ptx_lowest_place(ptr %warp, i32 {len(self.blocks) + 1})")
        cases = " ".join(f"i32 {place}, label %e{block.index}" for block, place in self.frame.places.items())
        em.do(f"switch i32 {place}, label %done [ {cases} ]")
        em.label("done")
        em.do(f"ret i32 {Reason.DONE.value}")

    def _predicate(self, name: str, *, inverted: bool) -> tuple[str, bool]:
        """Answer a predicate as i1 (the same for all lanes) or as a mask i32, and whether it is the former."""
        em = self.em
        em.vector = not em.slots[name].uniform
        value = em.load(name)
        if inverted:
            value = em.op("xor", "i1", value, em.const("i1", 1))
        if not em.vector:
            return value, True
        return em.emit(f"bitcast <{LANES} x i1> {value} to i32"), False

    def _branch(self, block: Block, end: Branch, active: str) -> None:
        em = self.em
        predicate, uniform = self._predicate(end.predicate, inverted=end.inverted)
        if uniform:
            self._part_all(block, predicate, end.targets, active)
            return
        taken = em.emit(f"and i32 {active}, {predicate}")
        others = em.emit(f"xor i32 {active}, {taken}")
        self.add(end.targets[0], taken)
        self.add(end.targets[1], others)
        waiting = [*end.targets, *self.lanes.waiting(block)]
        self.next_of(waiting, surely=max(end.targets, key=lambda target: target.index))

    def _part_all(self, block: Block, predicate: str, targets: tuple[Block, ...], active: str) -> None:
        em = self.em
        labels = [em.name()[1:] for _ in targets]
        em.do(f"br i1 {predicate}, label %{labels[0]}, label %{labels[1]}")
        for label, target in zip(labels, targets, strict=True):
            em.label(label)
            self.go(block, target, active)

    def _table(self, block: Block, end: Table, active: str) -> None:
        em = self.em
        index = end.index
        assert index is not None
        em.vector = isinstance(index, Register) and not em.slots[index.name].uniform
        value = em.get(index, "i32")
        if not em.vector:
            self._switch(block, end, value, active)
            return
        for number, target in enumerate(end.choices):
            here = em.compare("icmp", "eq", "i32", value, em.const("i32", number))
            chosen = em.emit(f"bitcast <{LANES} x i1> {here} to i32")
            self.add(target, em.emit(f"and i32 {active}, {chosen}"))
        waiting = [*end.targets, *self.lanes.waiting(block)]
        self.next_of(waiting, surely=max(end.targets, key=lambda target: target.index))

    def _switch(self, block: Block, end: Table, value: str, active: str) -> None:
        em = self.em
        labels = {target: em.name()[1:] for target in end.targets}
        cases = " ".join(f"i32 {n}, label %{labels[target]}" for n, target in enumerate(end.choices))
        em.do(f"switch i32 {value}, label %{labels[end.choices[-1]]} [ {cases} ]")
        for target, label in labels.items():
            em.label(label)
            self.go(block, target, active)

    def _exit(self, leaving: str) -> None:
        """Lanes end: the block's barriers count them no longer."""
        em = self.em
        place = self.suspensions.place_of("lanes")
        left = em.emit(f"xor i32 {leaving}, -1")
        old = em.emit(f"load i32, ptr {place}")
        em.do(f"store i32 {em.emit(f'and i32 {old}, {left}')}, ptr {place}")

    def _leave(self, block: Block, end: Leave, active: str) -> None:
        em = self.em
        predicate, uniform = self._predicate(end.predicate, inverted=end.inverted)
        if uniform:
            predicate = em.emit(f"select i1 {predicate}, i32 -1, i32 0")
        leaving = em.emit(f"and i32 {active}, {predicate}")
        staying = em.emit(f"xor i32 {active}, {leaving}")
        self._exit(leaving)
        some = em.emit(f"icmp ne i32 {staying}, 0")
        stay, gone = em.name()[1:], em.name()[1:]
        em.do(f"br i1 {some}, label %{stay}, label %{gone}")
        em.label(gone)
        self.next_of(self.lanes.waiting(block))
        em.label(stay)
        em.do(f"store i32 {staying}, ptr %active")
        self.go(block, end.targets[0], staying)

    def _trap(self, end: Trap) -> None:
        em = self.em
        self.lines.append(end.line)
        em.declare("void @ptx_trap(ptr, i32, i32)")
        em.do(f"call void @ptx_trap(ptr %warp, i32 {len(self.lines) - 1}, i32 {em.active})")
        em.do("unreachable")


def scalar(em: KernelEmitter, operand: Operand) -> str:
    """Answer an operand that is meant to be the same for all lanes as a scalar i32: the first lane's."""
    if isinstance(operand, Integer):
        return str(operand.value)
    em.vector = isinstance(operand, Register) and not em.slots[operand.name].uniform
    value = em.get(operand, "i32")
    if not em.vector:
        return value
    em.declare("i32 @llvm.cttz.i32(i32, i1)")
    first = em.emit(f"call i32 @llvm.cttz.i32(i32 {em.active}, i1 false)")
    return em.emit(f"extractelement <{LANES} x i32> {value}, i32 {first}")
