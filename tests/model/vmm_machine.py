"""The state machine: all steps together, what holds after each, and the way home; and the machine of one process."""

from __future__ import annotations

import sys
from itertools import pairwise

import expect_memory
import expect_world
import numpy as np
from data_calls import Calls, begin
from data_steps import DataSteps
from hypothesis.stateful import invariant
from job_steps import JobSteps
from model_state import Memory, State
from steps_common import BLOCK_LIMIT
from world_check import Books

import cumulticast.sim as sim

PIECE = 1 << 16


class VmmMachine(JobSteps, DataSteps):
    """All calls in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.before = sys.exc_info()[1]

    def end(self, *, failed: bool) -> None:
        """Stop the machine, which did as the model says or failed to; nothing of it may be left then."""
        raise NotImplementedError

    # ---- after each step

    @invariant()
    def all_agrees(self) -> None:
        self.memory_in_use_agrees()
        self.books_agree()

    def memory_in_use_agrees(self) -> None:
        """Each device has so much less memory free than it has as its live allocations take."""
        for ordinal, free in enumerate(self.calls(v2=True).free_memory()):
            device = self.state.index(ordinal)
            assert self.books.totals[device] - free == self.world.used(device), f"device {device}"

    def books_agree(self) -> None:
        """The machine's own tables say what the model believes."""
        expected, found = expect_world.picture(self.world), self.books.picture()
        for table, rows in expected.items():
            assert found[table] == rows, f"{table}: too much is {found[table] - rows}, missing is {rows - found[table]}"

    # ---- at the end

    def teardown(self) -> None:
        failed = sys.exc_info()[1] is not self.before  # then the model knows no more than that
        try:
            if not failed:
                self.go_home()
        finally:
            self.end(failed=failed)
        assert not self.books.path.exists(), "the world's directory was left behind"

    def go_home(self) -> None:
        """Read all that was written, then give back all that is held; nothing may be left."""
        self.read_everything()
        for state in self.world.processes:
            with self.acting(state):
                self.give_everything_back()
        self.all_agrees()
        assert not self.world.memories and not self.world.multicasts

    def read_everything(self) -> None:
        """Whatever was written, and nothing else, stands in all memory, and in every mapping of it."""
        for memory in self.world.memories:
            host = np.frombuffer(self.books.contents(memory.id), np.uint8)
            assert host.size == memory.size and (host == memory.data)[memory.known].all()
        for state in self.world.processes:
            with self.acting(state):
                for mapping in [m for m in state.mappings if m.memory is not None]:
                    for at, end in known_pieces(mapping.memory):
                        self.read_piece(mapping, at, end)

    def give_everything_back(self) -> None:
        """Unbind, unmap, release, close and free; every call must succeed."""
        state, call = self.state, self._succeeds
        for handle in [h for h in state.handles.values() if h.references]:
            for bind in [b for b in getattr(handle.thing, "binds", ()) if state.ordinal(b.device) is not None]:
                call("multicast_unbind", handle.value, state.ordinal(bind.device), bind.mc_offset, bind.size)
                handle.thing.binds.remove(bind)
        for mapping in state.mappings:
            call("mem_unmap", mapping.base, mapping.size)
        state.mappings.clear()
        for handle in list(state.handles.values()):
            for _ in range(handle.references):
                call("mem_release", handle.value)
            handle.references = 0
        for descriptor in list(state.descriptors):
            self.calls(v2=True).close(descriptor)
            expect_memory.closed(state, descriptor)
        for reservation in state.reservations:
            call("mem_address_free", reservation.base, reservation.size)
        state.reservations.clear()
        state.settle()

    def _succeeds(self, name: str, *arguments: int) -> None:
        status, _ = self.calls(v2=True).call("", name, *arguments)
        assert status == 0, f"{name}{arguments} answered {status}"


def known_pieces(memory: Memory) -> list[tuple[int, int]]:
    """Answer the stretches that somebody wrote, in pieces that fit in a message."""
    borders = np.flatnonzero(np.diff(memory.known, prepend=False, append=False)).tolist()
    stretches = zip(borders[::2], borders[1::2], strict=True)
    return [pair for start, end in stretches for pair in pairwise([*range(start, end, PIECE), end])]


class OneProcess(VmmMachine):
    """The machine that runs in this process, and in no other."""

    def start(self) -> None:
        sim.start(self.machine_name, profile=self.profile, nodes=1, block_limit=BLOCK_LIMIT)
        assert begin() == self.world.machine.devices
        self.books = Books(sim.current().world.path)
        (number,) = self.books.processes()
        self.world.processes.append(State(self.world, number))

    def calls(self, *, v2: bool) -> Calls:
        return Calls(v2=v2)

    def end(self, *, failed: bool) -> None:
        for descriptor in self.state.descriptors:  # left only after a failure
            self.calls(v2=True).close(descriptor)
        self.books.close()
        sim.stop()
