"""Steps in which several ranks make a team: one after the other, or while some of them wait already."""

from __future__ import annotations

from dataclasses import dataclass

import expect_addresses
import expect_binds
import expect_data
import hypothesis.strategies as st
import rank_part as part
from data_steps import DataSteps
from expect_addresses import MapWish
from expect_binds import BindWish
from expect_memory import MemoryWish, ObjectWish
from mail_steps import MailSteps
from memory_steps import TYPES
from model_state import DEVICE, GRANULE, READWRITE, State
from steps_common import BLOCK_LIMIT, step

SHAREABLE = TYPES.filter(bool)
PATIENCE = 15.0  # seconds; a rank that waits for a team that comes
ENOUGH = 12  # mappings of a process


@dataclass(frozen=True)
class Member:
    """A process, the handle it has of the team's object, and its devices in it, by ordinal."""

    state: State
    mc: int
    devices: list[int]


class TeamSteps(MailSteps, DataSteps):
    @step(types=SHAREABLE)
    def team_of_ranks(self, data: st.DataObject, types: int) -> None:
        """Each adds devices of its own; when all are there, all bind and map."""
        for_all = self._team(data, types)
        for member in for_all:
            self._add_all(data, member)
        for member in for_all:
            with self.acting(member.state):
                self._bind_and_map(data, member, types)
        self._use(data, for_all)

    @step(types=SHAREABLE)
    def wait_for_team(self, data: st.DataObject, types: int) -> None:
        """All but one add their devices and then bind or map at once; they wait until the last one has added its."""
        *waiters, last = self._team(data, types)
        for member in waiters:
            self._add_all(data, member)
        waiting = [(member, self._begin_waiting(data, member, types)) for member in waiters]
        with self.acting(last.state):
            for device in last.devices:
                for member, _ in waiting:
                    assert not self.pool[member.state.rank].done(), "went on before the team was complete"
                self.add(data, last.mc, device)
        for member, wish in waiting:
            with self.acting(member.state):
                self._end_waiting(wish)

    # ---- who is in it

    def _team(self, data: st.DataObject, types: int) -> list[Member]:
        """Make an object that two or more ranks share; it has no devices yet."""
        reached = [s for s in self.reached(types) if len(s.mappings) < ENOUGH]
        states = [self.state, *data.draw(st.permutations(reached))[: data.draw(st.integers(1, 3))]]
        devices = self._devices(data, states)
        mc = self.make_object(data, ObjectWish(self.granules(data, 2, 4), sum(map(len, devices)), types))
        handles = [mc, *(self.hand_on(data, mc, state) for state in states[1:])]
        return [Member(*facts) for facts in zip(states, handles, devices, strict=True)]

    def _devices(self, data: st.DataObject, states: list[State]) -> list[list[int]]:
        """Draw one or two devices for each process; all are different."""
        found: list[list[int]] = []
        for state in states:
            taken = {s.index(d) for s, own in zip(states, found, strict=False) for d in own}
            free = [d for d in range(state.machine.devices) if state.index(d) not in taken]
            found.append(data.draw(st.permutations(free))[: data.draw(st.integers(1, 2))])
        return found

    def _add_all(self, data: st.DataObject, member: Member) -> None:
        with self.acting(member.state):
            for device in member.devices:
                self.add(data, member.mc, device)

    def _bind_and_map(self, data: st.DataObject, member: Member, types: int) -> None:
        size = self.state.handles[member.mc].thing.size
        for device in member.devices:
            wish = MemoryWish(self.granules(data, 1, 3), (DEVICE, device), types)
            self._replica(data, member.mc, device, wish, size)
        if data.draw(st.integers(0, 3)):
            self._lay_out(data, member.mc, size, [((DEVICE, d), READWRITE) for d in member.devices])

    def _use(self, data: st.DataObject, members: list[Member]) -> None:
        """Let one who has mapped the object write to all replicas; everybody looks then."""
        made = self.state.handles[members[0].mc].thing
        able = [m.state for m in members if any(p.handle.thing is made for p in m.state.mappings)]
        if able:
            with self.acting(self.some_process(data, able)):
                mapping = next(p for p in self.state.mappings if p.handle.thing is made)
                granules = range(mapping.base, mapping.end, GRANULE)
                bound = [at for at in granules if expect_data.replicas(self.state, at, GRANULE, write=True)]
                place = self.at(self.one_of(data, bound or granules), write=True)
                if place is not None:
                    self.store_at(data, *place)

    # ---- waiting

    def _begin_waiting(self, data: st.DataObject, member: Member, types: int) -> BindWish | MapWish:
        """Let a rank begin a bind or a map that waits."""
        with self.acting(member.state):
            wish = self._wish(data, member, types)
        rank, v2 = self.pool[member.state.rank], data.draw(st.booleans())
        rank(part.wait_at_most, PATIENCE)
        rank.begin(part.call, v2, "bind" if isinstance(wish, BindWish) else "map", wish)
        return wish

    def _wish(self, data: st.DataObject, member: Member, types: int) -> BindWish | MapWish:
        device, size = member.devices[0], self.state.handles[member.mc].thing.size
        if data.draw(st.booleans()):
            place = self.make_reservation(data, size, 0, 0, 0)
            return MapWish(place, size, 0, member.mc)
        memory = self.make_memory(data, MemoryWish(GRANULE, (DEVICE, device), types))
        return BindWish(member.mc, 0, memory, 0, GRANULE, dev=self.one_of(data, [None, device]))

    def _end_waiting(self, wish: BindWish | MapWish) -> None:
        """Hold the rank that waited, and acts again, to what it asked for."""
        rank, binds = self.pool[self.state.rank], isinstance(wish, BindWish)
        problems = (expect_binds.bind if binds else expect_addresses.map_range)(self.state, wish)
        ok, _ = self.attempt(problems, rank.result)
        if ok:
            (expect_binds.bound if binds else expect_addresses.mapped)(self.state, wish)
        rank(part.wait_at_most, BLOCK_LIMIT)
