"""The state machine: all steps together, what holds after each, and the way home."""

from __future__ import annotations

import os
from collections import Counter

import expect_memory
import numpy as np
from cuda.bindings._v2 import driver
from data_steps import DataSteps
from hypothesis.stateful import invariant
from job_steps import JobSteps
from model_state import DEVICE

import cumulticast.sim as sim


class VmmMachine(JobSteps, DataSteps):
    """All calls in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.fabric: list[tuple[bytes, object]] = []

    # ---- after each step

    @invariant()
    def all_agrees(self) -> None:
        self.memory_in_use_agrees()
        self.books_agree()

    def memory_in_use_agrees(self) -> None:
        """Each device has as many bytes less than at first as there are live allocations on it."""
        for device, free in enumerate(self.free_at_first):
            assert free - self.free_memory(device) == self.state.used(device)

    def books_agree(self) -> None:
        """The machine's own tables say what the model believes."""
        state = self.state
        assert self.books.allocations() == Counter((m.size, *m.location) for m in state.memories)
        assert self.books.objects() == Counter(
            (
                m.size,
                m.num_devices,
                tuple(sorted(m.team)),
                tuple(sorted((b.device, b.mc_offset, b.size, b.mem_offset, b.headroom) for b in m.binds)),
            )
            for m in state.multicasts
        )
        assert len(self.books.files()) == len(state.memories) + len(state.multicasts)

    # ---- at the end

    def teardown(self) -> None:
        try:
            self.read_everything()
            self.give_everything_back()
            self.all_agrees()
            self.books.assert_empty()
        finally:
            for descriptor in self.state.descriptors:
                os.close(descriptor)
            self.books.close()
            sim.stop()
        assert not self.books.path.exists(), "the world's directory was left behind"

    def read_everything(self) -> None:
        """Whatever was written, and nothing else, stands in every mapped memory."""
        for mapping in self.state.mappings:
            device = next((n for (kind, n), f in mapping.access.items() if kind == DEVICE and f), None)
            if mapping.memory is None or device is None:
                continue
            host = np.empty(mapping.size, np.uint8)
            driver.ctx_set_current(self.contexts[device])
            driver.memcpy_dtoh_v2(host.ctypes.data, mapping.base, mapping.size)
            known = mapping.memory.known[: mapping.size]
            assert (host == mapping.memory.data[: mapping.size])[known].all()

    def give_everything_back(self) -> None:
        """Unbind, unmap, release, close and free; every call must succeed."""
        state = self.state
        for handle in [h for h in state.handles.values() if h.references]:
            for bind in list(getattr(handle.thing, "binds", ())):
                driver.multicast_unbind(handle.value, bind.device, bind.mc_offset, bind.size)
                handle.thing.binds.remove(bind)
        for mapping in state.mappings:
            driver.mem_unmap(mapping.base, mapping.size)
        state.mappings.clear()
        for handle in list(state.handles.values()):
            for _ in range(handle.references):
                driver.mem_release(handle.value)
            handle.references = 0
        for descriptor in list(state.descriptors):
            os.close(descriptor)
            expect_memory.closed(state, descriptor)
        for reservation in state.reservations:
            driver.mem_address_free(reservation.base, reservation.size)
        state.settle()
