"""Steps that reserve, map, give access, unmap and free."""

from __future__ import annotations

import expect_addresses as expect
import hypothesis.strategies as st
import needs
from model_state import DEVICE, GRANULE, HOST, READWRITE, Memory, Multicast
from steps_common import Steps, step

Grant = tuple[tuple[int, int], int]


class AddressSteps(Steps):
    @step()
    def reserve(self, data: st.DataObject) -> None:
        size, alignment = self.granules(data, 1, 8), self.one_of(data, [0, 0, GRANULE, 8 * GRANULE])
        addr, flags = 0, 0
        match self.twist(data, "size 0", "off the page", "off the granularity", "alignment", "hint", "flags"):
            case "size 0":
                size = 0
            case "off the page":
                size += 100
            case "off the granularity":
                size += 64 << 10
            case "alignment":
                alignment = 3 * GRANULE
            case "hint":
                addr = 0x7000_0000_1000
            case "flags":
                flags = 1
        self.make_reservation(data, size, alignment, addr, flags)

    def make_reservation(self, data: st.DataObject, size: int, alignment: int, addr: int, flags: int) -> int | None:
        names, api = ("cuMemAddressReserve", "mem_address_reserve"), self.bindings(data)
        problems = expect.reserve(self.state, size, alignment, addr, flags)
        ok, base = self.attempt(problems, lambda: api.call(*names, size, alignment, addr, flags))
        if ok:
            expect.reserved(self.state, int(base), size, alignment)
        return int(base) if ok else None

    @step(needs.reservations)
    def free(self, data: st.DataObject) -> None:
        found = self.one_of(data, self.state.reservations)
        ptr, size = found.base, found.size
        match self.twist(data, "inside", "too small", "too large", "null"):
            case "inside":
                ptr += GRANULE
            case "too small":
                size -= GRANULE
            case "too large":
                size += GRANULE
            case "null":
                ptr = 0
        problems = expect.free(self.state, ptr, size)
        api = self.bindings(data)
        ok, _ = self.attempt(problems, lambda: api.call("cuMemAddressFree", "mem_address_free", ptr, size))
        if ok:
            expect.freed(self.state, ptr)

    @step(needs.reservations)
    def map(self, data: st.DataObject) -> None:
        value = self.handle(data, Memory, Multicast)
        handle = self.known(value)
        size = GRANULE if handle is None else handle.thing.size
        place = self.one_of(data, self.state.reservations)
        ptr, offset, flags = place.base + self.granules(data, 0, max(0, (place.size - size) // GRANULE)), 0, 0
        match self.twist(data, "a granule more", "a granule less", "off", "offset", "flags", "past the end", "nowhere"):
            case "a granule more":
                size += GRANULE
            case "a granule less":
                size -= GRANULE
            case "off":
                ptr += 4096
            case "offset":
                offset = GRANULE
            case "flags":
                flags = 1
            case "past the end":
                ptr = place.base + place.size - GRANULE
            case "nowhere":
                ptr = 0x1000
        self.make_mapping(data, expect.MapWish(ptr, size, offset, value, flags))

    def make_mapping(self, data: st.DataObject, wish: expect.MapWish) -> None:
        api = self.bindings(data)
        ok, _ = self.attempt(expect.map_range(self.state, wish), lambda: api.map(wish))
        if ok:
            expect.mapped(self.state, wish)

    @step(needs.mappings)
    def unmap(self, data: st.DataObject) -> None:
        found = self.one_of(data, self.state.mappings)
        self.unmap_range(data, *self._near(data, found.base, found.size))

    def unmap_range(self, data: st.DataObject, ptr: int, size: int) -> None:
        api, problems = self.bindings(data), expect.unmap(self.state, ptr, size)
        ok, _ = self.attempt(problems, lambda: api.call("cuMemUnmap", "mem_unmap", ptr, size))
        if ok:
            expect.unmapped(self.state, ptr, size)

    def _near(self, data: st.DataObject, ptr: int, size: int) -> tuple[int, int]:
        """Answer a mapping's range, or one that differs by a granule."""
        match self.twist(data, "a granule more", "a granule less", "from inside", "size 0", "off"):
            case "a granule more":
                return ptr, size + GRANULE
            case "a granule less":
                return ptr, size - GRANULE
            case "from inside":
                return ptr + GRANULE, size
            case "size 0":
                return ptr, 0
            case "off":
                return ptr, size - 4096
        return ptr, size

    # ---- access

    @step(needs.mappings)
    def set_access(self, data: st.DataObject) -> None:
        found = self.one_of(data, self.state.mappings)
        ptr, size = self._near(data, found.base, found.size)
        devices = data.draw(st.lists(st.integers(0, self.state.machine.devices - 1), min_size=1, unique=True))
        grants = [((DEVICE, d), self.one_of(data, [3, 3, 3, 1, 0])) for d in devices]
        match self.twist(data, "no device", "negative device", "write only", "nobody", "host", "no location"):
            case "no device":
                grants[-1] = (DEVICE, self.state.machine.devices), 3
            case "negative device":
                grants[-1] = (DEVICE, -1), 3
            case "write only":
                grants[-1] = grants[-1][0], 2
            case "nobody":
                grants = []
            case "host":
                grants[-1] = (HOST, 0), 3
            case "no location":
                grants[-1] = (0, 0), 3
        self.give_access(data, ptr, size, grants)

    def give_access(self, data: st.DataObject, ptr: int, size: int, grants: list[Grant]) -> None:
        api, problems = self.bindings(data), expect.set_access(self.state, ptr, size, grants)
        ok, _ = self.attempt(problems, lambda: api.mem_set_access(ptr, size, grants))
        if ok:
            expect.granted(self.state, ptr, size, grants)

    @step()
    def get_access(self, data: st.DataObject) -> None:
        mapping = self.one_of(data, [*self.state.mappings, None])
        ptr = 0x1000 if mapping is None else mapping.base + data.draw(st.integers(-1, GRANULE))
        devices = [(DEVICE, d) for d in range(self.state.machine.devices)]
        location = self.one_of(data, [*devices, (HOST, 0), (DEVICE, 99), (DEVICE, -1)])
        api = self.bindings(data)
        ok, flags = self.attempt(
            expect.get_access(self.state, location, ptr), lambda: api.mem_get_access(location, ptr)
        )
        if ok:
            granted = self.state.mapping_at(ptr).access.get(location, 0)
            granted = READWRITE if location[0] == HOST else granted  # recorded, of device memory too
            assert int(flags) == granted, f"location {location} has access {int(flags)}, was granted {granted}"
