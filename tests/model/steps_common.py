"""What all steps share: the machine under test, drawing, and one call held to what the model says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar

import hypothesis.strategies as st
from both_bindings import Answer, Bindings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from model_state import GRANULE, MACHINES, Handle, Memory, Multicast, State, Thing
from model_world import World
from world_check import Books

GARBAGE = (0, 1, 0x10, 0xDEAD_BEEF_0000, (1 << 64) - 1)
BLOCK_LIMIT = 0.05  # seconds after which a call that waits for a team answers 909
Need = Callable[[State], bool]


def step(*needs: Need, first: bool = False, **drawn: st.SearchStrategy[Any]) -> Callable[..., Any]:
    """Make a method a step, carried out by a process that has what it needs; which one is drawn before all else."""

    def decorate(method: Callable[..., None]) -> Any:
        @wraps(method)
        def carried_out(self: Steps, data: st.DataObject, **values: Any) -> None:
            self.act(data, needs)
            method(self, data, **values)

        if first:
            return initialize(data=st.data(), **drawn)(carried_out)
        return precondition(lambda self: bool(self.able(needs)))(rule(data=st.data(), **drawn)(carried_out))

    return decorate


class Steps(RuleBasedStateMachine):
    """A fresh simulated machine with a context on each device; subclasses add the calls, and who makes them."""

    machine_name: ClassVar[str]
    profile: ClassVar[Any]
    nodes: ClassVar[int] = 1
    taken: ClassVar[int] = 0  # steps so far, of all examples
    books: Books

    def __init__(self) -> None:
        super().__init__()
        self.world = World(replace(MACHINES[self.machine_name], nodes=self.nodes), self.profile == "strict")
        self.start()
        self.state = self.world.processes[0]

    # ---- who acts

    def start(self) -> None:
        """Start the machine and its processes, open its books."""
        raise NotImplementedError

    def calls(self, *, v2: bool) -> Bindings:
        """Answer the calls as the process that acts makes them."""
        raise NotImplementedError

    def able(self, needs: tuple[Need, ...]) -> list[State]:
        return [state for state in self.world.processes if all(need(state) for need in needs)]

    def act(self, data: st.DataObject, needs: tuple[Need, ...] = ()) -> None:
        type(self).taken += 1
        self.state = self.some_process(data, self.able(needs))

    def some_process(self, data: st.DataObject, able: list[State]) -> State:
        if len(self.world.processes) == 1:
            return able[0]
        rank = data.draw(st.sampled_from([state.rank for state in able]), label="rank")
        return next(state for state in able if state.rank == rank)

    @contextmanager
    def acting(self, state: State) -> Iterator[None]:
        """Let another process act for a while."""
        before, self.state = self.state, state
        try:
            yield
        finally:
            self.state = before

    # ---- drawing

    def one_of(self, data: st.DataObject, values: Iterable[Any]) -> Any:
        return data.draw(st.sampled_from(list(values)))

    def twist(self, data: st.DataObject, *names: str) -> str | None:
        """Draw what is to be wrong; mostly nothing."""
        return self.one_of(data, [None] * (2 * len(names) + 2) + list(names))

    def bindings(self, data: st.DataObject) -> Bindings:
        return self.calls(v2=data.draw(st.booleans()))

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

    # ---- one call

    def attempt(self, problems: set[int], call: Callable[[], Answer]) -> tuple[bool, Any]:
        """Make a call and hold its status to the model: success, or one of `problems`; a refusal changes nothing."""
        before = self.books.everything() if problems else None
        status, value = call()
        assert status in (problems or {0}), f"answered {status}, legal is {sorted(problems) or 'success'}"
        if status:
            assert self.books.everything() == before, f"the call answered {status} and yet changed something"
        return status == 0, value

    def entered(self, thing: Thing) -> None:
        """Note under which number the books have what the process that acts has just made."""
        table = "allocation" if isinstance(thing, Memory) else "multicast"
        thing.id = self.books.newest(table, self.state.number)
