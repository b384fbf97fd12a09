"""What a process holds on a machine, as plain values: written from the documents, not from the driver under test.

Nothing here imports cumulticast. A machine is a handful of published numbers; memory is a numpy array of bytes and a
mask of the bytes that somebody wrote (contents of fresh memory are undefined, so unwritten bytes are never compared).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

MiB = 1 << 20
GRANULE = 2 * MiB  # cuMemGetAllocationGranularity and cuMulticastGetGranularity(MINIMUM)
FABRIC_PAGE = 512 * MiB  # hardware rounds the extent of a multicast object up to it
DEVICE, HOST, HOST_NUMA = 1, 2, 3
POSIX, WIN32, FABRIC = 1, 2, 8
NONE, READ, READWRITE = 0, 1, 3


@dataclass(frozen=True)
class Machine:
    """The published facts the model needs."""

    name: str
    devices: int
    nearest_node: tuple[int, ...]  # HOST_NUMA_ID of each device
    finer_binds: bool  # SM_107: memory offsets of binds are multiples of 256


MACHINES = {
    "hgx-h100-8": Machine("hgx-h100-8", 8, (0, 0, 0, 0, 1, 1, 1, 1), finer_binds=False),
    "rubin-nvl72": Machine("rubin-nvl72", 4, (0, 0, 1, 1), finer_binds=True),
}


@dataclass(eq=False)
class Memory:
    """A physical allocation."""

    size: int
    location: tuple[int, int]
    handle_types: int
    descriptors: int = 0
    data: np.ndarray = field(init=False, repr=False)
    known: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.data = np.zeros(self.size, np.uint8)
        self.known = np.zeros(self.size, bool)

    @property
    def device(self) -> int | None:
        return self.location[1] if self.location[0] == DEVICE else None


@dataclass(frozen=True)
class Bind:
    """Memory under a multicast object."""

    device: int
    mc_offset: int
    size: int
    memory: Memory
    mem_offset: int
    headroom: int

    @property
    def end(self) -> int:
        return self.mc_offset + self.size


@dataclass(eq=False)
class Multicast:
    """A multicast object."""

    size: int
    num_devices: int
    handle_types: int
    team: list[int] = field(default_factory=list)
    binds: list[Bind] = field(default_factory=list)
    vanished: list[Bind] = field(default_factory=list)  # their memory was freed before they were unbound
    descriptors: int = 0

    @property
    def complete(self) -> bool:
        return len(self.team) == self.num_devices


@dataclass(eq=False)
class Handle:
    """One value from create or import; retain adds references to it."""

    value: int
    thing: Memory | Multicast
    imported: bool = False
    references: int = 1


@dataclass(eq=False)
class Reservation:
    base: int
    size: int


@dataclass(eq=False)
class Mapping:
    base: int
    size: int
    handle: Handle
    access: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.base + self.size

    @property
    def memory(self) -> Memory | None:
        return self.handle.thing if isinstance(self.handle.thing, Memory) else None


@dataclass
class State:
    """Everything the process holds."""

    machine: Machine
    strict: bool
    handles: dict[int, Handle] = field(default_factory=dict)  # also those with no reference left but a mapping
    released: list[int] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    mappings: list[Mapping] = field(default_factory=list)
    descriptors: dict[int, Memory | Multicast] = field(default_factory=dict)  # file descriptor -> what it stands for
    multicasts: list[Multicast] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)

    # ---- finding

    def usable(self, value: int) -> Handle | None:
        handle = self.handles.get(value)
        return handle if handle is not None and handle.references else None

    def reservation_at(self, address: int) -> Reservation | None:
        return next((r for r in self.reservations if r.base <= address < r.base + r.size), None)

    def mapping_at(self, address: int) -> Mapping | None:
        return next((m for m in self.mappings if m.base <= address < m.end), None)

    def touching(self, base: int, size: int) -> list[Mapping]:
        return sorted((m for m in self.mappings if m.base < base + size and base < m.end), key=lambda m: m.base)

    def extent(self, multicast: Multicast) -> int:
        """Bytes of an object that can be bound and mapped: prop.size; on hardware rounded up to 512 MiB."""
        return multicast.size if self.strict else -(-multicast.size // FABRIC_PAGE) * FABRIC_PAGE

    def used(self, device: int) -> int:
        return sum(memory.size for memory in self.memories if memory.device == device)

    # ---- the end of things

    def settle(self) -> None:
        """Forget handles without reference and mapping, then what nothing holds any more."""
        mapped = {m.handle for m in self.mappings}
        for handle in [h for h in self.handles.values() if not h.references and h not in mapped]:
            del self.handles[handle.value]
        held = {h.thing for h in self.handles.values()} | set(self.descriptors.values())
        for memory in [m for m in self.memories if m not in held]:
            self.memories.remove(memory)
            for multicast in self.multicasts:  # a bind does not keep memory alive; it goes with it
                multicast.vanished += [b for b in multicast.binds if b.memory is memory]
                multicast.binds = [b for b in multicast.binds if b.memory is not memory]
        # ... but bound memory keeps the object alive.
        self.multicasts = [m for m in self.multicasts if m in held or m.binds]
