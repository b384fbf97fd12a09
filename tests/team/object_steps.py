"""What a rank is told to do with objects; see ``tests/processes/zygote.py``."""

from __future__ import annotations

import os

import numpy as np

from cumulticast import MulticastObject, PhysicalMemory, driver, multimem
from cumulticast.team.resource import Resource

STEP = 2 << 20
KEPT: list[Resource] = []


def create(kind: str) -> None:
    """Make an object of two devices and give it our device."""
    KEPT.append(mc := MulticastObject.create(num_devices=2, size=STEP, handle_types=kind))
    mc.add_device(0)


def exported(kind: str) -> int | bytes:
    """Export the object."""
    (mc,) = KEPT
    assert isinstance(mc, MulticastObject)
    return mc.export(kind)


def join(kind: str, shared: int | bytes) -> None:
    """Import the object and add the second device."""
    KEPT.append(mc := MulticastObject.import_(shared, kind, size=STEP, num_devices=2))
    if isinstance(shared, int):
        os.close(shared)
    mc.add_device(1)


def bind_own(kind: str) -> None:
    """Bind memory of the device that has our number, and map both."""
    device = int(os.environ["RANK"])
    (mc,) = KEPT
    assert isinstance(mc, MulticastObject)
    memory = PhysicalMemory.create(device, STEP, handle_types=kind)
    mc.bind_memory(memory)
    shown, local = mc.map(device), memory.map()
    KEPT.extend((memory, shown, local))


def store(value: float) -> None:
    """Store through the object."""
    multimem.store(KEPT[2].ptr, np.full(8, value, np.float32))  # type: ignore[attr-defined]


def read() -> list[float]:
    """Read our own replica."""
    seen = np.zeros(8, np.float32)
    driver.ctx_set_current(driver.device_primary_ctx_retain(int(os.environ["RANK"])))
    driver.memcpy_dtoh_v2(seen.ctypes.data, KEPT[3].ptr, seen.nbytes)  # type: ignore[attr-defined]
    return sorted(set(seen.tolist()))


def close() -> None:
    """Give everything back."""
    while KEPT:
        KEPT.pop(0).close()


def share_memory(kind: str) -> int | bytes:
    """Make memory that can be shared, and export it."""
    KEPT.append(memory := PhysicalMemory.create(0, STEP, handle_types=kind))
    return memory.export(kind)


def map_shared(kind: str, shared: int | bytes) -> list[int]:
    """Import memory and map it; a device has to be named, since its own is not known here."""
    memory = PhysicalMemory.import_(shared, kind, STEP)
    if isinstance(shared, int):
        os.close(shared)
    with memory:
        try:
            memory.map().close()
        except ValueError:
            with memory.map(0) as mapping:
                return [mapping.size]
    return []
