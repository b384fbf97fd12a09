"""What one process owns on the machine: handles, address ranges, mappings, contexts, windows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cumulticast.rules import Refused, Rule, Status, lifetime, memory, sharing, team_waits
from cumulticast.sim import spare, trouble
from cumulticast.sim.address_space import AddressSpace, Mapping
from cumulticast.sim.adversary import Adversary
from cumulticast.sim.backing import Backing
from cumulticast.sim.captures import Captures
from cumulticast.sim.choices import seed_of
from cumulticast.sim.contexts import Contexts
from cumulticast.sim.detached import Detached, Place
from cumulticast.sim.graphs import Graphs
from cumulticast.sim.handles import Handle, Handles
from cumulticast.sim.heap import Heap
from cumulticast.sim.libraries import Libraries
from cumulticast.sim.linker import Linkers
from cumulticast.sim.machine import Device
from cumulticast.sim.modules import Modules
from cumulticast.sim.multicast_reach import MulticastReach
from cumulticast.sim.objects import team_of, used_memory
from cumulticast.sim.pools import Pools
from cumulticast.sim.reach import Reach
from cumulticast.sim.streams import Streams
from cumulticast.sim.structs import FABRIC, AllocationProp
from cumulticast.sim.user_objects import UserObjects
from cumulticast.sim.windows import Windows

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver


class Process:
    """Made by cuInit, one per operating-system process."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.world = driver.world
        self.machine = driver.machine
        self.node = driver.options.node
        self.devices = tuple(d for d in driver.machine.devices if d.node == self.node)
        self.number = self.world.enter(os.getpid(), self.node, driver.options.rank)
        self._made = 0
        self.handles = Handles()
        self.flawless: dict[bytes, AllocationProp] = {}  # properties that break no rule and leave no finding
        self.space = AddressSpace(self.world)
        self.contexts = Contexts()
        self.windows = Windows(self.world, self.space.moves)
        self.backing = Backing(self.world)
        self.detached = Detached()
        self.moves = self.space.moves
        self.heap = Heap(self)
        self.pools = Pools(self)
        self.streams = Streams()
        self.user_objects = UserObjects()
        self.graphs = Graphs(self.user_objects)
        self.captures = Captures()
        self.modules = Modules(self)
        self.libraries = Libraries(self)
        self.linkers = Linkers()
        self.reach = Reach(self)
        self.multicast_reach = MulticastReach(self)
        seed = seed_of(driver.options.memory)
        self.adversary = None if seed is None else Adversary(self, seed)

    def next_object(self) -> int:
        """Answer a number for a new object; no other process ever uses it."""
        self._made += 1
        return self.number << 32 | self._made

    def adopt(self, handle: Handle) -> int:
        """Register a new handle and answer its value."""
        self.handles.add(handle)
        return handle.value

    def let_go(self, handle: Handle) -> None:
        """After a reference or mapping went: forget the handle, and the object if it was the last of this process."""
        if not self.handles.forget_unused(handle):
            return
        if handle.kind == "multicast":
            self.windows.close(handle.obj)
            self.detached.forget_object(handle.obj)
        else:
            self.backing.forget(handle.obj)
        detached = self.world.drop(handle.kind, handle.obj, self.number)
        if handle.kind == "multicast":
            self.driver.judge(lifetime.object_outlives_binds, handle.value, self.world.binds_left(handle.obj))
        self.driver.judge(lifetime.memory_outlives_binds, handle.value, len(detached))
        self._memory_went(detached)

    def sweep(self) -> bool:
        """Let go what only closed descriptors held; tell whether there was such a thing.

        Closing a descriptor is no driver call, so this is done where it can show: before memory in use is counted, and
        before a call is refused because memory or slots are used up.
        """
        count, detached = self.world.sweep()
        self._memory_went(detached)
        return count > 0

    def _memory_went(self, detached: list[Place]) -> None:
        """Bring up to date what shows the binds that ended with their memory."""
        self.detached.add(detached)
        for obj in {place[0] for place in detached}:
            self.windows.refresh(obj)

    def unmap(self, mapping: Mapping) -> None:
        """Unmap, and let the object go with its last mapping."""
        self.space.unmap(mapping)
        self.let_go(mapping.handle)

    # ---- what the machine says

    def host_numa_id(self, device: Device) -> int:
        """Answer the NUMA node nearest to a device, -1 without NUMA."""
        return self.machine.host_numa_ids[device.ordinal]

    def clique(self, index: int) -> int:
        """Answer the fabric clique of a device, by its number in the machine; -1 without a fabric."""
        machine = self.machine
        split = self.driver.faults.state("cliques")
        if split is not None:
            machine = machine.with_cliques(*map(int, split.value.split(",")))
        clique = machine.device(index).clique
        return -1 if clique is None else clique

    def extent(self, handle: Handle) -> int:
        """Answer how many bytes of a multicast object can be bound and mapped.

        Real drivers round ``prop.size`` up to the fabric's page; the documents promise ``prop.size``.
        """
        if self.driver.profile == "strict":
            return handle.size
        page = self.machine.multicast_extent
        return -(-handle.size // page) * page

    def require_open(self) -> None:
        """Refuse work (3) that a stream, or a call that waited for the lock, begins after the machine was stopped."""
        if self.driver.closed:
            raise Refused(Status.NOT_INITIALIZED, None, "the simulated machine was stopped")

    def require_fabric(self, handle_types: int) -> None:
        """Refuse fabric handles (800) where no IMEX channel is."""
        if handle_types & FABRIC:
            channels = 0 if self.driver.faults.state("imex") else self.machine.imex_channels
            self.driver.judge(sharing.channel_for_fabric, handle_types, channels > 0)

    def require_memory(self, device: int, size: int, *, full: bool = False) -> None:
        """Refuse what does not fit on a device (2): by a fault that says so, or found ``full`` by the world's books."""
        free = self.driver.faults.number("memory") if self.driver.faults.specs else None
        if free is None and full:
            free = self.machine.total_memory - used_memory(self.world, device)
        if free is not None:
            self.driver.judge(memory.memory_left, size, free, f"device {device}")

    def no_room(self, what: str, error: OSError) -> Refused:
        """Make the refusal (2) for a thing that the host has no room for."""
        why = f"{error.strerror}{spare.crowded(error)}"
        return trouble.no_room(what, why, self.world.path, full=error.errno in trouble.FULL)

    def require_system(self) -> None:
        """Refuse a bind while the system is not ready (802) or in an illegal state (401)."""
        faults = self.driver.faults
        self.driver.judge(team_waits.system_ready, faults.not_ready())
        self.require_state(team_waits.state_legal, faults.illegal())

    def require_state(self, rule: Rule[...], problem: str) -> None:
        """Refuse in an illegal state: 401, or 1 where a fault says so, as older drivers do."""
        if problem:
            raise Refused(self.driver.faults.status_of_illegal(), rule, str(rule.check(problem)))

    def await_team(self, thread: int, handle: Handle) -> None:
        """Wait until all devices of a multicast object have been added."""
        generation = self.world.generation(handle.obj)
        team = team_of(self.world, handle.obj)
        if len(team) < handle.num_devices:
            raise self.driver.waiting.for_team(thread, handle.obj, generation, team, handle.num_devices)

    def close(self) -> None:
        """Give everything back, as the kernel does when a process ends."""
        self.user_objects.close()
        if self.streams.close():
            self.driver.log.write("W", "a kernel did not stop when it was asked to: its memory is left as it is")
            return
        self.moves.settle()
        self.pools.close()
        self.heap.close()
        self.windows.close_all()
        self.space.close()
        if self.world.path.exists():  # else its maker has removed it: nothing is left to give back
            self.world.leave(self.number)
