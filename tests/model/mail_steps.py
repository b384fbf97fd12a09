"""Steps that carry descriptors between processes, and share things as programs do."""

from __future__ import annotations

import os
from typing import ClassVar

import expect_memory as expect
import hypothesis.strategies as st
import needs
import rank_part as part
from job_steps import JobSteps
from model_state import DEVICE, FABRIC, POSIX, READWRITE, Handle, Memory, State
from ranks_in_use import Pool
from steps_common import step


def in_flight(state: State) -> bool:
    return bool(state.world.in_flight)


def shareable(state: State) -> list[Handle]:
    """Answer the handles that can be exported."""
    return [h for h in state.handles.values() if h.references and not h.imported and h.thing.handle_types]


def has_shareable(state: State) -> bool:
    return bool(shareable(state))


class MailSteps(JobSteps):
    pool: ClassVar[Pool]

    # ---- descriptors on their way: the test holds them, as a socket's buffer would

    def send(self, descriptor: int) -> int:
        """Let the process that acts send a descriptor away."""
        sent = self.pool[self.state.rank].descriptor(part.copy_of, descriptor)
        self.world.in_flight[sent] = self.state.descriptors[descriptor]
        return sent

    def receive(self, sent: int) -> int:
        """Let the process that acts receive a descriptor."""
        descriptor = self.pool[self.state.rank].with_descriptor(sent, part.keep)
        self.state.descriptors[descriptor] = self.world.in_flight[sent]
        return descriptor

    def drop(self, sent: int) -> None:
        os.close(sent)
        del self.world.in_flight[sent]
        self.world.settle()

    @step(needs.descriptors)
    def send_descriptor(self, data: st.DataObject) -> None:
        self.send(self.one_of(data, self.state.descriptors))

    @step(in_flight)
    def receive_descriptor(self, data: st.DataObject) -> None:
        sent = self.one_of(data, self.world.in_flight)
        descriptor = self.receive(sent)
        if data.draw(st.booleans()):
            self.drop(sent)
        if data.draw(st.booleans()):
            self.take_descriptor(data, descriptor)

    @step(in_flight)
    def lose_descriptor(self, data: st.DataObject) -> None:
        self.drop(self.one_of(data, self.world.in_flight))

    # ---- sharing at one go

    def others(self) -> list[State]:
        return [state for state in self.world.processes if state is not self.state]

    def reached(self, types: int) -> list[State]:
        """Answer the other processes with which something of these handle types can be shared."""
        return [s for s in self.others() if types & FABRIC or (types & POSIX and s.node == self.state.node)]

    def hand_on(self, data: st.DataObject, value: int, taker: State) -> int:
        """Share something with another process, and answer the handle it has there."""
        thing = self.state.handles[value].thing
        by_descriptor = thing.handle_types & POSIX and taker.node == self.state.node
        if by_descriptor and not (thing.handle_types & FABRIC and data.draw(st.booleans())):
            return self._by_descriptor(data, value, taker)
        shared = self.share(data, value, FABRIC)
        with self.acting(taker):
            return self.take_fabric(data, shared, thing)

    def _by_descriptor(self, data: st.DataObject, value: int, taker: State) -> int:
        """Share by a descriptor; as programs do, all who had a copy of it close theirs, or some forget to."""
        mine = self.share(data, value, POSIX)
        sent = self.send(mine)
        with self.acting(taker):
            theirs = self.receive(sent)
            handle = self.take_descriptor(data, theirs)
            if data.draw(st.integers(0, 3)):
                self.forget(theirs)
        if data.draw(st.integers(0, 3)):
            self.forget(mine)
        if data.draw(st.integers(0, 3)):
            self.drop(sent)
        return handle

    def forget(self, descriptor: int) -> None:
        self.calls(v2=True).close(descriptor)
        expect.closed(self.state, descriptor)

    @step(has_shareable)
    def share_with_another(self, data: st.DataObject) -> None:
        """Let another process import something; mostly it maps it, too."""
        handle = self.one_of(data, shareable(self.state))
        able = self.reached(handle.thing.handle_types)
        if not able:
            return
        taker = self.some_process(data, able)
        value = self.hand_on(data, handle.value, taker)
        with self.acting(taker):
            complete = isinstance(handle.thing, Memory) or handle.thing.complete
            if complete and len(self.state.mappings) < 12 and data.draw(st.integers(0, 3)):
                self._lay_out(data, value, handle.thing.size, self._grants(data, handle))

    def _grants(self, data: st.DataObject, handle: Handle) -> list:
        """Answer access for a device of this process's that can have it."""
        devices = range(self.state.machine.devices)
        if not isinstance(handle.thing, Memory):
            devices = [d for d in devices if self.state.index(d) in handle.thing.team]
        return [((DEVICE, self.one_of(data, devices)), READWRITE)] if devices else []
