"""Physical memory and multicast objects in the world's tables: made, joined, bound, unbound.

Functions that decide something from what they read take an open transaction, so that nobody changes it in between.
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass

from cumulticast.sim import room
from cumulticast.sim.handles import Kind
from cumulticast.sim.shared import World


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound piece: ``size`` bytes at ``mc_offset`` of a device's replica are ``mem_offset`` of an allocation."""

    device: int
    mc_offset: int
    size: int
    allocation: int
    mem_offset: int
    headroom: int

    @property
    def end(self) -> int:
        """Where the piece ends, without its headroom."""
        return self.mc_offset + self.size


@dataclass(frozen=True, slots=True)
class Object:
    """What the world knows of a multicast object."""

    size: int
    num_devices: int
    handle_types: int
    slot: bool
    team: tuple[int, ...]


def create_memory(
    world: World, process: int, obj: int, size: int, location: tuple[int, int], node: int, device: int | None,
    handle_types: int, properties: bytes,
) -> None:  # fmt: skip
    """Make an allocation; the file is sparse and takes memory as it is written.

    Raises
    ------
    sqlite3.IntegrityError
        The device has no room for it.
    """
    _enter(
        world,
        ("memory", obj, size),
        "insert into allocation(id, process, size, location_type, location_id, node, device, handle_types,"
        " properties) values(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (obj, process, size, *location, node, device, handle_types, properties),
    )


def create_multicast(
    world: World, process: int, obj: int, size: int, num_devices: int, handle_types: int, node: int
) -> None:
    """Make a multicast object without devices; nothing is reserved for it yet."""
    _enter(
        world,
        ("multicast", obj, 0),
        "insert into multicast(id, process, size, num_devices, handle_types, node) values(?, ?, ?, ?, ?, ?)",
        (obj, process, size, num_devices, handle_types, node),
    )


def _enter(world: World, file: tuple[Kind, int, int], statement: str, values: tuple[object, ...]) -> None:
    """Make an object's file (kind, number, bytes) and enter the object in the books; or do neither."""
    kind, obj, size = file
    path = world.path_of(kind, obj)
    room.require(str(world.path))
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_EXCL, 0o600)
    try:
        os.ftruncate(fd, size)
        world.change(statement, values)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def used_memory(world: World, device: int) -> int:
    """Answer how many bytes of a device are allocated, by all processes."""
    return world.rows("select used from device where id = ?", device)[0][0]


# ---- multicast objects


def team_of(world: World, obj: int) -> tuple[int, ...]:
    """Answer the world indices of the devices added so far, ascending."""
    return tuple(d for (d,) in world.rows("select device from team where multicast = ? order by device", obj))


def read_object(db: sqlite3.Connection, obj: int) -> Object:
    """Read a multicast object (inside a transaction)."""
    size, num_devices, types, slot = db.execute(
        "select size, num_devices, handle_types, slot from multicast where id = ?", (obj,)
    ).fetchone()
    team = db.execute("select device from team where multicast = ? order by device", (obj,)).fetchall()
    return Object(size, num_devices, types, bool(slot), tuple(d for (d,) in team))


def join(db: sqlite3.Connection, obj: int, device: int) -> None:
    """Add a device to a team, for as long as the object lives."""
    db.execute("insert into team values(?, ?)", (obj, device))


def slots_taken(db: sqlite3.Connection) -> int:
    """Count the multicast slots in use."""
    return db.execute("select count(*) from multicast where slot").fetchone()[0]


def unaligned_used(db: sqlite3.Connection, device: int) -> int:
    """Count a device's unaligned binds (SM_107 machines)."""
    return db.execute("select unaligned from device where id = ?", (device,)).fetchone()[0]


def overlapping(db: sqlite3.Connection, obj: int, device: int, start: int, end: int) -> Bound | None:
    """Answer a bound piece of the device that shares a byte, headroom included, with ``[start, end)``."""
    row = db.execute(
        "select * from binding where multicast = ? and device = ? and mc_offset < ? order by mc_offset desc limit 1",
        (obj, device, end),
    ).fetchone()
    if row is None:
        return None
    bound = Bound(*row[1:])
    return bound if bound.end + bound.headroom > start else None


def bound_twice(db: sqlite3.Connection, obj: int, allocation: int, start: int, end: int) -> Bound | None:
    """Answer a piece of this object that already shows a part of ``[start, end)`` of the allocation."""
    row = db.execute(
        "select * from binding where allocation = ? and multicast = ? and mem_offset < ? and mem_offset + size > ?",
        (allocation, obj, end, start),
    ).fetchone()
    return Bound(*row[1:]) if row else None


def bind(db: sqlite3.Connection, obj: int, bound: Bound) -> None:
    """Enter a bound piece; the first takes the object's slot, an unaligned one a piece of the stock (by trigger)."""
    db.execute(
        "insert into binding values(?, ?, ?, ?, ?, ?, ?)",
        (obj, bound.device, bound.mc_offset, bound.size, bound.allocation, bound.mem_offset, bound.headroom),
    )


def bound_at(db: sqlite3.Connection, obj: int, device: int, mc_offset: int) -> Bound | None:
    """Answer the piece of a device that begins exactly at ``mc_offset``."""
    row = db.execute(
        "select * from binding where multicast = ? and device = ? and mc_offset = ?", (obj, device, mc_offset)
    ).fetchone()
    return Bound(*row[1:]) if row else None


def bound_offsets(db: sqlite3.Connection, obj: int, device: int) -> tuple[int, ...]:
    """Answer where the bound pieces of a device begin."""
    query = "select mc_offset from binding where multicast = ? and device = ? order by mc_offset limit 16"
    return tuple(at for (at,) in db.execute(query, (obj, device)))


def unbind(db: sqlite3.Connection, obj: int, bound: Bound) -> None:
    """Take a bound piece out."""
    db.execute(
        "delete from binding where multicast = ? and device = ? and mc_offset = ?", (obj, bound.device, bound.mc_offset)
    )
