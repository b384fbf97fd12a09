"""A whole job as one step: what programs do before they compute. Other steps then have something to work on."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import needs
from address_steps import AddressSteps
from bind_steps import BindSteps
from expect_addresses import MapWish
from expect_binds import BindWish
from expect_memory import MemoryWish, ObjectWish
from memory_steps import TYPES, MemorySteps
from model_state import DEVICE, GRANULE, POSIX, READWRITE
from steps_common import step


class JobSteps(MemorySteps, AddressSteps, BindSteps):
    @step(first=True, types=TYPES)
    def first_job(self, data: st.DataObject, types: int) -> None:
        self._job(data, types)

    @step(types=TYPES)
    def another_job(self, data: st.DataObject, types: int) -> None:
        if len(self.state.mappings) < 12:  # enough is enough
            self._job(data, types)

    @step(needs.binds)
    def bind_beside(self, data: st.DataObject) -> None:
        """Bind fresh memory right before, upon or behind another bind, with and without its headroom."""
        mc = self.one_of(data, [h.value for h in self.state.handles.values() if h.references and needs.binds_of(h)])
        other = self.one_of(data, needs.binds_of(self.state.handles[mc]))
        device = self.state.ordinal(other.device)
        if device is None:
            return  # another node's
        memory = self.make_memory(data, MemoryWish(2 * GRANULE, (DEVICE, device), POSIX))
        before = max(0, other.mc_offset - GRANULE)
        at = self.one_of(data, [before, other.mc_offset, other.end, other.end + other.headroom])
        fine = 256 if self.state.machine.finer_binds and data.draw(st.booleans()) else 0
        named = self.one_of(data, [None, device])
        self.make_bind(data, BindWish(mc, at, memory, fine, GRANULE, dev=named))

    @step(needs.something)
    def give_back(self, data: st.DataObject) -> None:
        """Take one thing down, exactly as it was put up: programs end, and what they leave to others shows then."""
        step_back, things = self.one_of(data, [pair for pair in self._held() if pair[1]])
        step_back(data, *self.one_of(data, things))

    def _held(self) -> list[tuple[Callable[..., None], list[tuple[int, ...]]]]:
        """Answer what can be undone, with which arguments."""
        state, handles = self.state, [h for h in self.state.handles.values() if h.references]
        binds = [(h.value, state.ordinal(b.device), b.mc_offset, b.size) for h in handles for b in needs.binds_of(h)]
        return [
            (self.make_unbind, [bind for bind in binds if bind[1] is not None]),
            (self.unmap_range, [(m.base, m.size) for m in state.mappings]),
            (self.let_go, [(h.value,) for h in handles]),
        ]

    def _job(self, data: st.DataObject, types: int) -> None:
        """Make an object, its team and memory of each device; map, bind and give access as drawn."""
        count = data.draw(st.integers(1, 3))
        devices = data.draw(st.permutations(range(self.state.machine.devices)))[:count]
        size = self.granules(data, 2, 4)
        mc = self.make_object(data, ObjectWish(size, count, types))
        for device in devices:
            self.add(data, mc, device)
        for device in devices:
            self._replica(data, mc, device, MemoryWish(self.granules(data, 1, 3), (DEVICE, device), types), size)
        if data.draw(st.integers(0, 3)):
            self._lay_out(data, mc, size, [((DEVICE, d), READWRITE) for d in devices])

    def _replica(self, data: st.DataObject, mc: int, device: int, wish: MemoryWish, room: int) -> None:
        memory = self.make_memory(data, wish)
        place = (
            self._lay_out(data, memory, wish.size, [((DEVICE, device), READWRITE)]) if data.draw(st.booleans()) else 0
        )
        size, parts = min(wish.size, room), [0]
        if size > GRANULE and data.draw(st.booleans()):
            size, parts = GRANULE, data.draw(st.permutations([0, GRANULE]))
        fine = 0
        if self.state.machine.finer_binds and len(parts) == 1 and size > GRANULE and data.draw(st.booleans()):
            size, fine = size - GRANULE, 256 * data.draw(st.integers(1, GRANULE // 256))
        first = self.one_of(data, [0, 0, GRANULE])
        for at, part in zip(range(first, room, GRANULE), parts, strict=False):
            named = device if data.draw(st.booleans()) else None
            by_address = bool(place) and data.draw(st.booleans())
            mem, offset = (place + part + fine, 0) if by_address else (memory, part + fine)
            self.make_bind(data, BindWish(mc, at, mem, offset, size, dev=named, by_address=by_address))

    def _lay_out(self, data: st.DataObject, handle: int, size: int, grants: list) -> int:
        """Reserve, map and give access; answer where."""
        place = self.make_reservation(data, size + self.granules(data, 0, 2), 0, 0, 0)
        self.make_mapping(data, MapWish(place, size, 0, handle))
        self.give_access(data, place, size, grants)
        return place
