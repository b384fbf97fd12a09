"""CUlaunchConfig and the attributes of a launch (CUlaunchAttributeID)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cumulticast.rules import launch_options
from cumulticast.sim import raw
from cumulticast.sim.launches import Shape

if TYPE_CHECKING:
    from cumulticast.sim.process import Process

_CONFIG = struct.Struct("<7I4xQQI4x")
_ATTRIBUTE = struct.Struct("<i4x64s")
IGNORE, ACCESS_POLICY, COOPERATIVE, SYNCHRONIZATION_POLICY, CLUSTER, CLUSTER_POLICY = range(6)
PROGRAMMATIC_SERIALIZATION, PROGRAMMATIC_EVENT, PRIORITY, SYNC_DOMAIN_MAP, SYNC_DOMAIN = range(6, 11)
PREFERRED_CLUSTER, COMPLETION_EVENT, DEVICE_UPDATABLE, CARVEOUT = range(11, 15)
NVLINK_SCHEDULING, PORTABLE_CLUSTER_MODE, SHARED_MODE = range(16, 19)
#: Attributes whose value changes nothing here, as the documents allow: hints, and orders that are kept anyway.
HINTS = frozenset({IGNORE, ACCESS_POLICY, PROGRAMMATIC_SERIALIZATION, PRIORITY, SYNC_DOMAIN_MAP, PREFERRED_CLUSTER})
#: Attribute → least and largest value of its first word.
RANGES = {
    CLUSTER_POLICY: (0, 3),
    SYNC_DOMAIN: (0, 1),
    CARVEOUT: (0, 100),
    NVLINK_SCHEDULING: (0, 1),
    PORTABLE_CLUSTER_MODE: (0, 2),
    SHARED_MODE: (0, 4),
}
EVENTS = (PROGRAMMATIC_EVENT, COMPLETION_EVENT)
KNOWN = HINTS | RANGES.keys() | {COOPERATIVE, CLUSTER, *EVENTS}
#: The driver version from which on an attribute is known (13.0 does not know them: recorded; the rest is assumed).
SINCE = {PORTABLE_CLUSTER_MODE: 13010, SHARED_MODE: 13010}
ALLOW_NON_PORTABLE = 2  # CUlaunchAttributePortableClusterMode


def read(process: Process, config: bytes) -> tuple[Shape, int, tuple[int, ...]]:
    """Read a configuration: shape, stream, and events to record when the kernel has ended.

    Raises
    ------
    Refused
        1: an attribute that is none of launches, or has no legal value.
    """
    *sizes, dynamic, stream, address, count = _CONFIG.unpack(config)
    shape = Shape((sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5]), dynamic)
    events: list[int] = []
    for attribute, value in pairs(process, address, count):
        process.driver.judge(launch_options.launch_captured, attribute, attribute == DEVICE_UPDATABLE)
        known = attribute in KNOWN and process.machine.driver_version >= SINCE.get(attribute, 0)
        process.driver.judge(launch_options.launch_attribute_known, attribute, known)
        if attribute in EVENTS:
            events.append(int.from_bytes(value[:8], "little"))
        else:
            shape = applied(process, shape, attribute, value)
    return shape, stream, tuple(events)


def pairs(process: Process, address: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Read the attributes: number and 64 bytes of value each."""
    if count:
        yield from _ATTRIBUTE.iter_unpack(raw.get(process, "attrs", address, _ATTRIBUTE.size * count))


def applied(process: Process, shape: Shape, attribute: int, value: bytes) -> Shape:
    """Answer a shape with one attribute applied to it."""
    word = int.from_bytes(value[:4], "little")
    if attribute in RANGES:
        process.driver.judge(launch_options.launch_attribute_value, attribute, word, *RANGES[attribute])
    if attribute == COOPERATIVE:
        return replace(shape, cooperative=bool(word))
    if attribute == CLUSTER:
        width, height, depth = struct.unpack_from("<3I", value)
        return replace(shape, cluster=(width, height, depth))
    if attribute == PORTABLE_CLUSTER_MODE and word:
        return replace(shape, wide_clusters=word == ALLOW_NON_PORTABLE)
    return shape
