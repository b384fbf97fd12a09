"""What the processes of a machine share, as plain values: memory, objects, and what is under way between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from model_state import Machine, Memory, MiB, Multicast, State, Thing

FABRIC_PAGE = 512 * MiB  # hardware rounds the extent of a multicast object up to it


@dataclass(eq=False)
class World:
    """One machine."""

    machine: Machine
    strict: bool
    processes: list[State] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    multicasts: list[Multicast] = field(default_factory=list)
    fabric: list[tuple[bytes, Thing]] = field(default_factory=list)  # fabric handles: whoever knows the bytes has them
    in_flight: dict[int, Thing] = field(default_factory=dict)  # descriptors that were sent and not received yet

    def extent(self, multicast: Multicast) -> int:
        """Bytes of an object that can be bound and mapped: prop.size; on hardware rounded up to 512 MiB."""
        return multicast.size if self.strict else -(-multicast.size // FABRIC_PAGE) * FABRIC_PAGE

    def used(self, device: int) -> int:
        return sum(memory.size for memory in self.memories if memory.device == device)

    def lives(self, thing: Thing) -> bool:
        return thing in self.memories or thing in self.multicasts

    def held(self) -> set[Thing]:
        """Answer what a handle of some process or a descriptor anywhere holds."""
        held = set(self.in_flight.values())
        for state in self.processes:
            held |= {h.thing for h in state.handles.values()} | set(state.descriptors.values())
        return held

    def settle(self) -> None:
        """Forget what nobody holds any more."""
        held = self.held()
        for memory in [m for m in self.memories if m not in held]:
            self.memories.remove(memory)
            for multicast in self.multicasts:  # a bind does not keep memory alive; it goes with it
                multicast.vanished += [b for b in multicast.binds if b.memory is memory]
                multicast.binds = [b for b in multicast.binds if b.memory is not memory]
        # ... but bound memory keeps the object alive.
        self.multicasts = [m for m in self.multicasts if m in held or m.binds]

    def exchange(self, old: State, new: State) -> None:
        """Let a process take the place of one that has gone with all it held."""
        self.processes[self.processes.index(old)] = new
        self.settle()
