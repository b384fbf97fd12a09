"""Random programs over streams of every kind: what the rules put in order happens in order.

Kernels draw tickets from a counter, copies note its value. An op that must come after another has a ticket, or
sees a count, not below the other's. Waits hold some of the streams back at first, so that work piles up.
"""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass, field

import pytest
from cuda.bindings import driver as cu
from streams_held import Kernel

from answers import ok

pytestmark = pytest.mark.timeout(120)
COUNTER, GATES, SLOTS = 0, 64, 128  # places in the page
OPS, PROGRAMS = 60, 25
FREE, BLOCKING, LEGACY = range(3)
TICKET = (
    "mov.u64 %word, {counter}; atom.global.add.u32 %r, [%word], 1; ld.param.u64 %word, [p]; st.global.u32 [%word], %r;"
)


@dataclass
class Program:
    """What is known of the order: for each op the ops that come right before it."""

    rng: random.Random
    memory: int
    kernel: Kernel
    streams: list[tuple[int, object]] = field(default_factory=list)
    last: dict[int, set[int]] = field(default_factory=dict)
    events: list[tuple[object, set[int]]] = field(default_factory=list)
    before: list[tuple[str, set[int]]] = field(default_factory=list)

    def run(self) -> None:
        """Hand everything over, let the held streams go, and wait."""
        self.streams = [(FREE, ok(cu.cuStreamCreate(1))) for _ in range(2)]
        self.streams += [(BLOCKING, ok(cu.cuStreamCreate(0))) for _ in range(2)] + [(LEGACY, 0)]
        self.last = {k: set() for k in range(len(self.streams))}
        ctypes.memset(self.memory, 0, 4096)
        held = self.rng.sample(range(len(self.streams)), self.rng.randrange(4))
        for gate, stream in enumerate(held):
            ok(cu.cuStreamWaitValue32(self.streams[stream][1], self.memory + GATES + 4 * gate, 1, 1))
        for _ in range(OPS):
            self.step(self.rng.randrange(len(self.streams)))
        for gate in self.rng.sample(range(len(held)), len(held)):
            ctypes.c_uint32.from_address(self.memory + GATES + 4 * gate).value = 1
        ok(cu.cuCtxSynchronize())

    def preceding(self, stream: int) -> set[int]:
        """Answer what work of a stream comes right after."""
        kind = self.streams[stream][0]
        found = set(self.last[stream])
        for other, (other_kind, _) in enumerate(self.streams):
            if {kind, other_kind} == {LEGACY, BLOCKING}:
                found |= self.last[other]
        return found

    def step(self, stream: int) -> None:
        """Hand over a kernel, a copy, a record or a wait."""
        handle, kind = self.streams[stream][1], self.rng.choice(["kernel", "kernel", "copy", "record", "wait"])
        if kind == "record":
            event = ok(cu.cuEventCreate(2))
            ok(cu.cuEventRecord(event, handle))
            self.events.append((event, self.preceding(stream)))
        elif kind == "wait" and self.events:
            event, recorded = self.rng.choice(self.events)
            ok(cu.cuStreamWaitEvent(handle, event, 0))
            self.last[stream] = self.preceding(stream) | recorded
        elif kind in ("kernel", "copy"):
            number = len(self.before)
            slot = self.memory + SLOTS + 4 * number
            self.before.append((kind, self.preceding(stream)))
            self.last[stream] = {number}
            if kind == "kernel":
                self.kernel.launch(handle, slot)
            else:
                ok(cu.cuMemcpyDtoDAsync(slot, self.memory + COUNTER, 4, handle))

    def check(self) -> int:
        """Hold what was noted against the order; answer how many pairs there were."""
        seen = list((ctypes.c_uint32 * len(self.before)).from_address(self.memory + SLOTS))
        pairs = [(first, number) for number, (_, earlier) in enumerate(self.before) for first in earlier]
        for first, second in pairs:
            # A ticket counts what came before; a kernel is counted itself by what comes after it.
            assert seen[first] + (self.before[first][0] == "kernel") <= seen[second], (first, second, self.before)
        return len(pairs)

    def clean(self) -> None:
        """Destroy what was made."""
        for event, _ in self.events:
            ok(cu.cuEventDestroy(event))
        for kind, stream in self.streams:
            if kind != LEGACY:
                ok(cu.cuStreamDestroy(stream))


def test_what_is_in_order_happens_in_order(context):
    memory, pairs = int(ok(cu.cuMemAllocHost(4096))), 0
    kernel = Kernel(TICKET.format(counter=memory + COUNTER))
    for seed in range(PROGRAMS):
        program = Program(random.Random(seed), memory, kernel)
        program.run()
        pairs += program.check()
        program.clean()
    assert pairs > 20 * PROGRAMS
    ok(cu.cuMemFreeHost(memory))


def test_the_check_finds_a_pair_out_of_order():
    page = ctypes.create_string_buffer(4096)
    program = Program(random.Random(0), ctypes.addressof(page), None, before=[("kernel", set()), ("copy", {0})])  # pyright: ignore
    seen = (ctypes.c_uint32 * 2).from_buffer(page, SLOTS)
    seen[:] = [4, 5]
    assert program.check() == 1
    seen[:] = [4, 4]
    with pytest.raises(AssertionError):
        program.check()
