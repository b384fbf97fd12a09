"""What the snippets of `on_ranks` begin with: the driver, who they are, and ways to tell and to meet."""

from __future__ import annotations

import ctypes
import json
import os
import time
from pathlib import Path
from typing import Any

from cuda.bindings._v2 import driver

RANK = int(os.environ.get("RANK", "0"))
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
WORLD = Path(os.environ["CUMULTICAST_WORLD"])
MEETING = Path(os.environ.get("MEETING", "/nowhere"))  # a directory of the test's
STEP = 2 << 20
FD, FABRIC = 1, 8


def tell(**facts: Any) -> None:
    """Report facts to the test."""
    print("@" + json.dumps(facts), flush=True)


def put(name: str, value: bytes = b"") -> None:
    """Leave something for the other ranks."""
    part = MEETING / f"{name}.{RANK}.part"
    part.write_bytes(value)
    part.rename(MEETING / name)


def get(name: str, seconds: float = 30.0) -> bytes:
    """Wait for what another rank leaves."""
    end = time.monotonic() + seconds
    while not (MEETING / name).exists():
        if time.monotonic() > end:
            raise TimeoutError(f"rank {RANK}: nobody left {name}")
        time.sleep(0.002)
    return (MEETING / name).read_bytes()


def meet(name: str) -> None:
    """Go on when all ranks have come here."""
    put(f"{name}-{RANK}")
    for rank in range(WORLD_SIZE):
        get(f"{name}-{rank}")


def status(call: Any, *arguments: Any) -> int:
    """Answer the status of a call, 0 for success."""
    try:
        call(*arguments)
    except driver.DriverError as error:
        return int(error.status)
    return 0


def multicast(devices: int, size: int = STEP, types: int = 0) -> int:
    """Make a multicast object."""
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_, prop.handle_types = devices, size, types
    return int(driver.multicast_create(prop))


def memory(size: int = STEP, device: int = 0, types: int = 0) -> int:
    """Make memory on a device."""
    prop = driver.MemAllocationProp_v1()
    prop.type, prop.location.type, prop.location.id, prop.requested_handle_types = 1, 1, device, types
    return int(driver.mem_create(size, prop, 0))


def fabric_handle(handle: int) -> bytes:
    """Export a handle as the 64 bytes of a fabric handle."""
    return ctypes.string_at(driver.mem_export_to_shareable_handle(handle, FABRIC, 0).ptr, 64)


def from_fabric(data: bytes) -> int:
    """Import the 64 bytes of a fabric handle."""
    buffer = ctypes.create_string_buffer(data, 64)
    return int(driver.mem_import_from_shareable_handle(ctypes.addressof(buffer), FABRIC))


def bound(mc: int, device: int = 0, types: int = 0) -> int:
    """Bind fresh memory of a device; blocks until the team is complete."""
    return status(driver.multicast_bind_mem, mc, 0, memory(device=device, types=types), 0, STEP, 0)
