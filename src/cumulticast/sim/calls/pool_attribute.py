"""cuMemPoolGetAttribute and cuMemPoolSetAttribute."""

from __future__ import annotations

import struct

from cumulticast.rules import Refused, Status, pools
from cumulticast.sim import raw
from cumulticast.sim.calls.pool import PINNED, pool_of
from cumulticast.sim.entry import entry
from cumulticast.sim.pools import Pool
from cumulticast.sim.process import Process

REUSE = (1, 2, 3)
THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH = 4, 5, 6, 7, 8
ALLOCATION_TYPE, HANDLE_TYPES, LOCATION_ID, LOCATION_TYPE, MAX_SIZE, HW_DECOMPRESS = 9, 10, 11, 12, 13, 14
INT, LONG = struct.Struct("<i"), struct.Struct("<Q")
FIRST_WITH_PROPERTIES = 13010  # recorded: driver 13000 refuses the attributes from 9 on; assumed for later ones


@entry("cuMemPoolGetAttribute")
def mem_pool_get_attribute(process: Process, pool: int, attribute: int, value: int) -> None:
    """Write one attribute: a C int for the switches and properties, 64 bits for the sizes."""
    found = pool_of(process, pool)
    values = attributes(process, found)
    process.driver.judge(pools.pool_attribute_known, attribute, attribute in values)
    raw.put(process, "value", value, values[attribute])


def attributes(process: Process, pool: Pool) -> dict[int, bytes]:
    """Answer all attributes in the form in which they are written."""
    values = {number: INT.pack(pool.reuse[number]) for number in REUSE}
    sizes = {
        THRESHOLD: pool.threshold,
        RESERVED: pool.arena.reserved,
        RESERVED_HIGH: pool.reserved_high,
        USED: pool.used,
        USED_HIGH: pool.used_high,
    }
    values |= {number: LONG.pack(size) for number, size in sizes.items()}
    if process.machine.driver_version >= FIRST_WITH_PROPERTIES:
        kind, number = pool.location
        properties = {
            ALLOCATION_TYPE: PINNED,
            HANDLE_TYPES: pool.handle_types,
            LOCATION_ID: number,
            LOCATION_TYPE: kind,
            HW_DECOMPRESS: 0,
        }
        values |= {number: INT.pack(value) for number, value in properties.items()}
        values[MAX_SIZE] = LONG.pack(pool.max_size)
    return values


@entry("cuMemPoolSetAttribute")
def mem_pool_set_attribute(process: Process, pool: int, attribute: int, value: int) -> None:
    """Set a switch or the threshold, or begin a high-water mark anew (0)."""
    found = pool_of(process, pool)
    process.driver.judge(pools.pool_attribute_known, attribute, attribute in attributes(process, found))
    if attribute in REUSE:
        (switch,) = INT.unpack(raw.get(process, "value", value, INT.size))
        found.reuse[attribute] = int(bool(switch))
        return
    (size,) = LONG.unpack(raw.get(process, "value", value, LONG.size))
    if attribute == THRESHOLD:
        found.threshold = size
    else:
        restart(found, attribute, size)


def restart(pool: Pool, attribute: int, size: int) -> None:
    """Set a high-water mark to what is in use now; it cannot be set to anything, and the rest not at all."""
    if attribute not in (RESERVED_HIGH, USED_HIGH):
        raise Refused(Status.INVALID_VALUE, None, f"attribute {attribute} cannot be set")
    if size:
        raise Refused(Status.INVALID_VALUE, None, f"value {size}: a high-water mark can only be set to 0")
    if attribute == RESERVED_HIGH:
        pool.reserved_high = pool.arena.reserved
    else:
        pool.used_high = pool.used
