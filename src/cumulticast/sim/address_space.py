"""Reservations and mappings of one process: real address ranges, real mappings of the world's files."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field
from itertools import count

from cumulticast.sim import native
from cumulticast.sim.handles import Handle
from cumulticast.sim.moves import Moves
from cumulticast.sim.ranges import Ranges
from cumulticast.sim.shared import World
from cumulticast.sim.spare import Spare

DEVICE, HOST, HOST_NUMA = 1, 2, 3  # CUmemLocationType
READ, READWRITE = 1, 3  # CUmemAccess_flags
Location = tuple[int, int]
#: Real drivers let a mapping run past the end of its reservation (recorded: map.pastend). So many more bytes are taken.
SLACK = 32 << 20
BUFFERS = count(1)  # CU_POINTER_ATTRIBUTE_BUFFER_ID: every allocation and mapping has its own
PROTECTION = {0: 0, READ: mmap.PROT_READ, READWRITE: mmap.PROT_READ | mmap.PROT_WRITE}


@dataclass(slots=True, eq=False)
class Reservation:
    """A range from cuMemAddressReserve."""

    base: int
    size: int


@dataclass(slots=True, eq=False)
class Mapping:
    """A range from cuMemMap: what lies there, and who may touch it.

    ``access`` holds the CUmemAccess_flags granted to each location. The host protection is their union; copies,
    multimem and kernels check the acting device's own.
    """

    base: int
    size: int
    handle: Handle
    offset: int
    access: dict[Location, int] = field(default_factory=dict[Location, int])
    buffer: int = field(default_factory=BUFFERS.__next__)

    @property
    def end(self) -> int:
        return self.base + self.size


class Occupied(Exception):
    """A mapping would reach beyond all addresses that belong to its reservation."""


class AddressSpace:
    """The ranges a process has reserved and mapped. Checks are the callers'; this does the work."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.reservations: Ranges[Reservation] = Ranges()
        self.mappings: Ranges[Mapping] = Ranges()
        self.moves = Moves()
        self.spare = Spare()

    def reserve(self, size: int, alignment: int, hint: int) -> int:
        """Reserve ``size`` bytes without access and answer the address."""
        with self.spare:
            base = native.map_none(hint, size + SLACK, alignment)
        self.reservations.add(Reservation(base, size))
        return base

    def free(self, reservation: Reservation) -> None:
        """Give a reservation back to the system."""
        self.reservations.remove(reservation)
        native.unmap(reservation.base, reservation.size + SLACK)

    def map(self, base: int, size: int, handle: Handle, offset: int) -> Mapping:
        """Map memory (or a multicast object, which stays untouchable by ordinary loads and stores)."""
        reservation = self.reservations.at(base)
        assert reservation is not None
        if base + size > reservation.base + reservation.size + SLACK:
            raise Occupied(reservation.base + reservation.size + SLACK)
        mapping = Mapping(base, size, handle, offset)
        if handle.kind == "memory":
            with self.spare:
                map_memory(self._world, handle.obj, base, size, offset, 0)
        self.mappings.add(mapping)
        handle.mappings += 1
        return mapping

    def unmap(self, mapping: Mapping) -> None:
        """Turn a mapping into a plain reservation again."""
        self.moves.settle()
        self.mappings.remove(mapping)
        mapping.handle.mappings -= 1
        native.map_back(mapping.base, mapping.size)

    def set_access(self, mapping: Mapping, grants: dict[Location, int]) -> None:
        """Change who may touch a mapping."""
        self.moves.settle()
        access = {place: flags for place, flags in (mapping.access | grants).items() if flags}
        if mapping.handle.kind == "memory":
            native.protect(mapping.base, mapping.size, PROTECTION[max(access.values(), default=0)])
        mapping.access = access
        self.mappings.changes += 1

    def close(self) -> None:
        """Give everything back."""
        self.moves.settle()
        self.spare.give_up()
        for reservation in list(self.reservations):
            self.free(reservation)


def map_memory(world: World, obj: int, base: int, size: int, offset: int, protection: int) -> None:
    """Map a piece of an allocation's file at ``base``."""
    fd = os.open(world.path_of("memory", obj), os.O_RDWR | os.O_CLOEXEC)
    try:
        native.map_file(base, size, fd, offset, protection)
    finally:
        os.close(fd)
