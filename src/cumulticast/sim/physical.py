"""Make physical memory for a process; a device's, or the host's, lack of room becomes an answer (2) here."""

from __future__ import annotations

import errno
import sqlite3
from typing import TYPE_CHECKING

from cumulticast.sim import objects
from cumulticast.sim.handles import Handle
from cumulticast.sim.structs import DEVICE, HOST, AllocationProp
from cumulticast.sim.trouble import NO_ROOM

if TYPE_CHECKING:
    from cumulticast.sim.process import Process


def allocate(process: Process, size: int, prop: AllocationProp, *, references: int = 1) -> Handle:
    """Make an allocation whose properties were found legal, and register a handle for it.

    Parameters
    ----------
    process
        Whose it is.
    size
        Bytes.
    prop
        What the caller asked for.
    references
        How many the handle begins with: 0 for memory whose handle nobody is told.

    Raises
    ------
    Refused
        2: the device, or the host that simulates it, has no room.
    """
    device = process.devices[prop.location_id].index if prop.location_type == DEVICE else None
    if device is not None:
        process.require_memory(device, size)
    place = (prop.location_type, 0 if prop.location_type == HOST else prop.location_id)
    obj, types, properties = process.next_object(), prop.requested_handle_types, prop.write()
    try:
        objects.create_memory(process.world, process.number, obj, size, place, process.node, device, types, properties)
    except sqlite3.IntegrityError:
        assert device is not None
        process.sweep()
        process.require_memory(device, size, full=True)
        return allocate(process, size, prop, references=references)
    except (OSError, OverflowError) as error:
        problem = as_os_error(error)
        if problem.errno not in NO_ROOM:
            raise
        raise process.no_room(f"{size} bytes of memory in {process.world.path}", problem) from error
    value = process.handles.next_value()
    handle = Handle(value, obj, "memory", size, properties, types, place, device, references=references)
    process.adopt(handle)
    return handle


def as_os_error(error: OSError | OverflowError) -> OSError:
    """Answer the system's error, also for a size that no system call takes."""
    return error if isinstance(error, OSError) else OSError(errno.EFBIG, "File too large")
