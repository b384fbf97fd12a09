"""Steps that make, share, ask about and release memory and multicast objects."""

from __future__ import annotations

from dataclasses import replace

import expect_memory as expect
import hypothesis.strategies as st
import needs
from both_bindings import Bindings
from model_state import DEVICE, FABRIC, GRANULE, HOST, HOST_NUMA, POSIX, Memory, Multicast, Thing
from steps_common import Steps, step

TYPES = st.sampled_from([0, POSIX, FABRIC, POSIX | FABRIC])
MEMORY_TWISTS = {
    "size 0": {"size": 0},
    "size off the granularity": {"size": GRANULE + 4096},
    "no such device": {"location": (DEVICE, 99)},
    "negative device": {"location": (DEVICE, -1)},
    "no such node": {"location": (HOST_NUMA, 7)},
    "no location": {"location": (0, 0)},
    "current node": {"location": (4, 0)},
    "flags": {"flags": 1},
    "no type": {"kind": 0},
    "managed": {"kind": 2},
    "windows": {"handle_types": 2},
}
OBJECT_TWISTS = {
    "size 0": {"size": 0},
    "size off the granularity": {"size": GRANULE + 4096},
    "no devices": {"num_devices": 0},
    "all ones": {"num_devices": 0xFFFF_FFFF},
    "flags": {"flags": 1},
    "windows": {"handle_types": 2},
}


class MemorySteps(Steps):
    @step(types=TYPES)
    def create_memory(self, data: st.DataObject, types: int) -> None:
        device, node = self.device(data), data.draw(st.sampled_from(self.state.machine.nearest_node))
        location = self.one_of(data, [(DEVICE, device)] * 6 + [(HOST_NUMA, node), (HOST, 5)])
        wish = expect.MemoryWish(self.granules(data, 1, 3), location, 0 if location[0] == HOST else types)
        self.make_memory(data, replace(wish, **MEMORY_TWISTS.get(self.twist(data, *MEMORY_TWISTS), {})))

    def make_memory(self, data: st.DataObject, wish: expect.MemoryWish) -> int | None:
        api = self.bindings(data)
        ok, value = self.attempt(expect.create_memory(self.state, wish), lambda: api.mem_create(wish))
        if ok:
            self.entered(expect.created_memory(self.state, wish, int(value)))
        return int(value) if ok else None

    @step(types=TYPES)
    def create_multicast(self, data: st.DataObject, types: int) -> None:
        number = self.one_of(data, [1, 2, 2, 3, self.state.machine.devices, self.state.machine.devices + 1])
        wish = expect.ObjectWish(self.granules(data, 1, 4), number, types)
        self.make_object(data, replace(wish, **OBJECT_TWISTS.get(self.twist(data, *OBJECT_TWISTS), {})))

    def make_object(self, data: st.DataObject, wish: expect.ObjectWish) -> int | None:
        api = self.bindings(data)
        ok, value = self.attempt(expect.create_multicast(self.state, wish), lambda: api.multicast_create(wish))
        if ok:
            self.entered(expect.created_multicast(self.state, wish, int(value)))
        return int(value) if ok else None

    @step(needs.objects)
    def add_device(self, data: st.DataObject) -> None:
        self.add_some(data)

    def add_some(self, data: st.DataObject) -> None:
        value = self.handle(data, Multicast)
        device = self.one_of(data, [*range(self.state.machine.devices), -1, self.state.machine.devices])
        self.add(data, value, device)

    @step(needs.objects)
    def complete_team(self, data: st.DataObject) -> None:
        """Most programs add all devices; so most objects here get a complete team."""
        value = self.handle(data, Multicast)
        handle = self.known(value)
        if handle is None or not isinstance(handle.thing, Multicast):
            return
        team, here = handle.thing.team, range(self.state.machine.devices)
        for device in [d for d in here if self.state.index(d) not in team][: handle.thing.num_devices - len(team)]:
            self.add(data, value, device)

    def add(self, data: st.DataObject, value: int, device: int) -> None:
        names = "cuMulticastAddDevice", "multicast_add_device"
        problems = expect.add_device(self.state, value, device)
        ok, _ = self.attempt(problems, lambda: self.bindings(data).call(*names, value, device))
        if ok:
            expect.added(self.state, value, device)

    @step(needs.handles)
    def release(self, data: st.DataObject) -> None:
        self.let_go(data, self.handle(data, Memory, Multicast))

    def let_go(self, data: st.DataObject, value: int) -> None:
        api, problems = self.bindings(data), expect.release(self.state, value)
        ok, _ = self.attempt(problems, lambda: api.call("cuMemRelease", "mem_release", value))
        if ok:
            expect.released(self.state, value)

    @step(needs.mappings)
    def retain(self, data: st.DataObject) -> None:
        mapping = self.one_of(data, [*self.state.mappings, None])
        inside = data.draw(st.integers(-1, GRANULE))
        address = 0x1000 if mapping is None else mapping.base + inside
        names = "cuMemRetainAllocationHandle", "mem_retain_allocation_handle"
        ok, value = self.attempt(expect.retain(self.state, address), lambda: self.bindings(data).call(*names, address))
        if ok:
            handle = self.state.mapping_at(address).handle
            assert int(value) == handle.value, "retain answers the value that was mapped"
            handle.references += 1

    # ---- sharing

    @step(needs.handles)
    def export(self, data: st.DataObject) -> None:
        value = self.handle(data, Memory, Multicast)
        handle_type = self.one_of(data, [POSIX] * 4 + [FABRIC] * 4 + [2, 4])
        self.share(data, value, handle_type, int(self.twist(data, "flags") is not None))

    def share(self, data: st.DataObject, value: int, handle_type: int, flags: int = 0) -> int | bytes | None:
        api, problems = self.bindings(data), expect.export(self.state, value, handle_type, flags)
        ok, shared = self.attempt(problems, lambda: api.export(value, handle_type, flags))
        if ok and handle_type == POSIX:
            expect.exported(self.state, value, shared)
        elif ok:
            self.world.fabric.append((shared, self.state.handles[value].thing))
        return shared if ok else None

    @step(needs.descriptors)
    def close_descriptor(self, data: st.DataObject) -> None:
        descriptor = self.one_of(data, self.state.descriptors)
        self.bindings(data).close(descriptor)
        expect.closed(self.state, descriptor)

    @step(needs.descriptors)
    def import_descriptor(self, data: st.DataObject) -> None:
        descriptor = self.one_of(data, self.state.descriptors)
        self.take_descriptor(data, descriptor, self.one_of(data, [POSIX] * 6 + [0, 2, 4]))

    def take_descriptor(self, data: st.DataObject, descriptor: int, handle_type: int = POSIX) -> int | None:
        api, problems = self.bindings(data), expect.import_descriptor(self.state, descriptor, handle_type)
        ok, value = self.attempt(problems, lambda: api.import_descriptor(descriptor, handle_type))
        if ok:
            expect.imported(self.state, self.state.descriptors[descriptor], int(value))
        return int(value) if ok else None

    @step(needs.fabric)
    def import_fabric(self, data: st.DataObject) -> None:
        self.take_fabric(data, *self.one_of(data, self.world.fabric))

    def take_fabric(self, data: st.DataObject, shared: bytes, thing: Thing) -> int | None:
        api, problems = self.bindings(data), expect.import_fabric(self.state, thing)
        ok, value = self.attempt(problems, lambda: api.import_fabric(shared))
        if ok:
            thing = thing if self.world.lives(thing) else expect.renewed(self.state, thing)
            expect.imported(self.state, thing, int(value))
        return int(value) if ok else None

    # ---- asking

    @step(needs.handles)
    def properties(self, data: st.DataObject) -> None:
        value, api = self.handle(data, Memory, Multicast), self.bindings(data)
        ok, found = self.attempt(expect.properties(self.state, value), lambda: api.properties(value))
        handle = self.known(value)
        if ok and isinstance(handle.thing, Memory):
            kind, types, *location = (int.from_bytes(found[at : at + 4], "little") for at in (0, 4, 8, 12))
            expected = handle.thing.location
            assert kind == 1 and types == (0 if handle.imported else handle.thing.handle_types)
            assert location[0] == expected[0] and (expected[0] == HOST or location[1] == expected[1])

    @step()
    def what_no_object_changes(self, data: st.DataObject) -> None:
        step = self.one_of(data, [self._granularity, self._import_nonsense])
        step(data, self.bindings(data))

    def _granularity(self, data: st.DataObject, api: Bindings) -> None:
        option = self.one_of(data, [0, 1, 2, -1])
        size = self.granules(data, 0, 600)
        problems = set() if option in (0, 1) else {1}
        wish = expect.ObjectWish(size, 2)
        ok, value = self.attempt(problems, lambda: api.multicast_granularity(wish, option))
        large = option == 1 and size >= 512 << 20
        assert not ok or int(value) == (512 << 20 if large else GRANULE)
        location = DEVICE, self.device(data)
        ok, value = self.attempt(problems, lambda: api.memory_granularity(location, option))
        assert not ok or int(value) == GRANULE

    def _import_nonsense(self, data: st.DataObject, api: Bindings) -> None:
        descriptor = self.one_of(data, [None, 0xFFFF_FFFF, 123456])
        self.attempt({1, 999}, lambda: api.import_foreign(descriptor))
        self.attempt({1, 999}, lambda: api.import_fabric(bytes(64)))
