"""What all steps share: the machine under test, drawing, and one call held to what the model says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import hypothesis.strategies as st
from both_bindings import Answer, Bindings
from cuda.bindings._v2 import driver
from hypothesis.stateful import RuleBasedStateMachine
from model_state import GRANULE, MACHINES, Bind, Handle, Memory, Multicast, State
from world_check import Books

import cumulticast.sim as sim

GARBAGE = (0, 1, 0x10, 0xDEAD_BEEF_0000, (1 << 64) - 1)
BLOCK_LIMIT = 0.05  # seconds after which a call that waits for a team answers 909


class Steps(RuleBasedStateMachine):
    """A fresh simulated machine with a context on each device; subclasses add the calls."""

    machine_name: ClassVar[str]
    profile: ClassVar[Any]

    def __init__(self) -> None:
        super().__init__()
        sim.start(self.machine_name, profile=self.profile, nodes=1, block_limit=BLOCK_LIMIT)
        driver.init(0)
        self.state = State(MACHINES[self.machine_name], self.profile == "strict")
        assert driver.device_get_count() == self.state.machine.devices
        self.contexts = [driver.device_primary_ctx_retain(d) for d in range(self.state.machine.devices)]
        self.free_at_first = [self.free_memory(d) for d in range(self.state.machine.devices)]
        self.books = Books()

    def free_memory(self, device: int) -> int:
        driver.ctx_set_current(self.contexts[device])
        return driver.mem_get_info_v2()[0]

    # ---- drawing

    def one_of(self, data: st.DataObject, values: Iterable[Any]) -> Any:
        return data.draw(st.sampled_from(list(values)))

    def twist(self, data: st.DataObject, *names: str) -> str | None:
        """Draw what is to be wrong; mostly nothing."""
        return self.one_of(data, [None] * (2 * len(names) + 2) + list(names))

    def bindings(self, data: st.DataObject) -> Bindings:
        return Bindings(v2=data.draw(st.booleans()))

    def granules(self, data: st.DataObject, least: int, most: int) -> int:
        return data.draw(st.integers(least, most)) * GRANULE

    def device(self, data: st.DataObject) -> int:
        return data.draw(st.integers(0, self.state.machine.devices - 1))

    def handle(self, data: st.DataObject, *kinds: type[Memory] | type[Multicast]) -> int:
        """Draw a handle of a kind, or sometimes one of another kind, a released one, or a number that never was one."""
        right = [h.value for h in self.state.handles.values() if h.references and isinstance(h.thing, kinds)]
        others = [*GARBAGE[:1], *self.state.handles, *self.state.released[-3:], *GARBAGE]
        if right and data.draw(st.integers(0, 9)):
            return self.one_of(data, right)
        return self.one_of(data, others)

    def known(self, value: int) -> Handle | None:
        return self.state.usable(value)

    # ---- what there is to work on

    def has_objects(self) -> bool:
        return any(isinstance(h.thing, Multicast) for h in self.state.handles.values())

    def has_binds(self) -> bool:
        return any(h.references and self.binds(h) for h in self.state.handles.values())

    def binds(self, handle: Handle) -> list[Bind]:
        return handle.thing.binds if isinstance(handle.thing, Multicast) else []

    def has_handles(self) -> bool:
        return bool(self.state.handles)

    def has_descriptors(self) -> bool:
        return bool(self.state.descriptors)

    def has_reservations(self) -> bool:
        return bool(self.state.reservations)

    def has_mappings(self) -> bool:
        return bool(self.state.mappings)

    def has_mapped_objects(self) -> bool:
        return any(isinstance(m.handle.thing, Multicast) for m in self.state.mappings)

    # ---- one call

    def attempt(self, problems: set[int], call: Callable[[], Answer]) -> tuple[bool, Any]:
        """Make a call and hold its status to the model: success, or one of `problems`; a refusal changes nothing."""
        before = self.books.everything() if problems else None
        status, value = call()
        assert status in (problems or {0}), f"answered {status}, legal is {sorted(problems) or 'success'}"
        if status:
            assert self.books.everything() == before, f"the call answered {status} and yet changed something"
        return status == 0, value
