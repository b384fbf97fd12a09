"""Shareable handles: descriptors and fabric handles of memory and of multicast objects.

A descriptor is a real one: an open file description of the object's file with a shared lock on it, which keeps the
object alive wherever the descriptor travels. A fabric handle is 64 bytes that name the world and the object.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import struct
from pathlib import Path

from cumulticast.rules import broken, general, sharing
from cumulticast.sim import native, objects
from cumulticast.sim.entry import entry
from cumulticast.sim.handles import Handle, Kind
from cumulticast.sim.lookup import any_handle
from cumulticast.sim.process import Process
from cumulticast.sim.schema import KINDS, TABLES
from cumulticast.sim.shared import World
from cumulticast.sim.structs import FABRIC, POSIX_FILE_DESCRIPTOR

#: What a fabric handle says: our mark, the world, the object, its kind, and what a multicast object is like.
_FABRIC = struct.Struct("<8sQQ12xIQQ8s")
MAGIC = b"cumultic"
KIND_MARKS: dict[bytes, Kind] = {b"memory\0\0": "memory", b"mcobject": "multicast"}


@entry("cuMemExportToShareableHandle")
def mem_export_to_shareable_handle(process: Process, shareable: int, handle: int, handle_type: int, flags: int) -> None:
    """Write a descriptor (int) or a fabric handle (64 bytes) of an object to ``shareable``."""
    judge = process.driver.judge
    judge(general.flags_zero, flags)
    found = any_handle(process, handle)
    judge(sharing.export_one_type, handle_type)
    judge(sharing.export_original, handle, found.imported)
    judge(sharing.export_requested, handle_type, found.handle_types)
    room = 64 if handle_type == FABRIC else 4
    judge(general.pointer_given, "shareableHandle", shareable if native.writable(shareable, room) else 0)
    if handle_type == FABRIC:
        process.require_fabric(FABRIC)
        native.put(shareable, fabric_bytes(process.world, found))
    else:
        native.put(shareable, struct.pack("<i", export_descriptor(process.world, found)))
    process.world.change(f"update {TABLES[found.kind]} set exported = 1 where id = ?", (found.obj,))


def export_descriptor(world: World, handle: Handle) -> int:
    """Open a descriptor of the object's file that holds the object."""
    fd = os.open(world.path_of(handle.kind, handle.obj), os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def fabric_bytes(world: World, handle: Handle) -> bytes:
    """Make the 64 bytes of a fabric handle."""
    mark = next(mark for mark, kind in KIND_MARKS.items() if kind == handle.kind)
    return _FABRIC.pack(MAGIC, world.identity, handle.obj, handle.num_devices, handle.size, handle.handle_types, mark)


@entry("cuMemImportFromShareableHandle")
def mem_import_from_shareable_handle(process: Process, os_handle: int, handle_type: int) -> int:
    """Answer a new handle for what a descriptor or a fabric handle stands for."""
    judge, foreign = process.driver.judge, handle_type not in (POSIX_FILE_DESCRIPTOR, FABRIC)
    judge(sharing.import_type, handle_type, handle_type)
    judge(sharing.import_supported, f"Linux has no handles of type {handle_type}" if foreign else "")
    if handle_type == FABRIC:
        process.require_fabric(FABRIC)
        handle = import_fabric(process, os_handle)
    else:
        handle = import_object(process, *read_descriptor(process, os_handle), os_handle)
    return process.adopt(handle)


def read_descriptor(process: Process, fd: int) -> tuple[Kind, int]:
    """Find out which object a descriptor stands for; one that is not ours answers 999, as recorded."""
    target = _object_of(process.world, fd)
    if target is None:
        raise broken(sharing.import_readable, fd & 0xFFFF_FFFF, False)
    process.driver.judge(sharing.descriptor_stays, fd, process.world.node_of(*target), process.node)
    return target


def _object_of(world: World, fd: int) -> tuple[Kind, int] | None:
    try:
        path = Path(os.readlink(f"/proc/self/fd/{fd & 0xFFFF_FFFF}"))
        kind, obj = path.parent.name, int(path.name)
        if kind not in KINDS:
            return None
        return (kind, obj) if os.path.samestat(os.fstat(fd), os.stat(world.path_of(kind, obj))) else None
    except (OSError, ValueError):
        return None


def import_fabric(process: Process, address: int) -> Handle:
    """Make a handle for what 64 bytes of a fabric handle stand for."""
    process.driver.judge(general.pointer_given, "osHandle", address if native.readable(address, 64) else 0)
    magic, identity, obj, devices, size, types, mark = _FABRIC.unpack(native.get(address, 64))
    kind = KIND_MARKS.get(mark)
    process.sweep()
    if magic != MAGIC or identity != process.world.identity or kind is None:
        raise broken(sharing.import_readable, address, False)
    wanted = (size, devices, types)
    return import_object(process, kind, obj, address, renewed=wanted if kind == "multicast" else None)


def import_object(
    process: Process, kind: Kind, obj: int, os_handle: int, renewed: tuple[int, int, int] | None = None
) -> Handle:
    """Make a handle for an object of the world and refer to it, unless its last reference has gone meanwhile.

    ``renewed`` is given where a multicast object whose last reference went before a late fabric import begins anew, as
    on hardware: its size, number of devices and handle types. It has no devices then: whoever binds waits for all of
    them, also for those that the old one had.
    """
    world, value = process.world, process.handles.next_value()
    if not process.handles.names(obj):
        process.detached.forget_object(obj)  # binds that ended after this process had let go of it, or of a former one
    with world.transaction() as db:  # whoever releases, or imports at the same time, comes before or after all of this
        if renewed is not None and not world.exists(kind, obj):
            process.driver.judge(sharing.imported_in_time, obj, renewed[1], False)
            world.remove_file(kind, obj)  # somebody who died while doing this
            objects.create_multicast(world, process.number, obj, *renewed, process.node)
        world.refer(db, obj, process.number)
        handle = _handle(db, value, kind, obj)
        if handle is None:
            raise broken(sharing.import_readable, os_handle, False)
    return handle


def _handle(db: sqlite3.Connection, value: int, kind: Kind, obj: int) -> Handle | None:
    """Make a handle from the world's books; None when there is no such object."""
    columns = {
        "memory": "size, location_type, location_id, device, handle_types, properties from allocation",
        "multicast": "size, num_devices, handle_types from multicast",
    }
    row = db.execute(f"select {columns[kind]} where id = ?", (obj,)).fetchone()
    if row is None:
        return None
    if kind == "memory":
        size, where, number, device, types, prop = row
        return Handle(value, obj, kind, size, prop, types, location=(where, number), device=device, imported=True)
    size, devices, types = row
    return Handle(value, obj, kind, size, bytes(32), types, num_devices=devices, imported=True)
