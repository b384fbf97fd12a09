"""What processes hold on a machine, as plain values: written from the documents, not from the driver under test.

Nothing here imports cumulticast. A machine is a handful of published numbers; memory is a numpy array of bytes and a
mask of the bytes that somebody wrote (contents of fresh memory are undefined, so unwritten bytes are never compared).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from model_world import World

MiB = 1 << 20
GRANULE = 2 * MiB  # cuMemGetAllocationGranularity and cuMulticastGetGranularity(MINIMUM)
DEVICE, HOST, HOST_NUMA = 1, 2, 3
POSIX, WIN32, FABRIC = 1, 2, 8
NONE, READ, READWRITE = 0, 1, 3


@dataclass(frozen=True)
class Machine:
    """The published facts the model needs."""

    name: str
    devices: int  # of each node
    nearest_node: tuple[int, ...]  # HOST_NUMA_ID of each device
    finer_binds: bool  # SM_107: memory offsets of binds are multiples of 256
    nodes: int = 1


MACHINES = {
    "hgx-h100-8": Machine("hgx-h100-8", 8, (0, 0, 0, 0, 1, 1, 1, 1), finer_binds=False),
    "rubin-nvl72": Machine("rubin-nvl72", 4, (0, 0, 1, 1), finer_binds=True),
}


@dataclass(eq=False)
class Memory:
    """A physical allocation.

    `device` counts the devices of all nodes; None: memory of the host. `id` is its number in the books.
    """

    size: int
    location: tuple[int, int]
    handle_types: int
    node: int
    device: int | None
    id: int = 0
    data: np.ndarray = field(init=False, repr=False)
    known: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.data = np.zeros(self.size, np.uint8)
        self.known = np.zeros(self.size, bool)


@dataclass(frozen=True)
class Bind:
    """Memory under a multicast object; `device` counts the devices of all nodes."""

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
    """A multicast object; `team` counts the devices of all nodes. `slot`: it was bound to, and has taken a slot."""

    size: int
    num_devices: int
    handle_types: int
    node: int
    id: int = 0
    slot: bool = False
    team: list[int] = field(default_factory=list)
    binds: list[Bind] = field(default_factory=list)
    vanished: list[Bind] = field(default_factory=list)  # their memory was freed before they were unbound
    former: list[Bind] = field(default_factory=list)  # of an object that was made anew: what the one before had

    @property
    def complete(self) -> bool:
        return len(self.team) == self.num_devices


Thing = Memory | Multicast


@dataclass(eq=False)
class Handle:
    """One value from create or import; retain adds references to it."""

    value: int
    thing: Thing
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


@dataclass(eq=False)
class State:
    """Everything one process holds.

    `number` is its number in the books, None while it is not in the machine's world; `rank` the one it was given.
    """

    world: World
    number: int | None
    rank: int | None = None
    node: int = 0
    handles: dict[int, Handle] = field(default_factory=dict)  # also those with no reference left but a mapping
    released: list[int] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    mappings: list[Mapping] = field(default_factory=list)
    descriptors: dict[int, Thing] = field(default_factory=dict)  # file descriptor -> what it stands for

    @property
    def machine(self) -> Machine:
        return self.world.machine

    @property
    def strict(self) -> bool:
        return self.world.strict

    # ---- finding

    def index(self, ordinal: int) -> int:
        """Answer the number of a device of this node among those of all nodes; -1 for one that is not there."""
        return self.node * self.machine.devices + ordinal if 0 <= ordinal < self.machine.devices else -1

    def ordinal(self, index: int | None) -> int | None:
        """Answer how this node calls a device; None when it is another node's."""
        if index is None or index // self.machine.devices != self.node:
            return None
        return index % self.machine.devices

    def usable(self, value: int) -> Handle | None:
        handle = self.handles.get(value)
        return handle if handle is not None and handle.references else None

    def reservation_at(self, address: int) -> Reservation | None:
        return next((r for r in self.reservations if r.base <= address < r.base + r.size), None)

    def mapping_at(self, address: int) -> Mapping | None:
        return next((m for m in self.mappings if m.base <= address < m.end), None)

    def touching(self, base: int, size: int) -> list[Mapping]:
        return sorted((m for m in self.mappings if m.base < base + size and base < m.end), key=lambda m: m.base)

    # ---- the end of things

    def settle(self) -> None:
        """Forget handles without reference and mapping, then what nobody holds any more."""
        mapped = {m.handle for m in self.mappings}
        for handle in [h for h in self.handles.values() if not h.references and h not in mapped]:
            del self.handles[handle.value]
        self.world.settle()
