"""Steps that move data: copies through one device's mapping, multimem through all replicas."""

from __future__ import annotations

from typing import Any

import expect_data as expect
import hypothesis.strategies as st
import needs
import numpy as np
from model_state import DEVICE, GRANULE, Mapping, Multicast
from steps_common import Steps, step

BYTES = 4096
ELEMENTS = ["uint32", "int32", "uint64"]


class DataSteps(Steps):
    def _place(self, data: st.DataObject, mapping: Mapping, size: int) -> int:
        """Draw a place, aligned to 16 bytes: mostly near a granule's beginning, so that many touch what others wrote.

        Sometimes it is anywhere inside, or near the end and perhaps beyond it.
        """
        near = data.draw(st.integers(-size // 16, size // 16)) * 16
        match data.draw(st.integers(0, 7)):
            case 0:
                offset = mapping.size + near
            case 1:
                offset = data.draw(st.integers(0, (mapping.size - size) // 16)) * 16
            case _:
                offset = min(self.one_of(data, range(0, mapping.size, GRANULE)) + near, mapping.size - size)
        return mapping.base + max(0, offset)

    def _array(self, data: st.DataObject, size: int) -> np.ndarray:
        return np.random.default_rng(data.draw(st.integers(0, 1 << 32))).integers(0, 256, size, np.uint8)

    @step(needs.mappings, size=st.sampled_from([0, 16, 1024, BYTES]), upload=st.booleans())
    def copy(self, data: st.DataObject, size: int, upload: bool) -> None:
        mapping = self.one_of(data, self.state.mappings)
        ptr, host, api = self._place(data, mapping, size), self._array(data, size), self.bindings(data)
        device = self.one_of(data, [d for kind, d in mapping.access if kind == DEVICE] * 3 + [self.device(data)])
        spans = expect.copy_spans(self.state, ptr, size, device, write=upload)
        problems = {1} if spans is None else set()
        if upload:
            ok, _ = self.attempt(problems, lambda: api.upload(device, ptr, host))
            if ok and spans:
                expect.write(spans, host)
                self.seen_by_all(spans)
            return
        ok, found = self.attempt(problems, lambda: api.download(device, ptr, host.copy()))
        if ok and spans:
            contents, known = expect.read(spans)
            assert (found == contents)[known].all(), "read other bytes than were written"
        else:
            assert (found == host).all(), "a refused copy wrote"

    # ---- what one wrote, all must see

    def seen_by_all(self, spans: list[expect.Span]) -> None:
        """Read what was written, in each mapping that any process has of it."""
        for state in self.world.processes:
            for memory, at, size in spans:
                for mapping in [m for m in state.mappings if m.memory is memory]:
                    with self.acting(state):
                        self.read_piece(mapping, at, at + size)

    def read_piece(self, mapping: Mapping, at: int, end: int) -> None:
        """Read through a mapping, if a device can; what is not known to have been written may be anything."""
        device = next((n for (kind, n), flags in mapping.access.items() if kind == DEVICE and flags), None)
        if device is not None:
            status, host = self.calls(v2=True).download(device, mapping.base + at, np.empty(end - at, np.uint8))
            assert status == 0, f"a copy by device {device}, which has access, answered {status}"
            known = mapping.memory.known[at:end]
            assert (host == mapping.memory.data[at:end])[known].all(), "read other bytes than were written"

    def combined_by_all(self, ptr: int) -> None:
        """Combine what was written, through each mapping that any process has of the object."""
        written = self.state.mapping_at(ptr)
        for state in self.world.processes:
            for mapping in [m for m in state.mappings if m.handle.thing is written.handle.thing]:
                place = mapping.base + ptr - written.base
                found = expect.replicas(state, place, BYTES, write=False)
                if found is not None:
                    with self.acting(state):
                        self._combine(found, self.calls(v2=True), place, "uint32", "add")

    def _combine(self, found: Any, api: Any, ptr: int, dtype: str, op: str) -> None:
        count = BYTES // np.dtype(dtype).itemsize
        ok, got = self.attempt(self._problems(found), lambda: api.load_reduce(ptr, count, dtype, op))
        if ok:
            expected, known = expect.combined(found, dtype, op)
            assert (got == expected)[known].all(), "load_reduce combined other values"

    # ---- multimem

    def _multimem(self, data: st.DataObject, *, write: bool) -> tuple[int, Any] | None:
        mapped = [m for m in self.state.mappings if isinstance(m.handle.thing, Multicast)]
        match data.draw(st.integers(0, 9)):
            case 0:
                mapped = self.state.mappings
            case 1 | 2 | 3 | 4 | 5 | 6:
                mapped = [m for m in mapped if expect.replicas(self.state, m.base, BYTES, write=write)] or mapped
        ptr = self._place(data, self.one_of(data, mapped), BYTES)
        return self.at(ptr, write=write)

    def at(self, ptr: int, *, write: bool) -> tuple[int, Any] | None:
        """Answer a place with the replicas that lie there; None when they overlap, since order would show then."""
        found = expect.replicas(self.state, ptr, BYTES, write=write)
        return None if found is not None and expect.aliased(found) else (ptr, found)

    @step(needs.mapped_objects)
    def store(self, data: st.DataObject) -> None:
        place = self._multimem(data, write=True)
        if place is not None:
            self.store_at(data, *place)

    def store_at(self, data: st.DataObject, ptr: int, found: Any) -> None:
        array, api = self._array(data, BYTES), self.bindings(data)
        ok, _ = self.attempt(self._problems(found), lambda: api.store(ptr, array))
        for row in found if ok else ():
            expect.write(row, array)
            self.seen_by_all(row)
        if ok:
            self.combined_by_all(ptr)

    @step(needs.mapped_objects, dtype=st.sampled_from(ELEMENTS), op=st.sampled_from(sorted(expect.COMBINE)))
    def load_reduce(self, data: st.DataObject, dtype: str, op: str) -> None:
        place = self._multimem(data, write=False)
        if place is None:
            return
        ptr, found = place
        self._combine(found, self.bindings(data), ptr, dtype, op)

    @step(needs.mapped_objects, dtype=st.sampled_from(ELEMENTS), op=st.sampled_from(sorted(expect.COMBINE)))
    def reduce(self, data: st.DataObject, dtype: str, op: str) -> None:
        place = self._multimem(data, write=True)
        if place is None:
            return
        (ptr, found), array, api = place, self._array(data, BYTES).view(dtype), self.bindings(data)
        ok, _ = self.attempt(self._problems(found), lambda: api.reduce(ptr, array, op))
        if ok:
            expect.reduce(found, array, op)
            self.combined_by_all(ptr)

    def _problems(self, found: Any) -> set[int]:
        """Refused is what has no replicas, and nothing else."""
        return {1} if found is None else set()
