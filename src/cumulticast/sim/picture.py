"""A picture of a world: what the machine holds at one moment, as values that no longer change."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
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
class WaitPicture:
    """What a process waits for: the C name of the call, the multicast object, and since how many seconds."""

    call: str
    object: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Answer it as JSON has it; ``for`` is no name in Python."""
        return {"call": self.call, "object": self.object, "for": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class ProcessPicture:
    """A process that has called cuInit and lives.

    Attributes
    ----------
    pid, rank, node
        Its process id, in its own pid namespace; its RANK, None without one; its node.
    waiting
        Its longest wait; None while it waits for nothing, or not for long yet (a quarter of a second).
    """

    pid: int
    rank: int | None
    node: int
    waiting: WaitPicture | None


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
        processes = [
            {**asdict(process), "waiting": process.waiting and process.waiting.as_dict()} for process in self.processes
        ]
        return {**asdict(self), "path": str(self.path), "processes": processes}


def take(world: World) -> Picture:
    """Take a picture of a world, whole: no change of another process falls between its parts."""
    with world.transaction() as db:
        return read(db, world.path, world.lives.alive)


def read(db: sqlite3.Connection, path: Path, alive: Callable[[int], bool]) -> Picture:
    """Read a picture inside a transaction; of a process that died nothing is told, also before it is cleaned up after.

    Parameters
    ----------
    db
        The world's books.
    path
        The world's directory.
    alive
        Tells whether the process of that number lives.
    """
    living = {number for (number,) in db.execute("select id from process") if alive(number)}
    bindings = [(row[0], Bound(*row[1:])) for row in db.execute("select * from binding")]
    query = "select object, pid, process from reference join process on process = process.id order by pid"
    holders = _grouped((obj, pid) for obj, pid, number in db.execute(query) if number in living)
    return Picture(
        path,
        str(db.execute("select value from world where key = 'machine'").fetchone()[0]),
        tuple(DevicePicture(*row) for row in db.execute("select id, used, total from device order by id")),
        _allocations(db, _grouped((bound.allocation, bound) for _, bound in bindings), holders),
        _multicast(db, _grouped(bindings), holders),
        _processes(db, living),
    )


def _processes(db: sqlite3.Connection, living: set[int]) -> tuple[ProcessPicture, ...]:
    now, waits = time.time(), dict[int, WaitPicture]()
    for process, call, obj, since in db.execute("select process, call, object, since from waiting order by since"):
        waits.setdefault(process, WaitPicture(call, obj, max(0.0, now - since)))
    rows = db.execute("select id, pid, rank, node from process order by rank, id")
    return tuple(
        ProcessPicture(pid, rank, node, waits.get(number)) for number, pid, rank, node in rows if number in living
    )


def _grouped(pairs: Iterable[tuple[int, Any]]) -> dict[int, tuple[Any, ...]]:
    groups: defaultdict[int, list[Any]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}


def _allocations(
    db: sqlite3.Connection, bound: dict[int, tuple[Bound, ...]], holders: dict[int, tuple[int, ...]]
) -> tuple[AllocationPicture, ...]:
    rows = db.execute("select id, size, location_type, device, handle_types from allocation order by id")
    return tuple(
        AllocationPicture(number, size, LOCATIONS[where], device, types, bound.get(number, ()), holders.get(number, ()))
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
