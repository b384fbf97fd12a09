"""A picture of a world: what the machine holds at one moment, as values that no longer change."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cumulticast.sim.objects import Bound
from cumulticast.sim.shared import World
from cumulticast.sim.structs import LOCATIONS


@dataclass(frozen=True, slots=True)
class DevicePicture:
    """One device of the machine, by its number in the world: bytes allocated, and how many there are."""

    id: int
    used: int
    total: int


@dataclass(frozen=True, slots=True)
class ProcessPicture:
    """A process that has called cuInit and lives."""

    pid: int
    node: int


@dataclass(frozen=True, slots=True)
class AllocationPicture:
    """Physical memory.

    Attributes
    ----------
    id, size
        Its number in the world, and bytes.
    location, device
        CUmemLocationType without its prefix; the device that owns it, None for memory of the host.
    handle_types
        The shareable types asked for at creation.
    bound
        Pieces of it that are bound to multicast objects.
    holders
        Process ids that refer to it. None left: a shareable descriptor keeps it.
    """

    id: int
    size: int
    location: str
    device: int | None
    handle_types: int
    bound: tuple[Bound, ...]
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MulticastPicture:
    """A multicast object.

    Attributes
    ----------
    id, size
        Its number in the world, and ``prop.size`` in bytes.
    devices, missing
        The team so far, ascending, and how many devices have yet to be added.
    slot
        Whether it has taken one of the fabric's multicast slots: with its first bind.
    bindings
        What is bound, by device and mc_offset.
    holders
        Process ids that refer to it.
    """

    id: int
    size: int
    devices: tuple[int, ...]
    missing: int
    slot: bool
    bindings: tuple[Bound, ...]
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What `cumulticast.sim.world` answers."""

    path: Path
    machine: str
    devices: tuple[DevicePicture, ...]
    allocations: tuple[AllocationPicture, ...]
    multicast: tuple[MulticastPicture, ...]
    processes: tuple[ProcessPicture, ...]

    @property
    def slots(self) -> int:
        """How many multicast slots are taken."""
        return sum(obj.slot for obj in self.multicast)

    def as_dict(self) -> dict[str, Any]:
        """Answer the picture as what JSON can hold."""
        return {**asdict(self), "path": str(self.path)}


def take(world: World) -> Picture:
    """Take a picture of a world, whole: no change of another process falls between its parts."""
    with world.transaction() as db:
        bindings = [(row[0], Bound(*row[1:])) for row in db.execute("select * from binding")]
        holders = _grouped(
            db.execute("select object, pid from reference join process on process = process.id order by pid")
        )
        return Picture(
            world.path,
            world.machine.name,
            _devices(db, world.machine.total_memory),
            _allocations(db, _grouped((bound.allocation, bound) for _, bound in bindings), holders),
            _multicast(db, _grouped(bindings), holders),
            tuple(ProcessPicture(*row) for row in db.execute("select pid, node from process order by id")),
        )


def _grouped(pairs: Iterable[tuple[int, Any]]) -> dict[int, tuple[Any, ...]]:
    groups: defaultdict[int, list[Any]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}


def _devices(db: sqlite3.Connection, total: int) -> tuple[DevicePicture, ...]:
    rows = db.execute("select id, used from device order by id")
    return tuple(DevicePicture(number, used, total) for number, used in rows)


def _allocations(
    db: sqlite3.Connection, bound: dict[int, tuple[Bound, ...]], holders: dict[int, tuple[int, ...]]
) -> tuple[AllocationPicture, ...]:
    rows = db.execute("select id, size, location_type, device, handle_types from allocation order by id")
    return tuple(
        AllocationPicture(
            number, size, LOCATIONS[where], device, types, bound.get(number, ()), holders.get(number, ())
        )
        for number, size, where, device, types in rows
    )


def _multicast(
    db: sqlite3.Connection, bound: dict[int, tuple[Bound, ...]], holders: dict[int, tuple[int, ...]]
) -> tuple[MulticastPicture, ...]:
    teams = _grouped(db.execute("select multicast, device from team order by device"))
    rows = db.execute("select id, size, num_devices, slot from multicast order by id")
    return tuple(
        MulticastPicture(
            number,
            size,
            team := teams.get(number, ()),
            wanted - len(team),
            bool(slot),
            bound.get(number, ()),
            holders.get(number, ()),
        )
        for number, size, wanted, slot in rows
    )
