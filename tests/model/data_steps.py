"""Steps that move data: copies through one device's mapping, multimem through all replicas."""

from __future__ import annotations

from typing import Any

import expect_data as expect
import hypothesis.strategies as st
import numpy as np
from cuda.bindings._v2 import driver
from hypothesis.stateful import precondition, rule
from model_state import DEVICE, GRANULE, Mapping, Multicast
from steps_common import Steps

from cumulticast import multimem

BYTES = 4096
ELEMENTS = ["uint32", "int32", "uint64"]


class DataSteps(Steps):
    def _place(self, data: st.DataObject, mapping: Mapping, size: int) -> int:
        """Draw a place inside, across a granule's border, or beyond the end; aligned to 16 bytes."""
        borders = range(0, mapping.size + 1, GRANULE)
        near = self.one_of(data, borders) + data.draw(st.integers(-size // 16, size // 16)) * 16
        inside = data.draw(st.integers(0, (mapping.size - size) // 16)) * 16
        return mapping.base + (max(0, near) if not data.draw(st.integers(0, 3)) else inside)

    def _array(self, data: st.DataObject, size: int) -> np.ndarray:
        return np.random.default_rng(data.draw(st.integers(0, 1 << 32))).integers(0, 256, size, np.uint8)

    @precondition(Steps.has_mappings)
    @rule(data=st.data(), size=st.sampled_from([0, 16, 1024, BYTES]), upload=st.booleans())
    def copy(self, data: st.DataObject, size: int, upload: bool) -> None:
        mapping = self.one_of(data, self.state.mappings)
        ptr, host, api = self._place(data, mapping, size), self._array(data, size), self.bindings(data)
        device = self.one_of(data, [d for kind, d in mapping.access if kind == DEVICE] * 3 + [self.device(data)])
        driver.ctx_set_current(self.contexts[device])
        spans = expect.copy_spans(self.state, ptr, size, device, write=upload)
        problems = {1} if spans is None else set()
        if upload:
            names = "cuMemcpyHtoD", "memcpy_htod_v2"
            ok, _ = self.attempt(problems, lambda: api.call(*names, ptr, host.ctypes.data, size))
            if ok and spans:
                expect.write(spans, host)
            return
        names, before = ("cuMemcpyDtoH", "memcpy_dtoh_v2"), host.copy()
        ok, _ = self.attempt(problems, lambda: api.call(*names, host.ctypes.data, ptr, size))
        if ok and spans:
            contents, known = expect.read(spans)
            assert (host == contents)[known].all(), "read other bytes than were written"
        else:
            assert (host == before).all(), "a refused copy wrote"

    # ---- multimem

    def _multimem(self, data: st.DataObject, *, write: bool) -> tuple[int, Any] | None:
        mapped = [m for m in self.state.mappings if isinstance(m.handle.thing, Multicast)]
        if not data.draw(st.integers(0, 9)):
            mapped = self.state.mappings
        ptr = self._place(data, self.one_of(data, mapped), BYTES)
        found = expect.replicas(self.state, ptr, BYTES, write=write)
        return None if found is not None and expect.aliased(found) else (ptr, found)

    @precondition(Steps.has_mapped_objects)
    @rule(data=st.data())
    def store(self, data: st.DataObject) -> None:
        place = self._multimem(data, write=True)
        if place is None:
            return
        ptr, found = place
        array = self._array(data, BYTES)
        if self._refused(found, lambda: multimem.store(ptr, array)):
            return
        for row in found:
            expect.write(row, array)

    @precondition(Steps.has_mapped_objects)
    @rule(data=st.data(), dtype=st.sampled_from(ELEMENTS), op=st.sampled_from(sorted(expect.COMBINE)))
    def load_reduce(self, data: st.DataObject, dtype: str, op: str) -> None:
        place = self._multimem(data, write=False)
        if place is None:
            return
        ptr, found = place
        got: list[np.ndarray] = []
        count = BYTES // np.dtype(dtype).itemsize
        if self._refused(found, lambda: got.append(multimem.load_reduce(ptr, count, dtype, op))):
            return
        expected, known = expect.combined(found, dtype, op)
        assert (got[0] == expected)[known].all(), "load_reduce combined other values"

    @precondition(Steps.has_mapped_objects)
    @rule(data=st.data(), dtype=st.sampled_from(ELEMENTS), op=st.sampled_from(sorted(expect.COMBINE)))
    def reduce(self, data: st.DataObject, dtype: str, op: str) -> None:
        place = self._multimem(data, write=True)
        if place is None:
            return
        ptr, found = place
        array = self._array(data, BYTES).view(dtype)
        if self._refused(found, lambda: multimem.reduce(ptr, array, op)):
            return
        expect.reduce(found, array, op)

    def _refused(self, found: Any, call: Any) -> bool:
        """Call; answer whether it refused, which must be exactly when there are no replicas."""
        try:
            call()
        except ValueError:
            assert found is None, "refused what lies in bound memory with access"
            return True
        assert found is not None, "went through though the range is not bound or not accessible"
        return False
