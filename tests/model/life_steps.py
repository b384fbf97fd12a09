"""Steps that end a process: it is killed, at once, in a call or while it waits, or leaves; and another one comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import needs
import rank_part as part
from both_bindings import Answer
from expect_memory import ObjectWish
from model_state import State
from ranks_in_use import RankDied
from steps_common import step
from team_steps import SHAREABLE, Member, TeamSteps

from cumulticast.sim.injection import Faults

DOOMED = (
    "cuMulticastAddDevice",
    "cuMulticastBindMem",
    "cuMulticastBindMem_v2",
    "cuMulticastBindAddr",
    "cuMulticastBindAddr_v2",
    "cuMulticastUnbind",
)


class LifeSteps(TeamSteps):
    faults: Faults
    doom = ""  # kill-before or kill-after, while the process that acts is to die in its next call

    @step(needs.mappings)
    def end_of_a_process(self, data: st.DataObject) -> None:
        """One step of them all: each costs as much time as ten others."""
        kinds = [self._die, self._leave, self._die_in_a_call, self._die_in_a_call, self._die_while_waiting]
        self.one_of(data, kinds)(data)

    def _leave(self, data: st.DataObject) -> None:
        """Let the driver go and come again; the process lives on, and so do its descriptors."""
        self.pool[self.state.rank](part.go)
        self._come_again(data, self.state.descriptors)

    def _die_in_a_call(self, data: st.DataObject) -> None:
        """Be killed right before or right after a call has done what it does."""
        self.doom = self.one_of(data, ["kill-before", "kill-after"])
        self.faults.set(*(f"{self.doom}:{call}:rank={self.state.rank}" for call in DOOMED))
        try:
            self.one_of(data, [self.add_some, self.bind_some, self.unbind_some])(data)
        finally:
            self.doom = ""
            self.faults.clear()
        self._die(data)

    def _die_while_waiting(self, data: st.DataObject) -> None:
        """Be killed in a bind or map that waits; somebody else adds what is missing, for himself."""
        types = data.draw(SHAREABLE)
        taker = self.some_process(data, self.reached(types))
        mc, device = self.make_object(data, ObjectWish(self.granules(data, 1, 2), 2, types)), self.device(data)
        theirs = self.hand_on(data, mc, taker)
        self.add(data, mc, device)
        self._begin_waiting(data, Member(self.state, mc, [device]), types)
        assert not self.pool[self.state.rank].done(0.004), "went on before the team was complete"
        self._die(data)
        with self.acting(taker):
            team = taker.handles[theirs].thing.team
            self.add(data, theirs, next(d for d in range(taker.machine.devices) if taker.index(d) not in team))

    # ---- the end of one, and the beginning of another

    def attempt(self, problems: set[int], call: Callable[[], Answer]) -> tuple[bool, Any]:
        """Make a call; of one in which the process dies, tell whether it has been carried out."""
        if not self.doom:
            return super().attempt(problems, call)
        if 0 in problems:
            return False, None  # nobody says what it does; so it is not called
        try:
            status, value = call()
        except RankDied:
            return self.doom == "kill-after" and not problems, None
        assert status in problems, f"answered {status} and lived, legal is {sorted(problems) or 'to die'}"
        return False, value

    def _die(self, data: st.DataObject) -> None:
        self.pool.kill(self.state.rank)
        self._come_again(data, {})

    def _come_again(self, data: st.DataObject, descriptors: dict[int, Any]) -> None:
        """Let a process come in the place of the one that acts and has gone; sometimes others see first that it has."""
        gone = self.state
        self.state = State(self.world, None, gone.rank, gone.node, descriptors=descriptors)
        self.world.exchange(gone, self.state)
        if data.draw(st.booleans()):
            with self.acting(self.some_process(data, self.others())):
                self.all_agrees()
        self.state.number = self.pool.come_again(gone.rank)
