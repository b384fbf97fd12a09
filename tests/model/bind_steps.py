"""Steps that bind and unbind."""

from __future__ import annotations

from dataclasses import replace

import expect_binds as expect
import hypothesis.strategies as st
import needs
from model_state import GRANULE, Memory, Multicast
from steps_common import Steps, step

TWISTS = {
    "size 0": lambda w: {"size": 0},
    "size off": lambda w: {"size": w.size - 4096},
    "a granule more": lambda w: {"size": w.size + GRANULE},
    "mc_offset off": lambda w: {"mc_offset": w.mc_offset + 4096},
    "one granule on": lambda w: {"mc_offset": w.mc_offset + GRANULE},
    "far out": lambda w: {"mc_offset": 1 << 40},
    "memory off by a page": lambda w: {"mem": w.mem + 4096} if w.by_address else {"mem_offset": w.mem_offset + 4096},
    "memory off by 256": lambda w: {"mem": w.mem + 256} if w.by_address else {"mem_offset": w.mem_offset + 256},
    "memory off by 16": lambda w: {"mem": w.mem + 16} if w.by_address else {"mem_offset": w.mem_offset + 16},
    "flags": lambda w: {"flags": 1},
    "negative device": lambda w: {"dev": None if w.dev is None else -1},
    "no such device": lambda w: {"dev": None if w.dev is None else 99},
}


class BindSteps(Steps):
    @step(needs.objects)
    def bind_handle(self, data: st.DataObject) -> None:
        self.bind_some(data)

    def bind_some(self, data: st.DataObject) -> None:
        value = self.handle(data, Memory)
        handle = self.known(value)
        memory = handle.thing if handle is not None and isinstance(handle.thing, Memory) else None
        self._bind(data, value, memory, by_address=False)

    @step(needs.objects, needs.mappings)
    def bind_address(self, data: st.DataObject) -> None:
        mapping = self.one_of(data, self.state.mappings)
        self._bind(data, mapping.base, mapping.memory, by_address=True)

    def _bind(self, data: st.DataObject, mem: int, memory: Memory | None, *, by_address: bool) -> None:
        mc, dev = self._target(data, memory), None
        if data.draw(st.booleans()):
            owner = None if memory is None else self.state.ordinal(memory.device)
            dev = self.device(data) if owner is None or not data.draw(st.integers(0, 7)) else owner
        handle = self.known(mc)
        room = handle.thing.size if handle is not None else GRANULE
        size = self.granules(data, 1, max(1, min(room, GRANULE if memory is None else memory.size) // GRANULE))
        mc_offset = self.granules(data, 0, max(0, (room - size) // GRANULE))
        at = self.granules(data, 0, 1) if memory is not None and memory.size > size else 0
        wish = expect.BindWish(mc, mc_offset, mem, at, size, dev=dev, by_address=by_address)
        if by_address:
            wish = replace(wish, mem=mem + at, mem_offset=0)
        twist = self.twist(data, *TWISTS)
        self.make_bind(data, replace(wish, **TWISTS[twist](wish)) if twist else wish)

    def make_bind(self, data: st.DataObject, wish: expect.BindWish) -> None:
        api = self.bindings(data)
        ok, _ = self.attempt(expect.bind(self.state, wish), lambda: api.bind(wish))
        if ok:
            expect.bound(self.state, wish)

    def _target(self, data: st.DataObject, memory: Memory | None) -> int:
        """Draw an object, mostly one whose team is complete and has the memory's device."""
        fitting = [
            h.value
            for h in self.state.handles.values()
            if h.references and isinstance(h.thing, Multicast) and h.thing.complete
            if memory is not None and memory.device in (None, *h.thing.team)
        ]
        return self.one_of(data, fitting) if fitting and data.draw(st.integers(0, 7)) else self.handle(data, Multicast)

    @step(needs.objects)
    def unbind(self, data: st.DataObject) -> None:
        self.unbind_some(data)

    def unbind_some(self, data: st.DataObject) -> None:
        mc = self.handle(data, Multicast)
        handle = self.known(mc)
        thing = handle.thing if handle is not None and isinstance(handle.thing, Multicast) else None
        binds = [] if thing is None else [*thing.binds, *thing.vanished, *thing.former]
        binds = [b for b in binds if self.state.ordinal(b.device) is not None]
        dev, mc_offset, size = self.device(data), 0, GRANULE
        if binds:
            bind = self.one_of(data, binds)
            dev, mc_offset, size = self.state.ordinal(bind.device), bind.mc_offset, bind.size
        match self.twist(data, "a granule on", "a granule more", "another device", "off", "no device", "size 0"):
            case "a granule on":
                mc_offset += GRANULE
            case "a granule more":
                size += GRANULE
            case "another device":
                dev = self.device(data)
            case "off":
                mc_offset += 4096
            case "no device":
                dev = -1
            case "size 0":
                size = 0
        self.make_unbind(data, mc, dev, mc_offset, size)

    def make_unbind(self, data: st.DataObject, mc: int, dev: int, mc_offset: int, size: int) -> None:
        names, api = ("cuMulticastUnbind", "multicast_unbind"), self.bindings(data)
        problems = expect.unbind(self.state, mc, dev, mc_offset, size)
        ok, _ = self.attempt(problems, lambda: api.call(*names, mc, dev, mc_offset, size))
        if ok:
            expect.unbound(self.state, mc, dev, mc_offset)
