"""Leaving a warp's code and coming back: masks and registers go to the frame and return.

Every way out stores the lanes found at each place, the registers that changed, and, for the scheduler, what the warp
waits for; every way in reads what the analysis says is needed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cumulticast.ptx import layout
from cumulticast.ptx.flow import effects
from cumulticast.ptx.flow.blocks import Block, Suspend
from cumulticast.ptx.flow.frames import Frame, found_at
from cumulticast.ptx.flow.lanes import Lanes
from cumulticast.ptx.flow.liveness import Names
from cumulticast.ptx.flow.order import BUDGET
from cumulticast.ptx.layout import Reason
from cumulticast.ptx.lower.emitter import LANES
from cumulticast.ptx.lower.kernel_emitter import KernelEmitter
from cumulticast.ptx.syntax import Instruction, Integer, Negated, Operand, Register

if TYPE_CHECKING:
    from cumulticast.ptx.flow.writer import Writer

BARRIER_OPS = {"popc": 1, "and": 2, "or": 3}


class Suspensions:
    """The ways out of and into one kernel's code."""

    def __init__(self, em: KernelEmitter, blocks: list[Block], lanes: Lanes, frame: Frame) -> None:
        self.em = em
        self.blocks = blocks
        self.lanes = lanes
        self.frame = frame

    # ---- in

    def enter(self, unwritten: Names) -> None:
        """Write what the function begins with: rooms, and where it goes on.

        ``unwritten`` are registers that may be read before they are written. Their value is undefined, but there is
        one, as on hardware: LLVM takes a branch by an undefined value for code that is never reached.
        """
        em = self.em
        em.entry.append("  %active = alloca i32")
        em.entry += [f"  %m{block.index} = {self._room_of_mask(block)}" for block in self.blocks]
        em.entry += [f"  {em.register(name)} = {self._room_of(name)}" for name in em.slots]
        if not self.frame.resident:
            for block in self.blocks:
                em.do(f"store i32 0, ptr %m{block.index}")
        cases = " ".join(f"i32 {self.frame.places[b]}, label %r{b.index}" for b in self.frame.resumed)
        em.do(f"switch i32 %resume, label %start [ {cases} ]")
        em.label("start")
        em.do(f"store i32 {em.field('lanes')}, ptr %active")
        for name in sorted(unwritten & em.slots.keys()):
            em.do(f"store {self._type_of(name)} zeroinitializer, ptr {em.register(name)}")
        em.do(f"br label %b{self.blocks[0].index}")
        for block in self.frame.resumed:
            self._resume(block)

    def _room_of_mask(self, block: Block) -> str:
        if self.frame.resident:
            return _in_frame(4 * self.frame.places[block])
        return "alloca i32"

    def _room_of(self, name: str) -> str:
        if self.frame.resident and name in self.frame.at:
            return _in_frame(self.frame.at[name])
        return f"alloca {self._type_of(name)}, align 64"

    def _type_of(self, name: str) -> str:
        slot = self.em.slots[name]
        return slot.kind if slot.uniform else f"<{LANES} x {slot.kind}>"

    def _resume(self, block: Block) -> None:
        em = self.em
        em.label(f"r{block.index}")
        if self.frame.resident:
            em.do(f"br label %e{block.index}")
            return
        for other in dict.fromkeys([block, *self.lanes.waiting(block)]):
            if other in self.frame.places:
                place = self.mask_place(other)
                em.do(f"store i32 {em.emit(f'load i32, ptr {place}')}, ptr %m{other.index}")
                em.do(f"store i32 0, ptr {place}")
        for name in self.frame.needed[block]:
            self._read(name)
        em.do(f"br label %e{block.index}")

    def place_of(self, field: str) -> str:
        """Answer the address of a field of the warp."""
        return self.em.emit(f"getelementptr i8, ptr %warp, i64 {layout.WARP_AT[field]}")

    def frame_place(self, offset: int) -> str:
        """Answer an address in the frame."""
        return self.em.emit(_in_frame(offset))

    def mask_place(self, block: Block) -> str:
        """Answer where the frame keeps the lanes that wait at a place."""
        return self.frame_place(4 * self.frame.places[block])

    def _read(self, name: str) -> None:
        em, slot = self.em, self.em.slots[name]
        place, room = self.frame_place(self.frame.at[name]), em.register(name)
        if slot.kind == "i1":
            if slot.uniform:
                value = em.emit(f"trunc i8 {em.emit(f'load i8, ptr {place}')} to i1")
            else:
                value = em.emit(f"bitcast i32 {em.emit(f'load i32, ptr {place}')} to <{LANES} x i1>")
            em.do(f"store {'i1' if slot.uniform else f'<{LANES} x i1>'} {value}, ptr {room}")
            return
        kind = slot.kind if slot.uniform else f"<{LANES} x {slot.kind}>"
        em.do(f"store {kind} {em.emit(f'load {kind}, ptr {place}{self._align(name)}')}, ptr {room}")

    def _align(self, name: str) -> str:
        return "" if self.em.slots[name].uniform else ", align 64"

    # ---- out

    def _write(self, name: str) -> None:
        em, slot = self.em, self.em.slots[name]
        place, room = self.frame_place(self.frame.at[name]), em.register(name)
        if slot.kind == "i1":
            if slot.uniform:
                value = em.emit(f"zext i1 {em.emit(f'load i1, ptr {room}')} to i8")
                em.do(f"store i8 {value}, ptr {place}")
            else:
                value = em.emit(f"bitcast <{LANES} x i1> {em.emit(f'load <{LANES} x i1>, ptr {room}')} to i32")
                em.do(f"store i32 {value}, ptr {place}")
            return
        kind = slot.kind if slot.uniform else f"<{LANES} x {slot.kind}>"
        em.do(f"store {kind} {em.emit(f'load {kind}, ptr {room}')}, ptr {place}{self._align(name)}")

    def put(self, field: str, value: str) -> None:
        """Write a 32-bit field of the warp."""
        self.em.do(f"store i32 {value}, ptr {self.place_of(field)}")

    def _out(self, block: Block, found: list[Block], at: Block, active: str, reason: Reason) -> None:
        """Leave: the active lanes go on at ``at``; the masks of all blocks in ``found`` are already in their rooms."""
        em = self.em
        if not self.frame.resident:
            for other in found:
                em.do(f"store i32 {em.emit(f'load i32, ptr %m{other.index}')}, ptr {self.mask_place(other)}")
            for name in self.frame.saved[block]:
                self._write(name)
        self.put("next", str(self.frame.places[at]))
        self.put("waiting", active)
        em.do(f"ret i32 {reason.value}")

    def suspend(self, block: Block, end: Suspend, active: str, writer: Writer) -> None:
        """Write the end of a block that suspends."""
        target = end.targets[0]
        reason = end.reason
        if reason is BUDGET and end.ins is None:
            self._spend(block, end, active, writer)
            reason = Reason.HANDOVER
        elif end.ins is not None:
            writer.lines.append(end.ins.line)
            self.em.number = len(writer.lines) - 1
            self._describe(end.ins, reason)
        writer.add(target, active)
        self._out(block, found_at(block, self.lanes)[-1], target, active, reason)

    def _spend(self, block: Block, end: Suspend, active: str, writer: Writer) -> None:
        """Go round at once while the budget lasts."""
        em = self.em
        place = self.place_of("budget")
        left = em.emit(f"sub i32 {em.emit(f'load i32, ptr {place}')}, {end.cost}")
        em.do(f"store i32 {left}, ptr {place}")
        again, out = em.name()[1:], em.name()[1:]
        em.do(f"br i1 {em.emit(f'icmp sgt i32 {left}, 0')}, label %{again}, label %{out}")
        em.label(again)
        writer.go(block, end.targets[0], active)
        em.label(out)

    def _describe(self, ins: Instruction, reason: Reason) -> None:
        """Tell the scheduler what a barrier or a sleep is about."""
        from cumulticast.ptx.flow.writer import scalar

        em = self.em
        if reason is Reason.SLEEP:
            self.put("sleep_ns", scalar(em, ins.operands[0]))
            return
        if reason in (Reason.CLUSTER, Reason.CLUSTER_ARRIVE):
            return
        reducing = "red" in ins.modifiers
        operands = ins.operands[1:] if reducing else ins.operands
        counted = len(operands) > (2 if reducing else 1)
        self.put("barrier_id", scalar(em, operands[0]) if operands else "0")
        self.put("barrier_threads", scalar(em, operands[1]) if counted else "0")
        if counted and not isinstance(operands[1], Integer):  # the scheduler may refuse the count
            self.put("instruction", str(em.number))
        operation = next((BARRIER_OPS[word] for word in ins.modifiers if word in BARRIER_OPS), 0) if reducing else 0
        self.put("barrier_op", str(operation))
        if reducing:
            self.put("barrier_value", self._votes(operands[-1]))

    def _votes(self, operand: Operand) -> str:
        em = self.em
        register = operand.register if isinstance(operand, Negated) else operand
        assert isinstance(register, Register)
        em.vector = True
        held = em.get(operand, "i1")
        return em.emit(f"and i32 {em.active}, {em.emit(f'bitcast <{LANES} x i1> {held} to i32')}")

    # ---- waiting for lanes of the same warp

    def gather(self, block: Block, active: str) -> str:
        """Let those lanes go on whose members have all come or ended, or never come, as the scheduler says.

        Answers these lanes; the others wait on. With none the warp is left.
        """
        em = self.em
        em.active = active
        em.vector = True
        elsewhere = em.emit(f"and i32 {em.field('lanes')}, {em.emit(f'xor i32 {active}, -1')}")
        missing = em.op("and", "i32", _members(em, block.body[0]), em.splat("i32", elsewhere))
        complete = em.compare("icmp", "eq", "i32", missing, em.const("i32", 0))
        forced = em.field("force")
        able = em.emit(f"or i32 {em.emit(f'bitcast <{LANES} x i1> {complete} to i32')}, {forced}")
        going = em.emit(f"and i32 {active}, {able}")
        staying = em.emit(f"xor i32 {active}, {going}")
        em.do(f"store i32 {staying}, ptr %m{block.index}")
        go, stay = em.name()[1:], em.name()[1:]
        em.do(f"br i1 {em.emit(f'icmp ne i32 {going}, 0')}, label %{go}, label %{stay}")
        em.label(stay)
        self._out(block, found_at(block, self.lanes)[0], block, active, Reason.WARP)
        em.label(go)
        self.put("passed", "1")
        self.put("force", em.emit(f"and i32 {forced}, {em.emit(f'xor i32 {going}, -1')}"))
        return going


def _in_frame(offset: int) -> str:
    """Write the address of something in the frame."""
    return f"getelementptr i8, ptr %warp, i64 {layout.FRAME_AT + offset}"


def _members(em: KernelEmitter, ins: Instruction) -> str:
    """Answer the member mask of a gathering instruction, i32 for each lane."""
    return em.const("i32", -1) if ins.opcode in effects.WHOLE_WARP else em.get(ins.operands[-1], "i32")
