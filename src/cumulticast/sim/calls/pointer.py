"""cuPointerGetAttribute, cuPointerGetAttributes, cuPointerSetAttribute.

What each kind of memory answers was recorded: h200-580.159-driver.json, group pointers. Multicast addresses could
not be; they answer like mapped device memory (assumed).
"""

from __future__ import annotations

import struct

from cumulticast.rules import Refused, Status, general, pointers
from cumulticast.sim import raw
from cumulticast.sim.entry import entry
from cumulticast.sim.pointers import (
    HOST_POINTER,
    LOCALITY_DOMAIN,
    P2P_TOKENS,
    SYNC_MEMOPS,
    UINT,
    Subject,
    defaults,
    known,
    values,
)
from cumulticast.sim.process import Process
from cumulticast.sim.regions import region_at

ALONE_ONLY = (P2P_TOKENS, LOCALITY_DOMAIN)  # recorded, documented


def subject_at(process: Process, thread: int, address: int) -> Subject | None:
    """Answer what an address belongs to, seen from the current context (if any)."""
    region = region_at(process, address)
    return None if region is None else Subject(process, process.contexts.top(thread), region, address)


@entry("cuPointerGetAttribute")
def pointer_get_attribute(process: Process, thread: int, data: int, attribute: int, address: int) -> None:
    """Write one attribute of an address of the driver's."""
    judge = process.driver.judge
    judge(pointers.pointer_attribute_known, attribute, attribute in known(process))
    subject = subject_at(process, thread, address)
    judge(pointers.pointer_known, address, subject is not None)
    assert subject is not None
    found = values(subject)
    if attribute == HOST_POINTER:
        judge(pointers.host_reachable, address, attribute in found)
    if attribute not in found:
        raise Refused(Status.INVALID_VALUE, None, f"attribute {attribute}: {address:#x} has none")
    raw.put(process, "data", data, found[attribute])


@entry("cuPointerGetAttributes")
def pointer_get_attributes(
    process: Process, thread: int, count: int, attributes: bytes | None, data: bytes | None, address: int
) -> None:
    """Write several attributes; what an address lacks is 0."""
    if not count or attributes is None or data is None:
        process.driver.judge(general.pointer_given, "attributes" if attributes is None else "data", 0)
    assert attributes is not None
    assert data is not None
    wanted, places = struct.unpack(f"<{count}i", attributes), struct.unpack(f"<{count}Q", data)
    for attribute in wanted:
        legal = attribute in known(process) and attribute not in ALONE_ONLY
        process.driver.judge(pointers.pointer_attribute_known, attribute, legal)
    subject = subject_at(process, thread, address)
    found = defaults(process, address) | ({} if subject is None else values(subject))
    answers = [(place, found.get(attribute, b"")) for attribute, place in zip(wanted, places, strict=True)]
    for place, answer in answers:
        raw.check(process, "data", place, len(answer), write=True)
    for place, answer in answers:
        raw.put(process, "data", place, answer)


@entry("cuPointerSetAttribute")
def pointer_set_attribute(process: Process, value: int, attribute: int, address: int) -> None:
    """Set SYNC_MEMOPS of an allocation; memory operations are always synchronous here."""
    if attribute != SYNC_MEMOPS:
        raise Refused(Status.INVALID_VALUE, None, f"attribute {attribute} cannot be set; only 6 (SYNC_MEMOPS) can")
    region = region_at(process, address)
    process.driver.judge(pointers.pointer_known, address, region is not None)
    assert region is not None
    if region.block is None:
        raise Refused(Status.NOT_SUPPORTED, None, f"SYNC_MEMOPS cannot be set for mapped memory at {address:#x}")
    (switch,) = UINT.unpack(raw.get(process, "value", value, UINT.size))
    region.block.sync_memops = bool(switch)
