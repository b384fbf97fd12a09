"""One rank's part in a team's set-up, phase by phase, and the way back from wherever it got to (run in ranks)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rank_steps as steps
from builders import FD, STEP, access, bare_object, memory, read
from cuda.bindings._v2 import driver

from cumulticast import multimem

COUNT = 1024
Undo = tuple[Callable[..., Any], tuple[Any, ...]]

undo: list[Undo] = []
have: dict[str, int] = {}


def _made(name: str, value: int, back: Callable[..., Any], *arguments: Any) -> int:
    have[name] = value
    undo.append((back, arguments))
    return value


def create(devices: int) -> None:
    mc = bare_object(devices, STEP, FD)
    _made("mc", mc, driver.mem_release, mc)


def give() -> int:
    return int(driver.mem_export_to_shareable_handle(have["mc"], FD, 0))


def take(fd: int) -> None:
    mc = steps.take_descriptor(fd)
    _made("mc", mc, driver.mem_release, mc)


def add_and_bind(dev: int) -> None:
    """Add the device and bind at once: the bind waits for all who are slower."""
    driver.multicast_add_device(have["mc"], dev)
    mem = memory(dev, STEP, FD)
    _made("memory", mem, driver.mem_release, mem)
    _map("address", mem, dev)
    driver.multicast_bind_mem(have["mc"], 0, mem, 0, STEP, 0)
    _made("bound", 1, driver.multicast_unbind, have["mc"], dev, 0, STEP)


def _map(name: str, handle: int, dev: int) -> None:
    ptr = driver.mem_address_reserve(STEP, 0, 0, 0)
    _made(name, ptr, driver.mem_address_free, ptr, STEP)
    driver.mem_map(ptr, STEP, 0, handle, 0)
    undo.append((driver.mem_unmap, (ptr, STEP)))
    driver.mem_set_access(ptr, STEP, access(dev), 1)


def map_team(dev: int) -> None:
    _map("multicast", have["mc"], dev)


def store(value: float) -> None:
    steps.store(have["multicast"], value, COUNT, "float32")


def check(value: float, devices: int) -> None:
    """See the value in the own memory, and the sum over all."""
    assert (read(have["address"], COUNT, "float32") == value).all()
    assert (multimem.load_reduce(have["multicast"], COUNT) == value * devices).all()


def go_back() -> int:
    """Undo everything, last first; answer how much it was."""
    count = len(undo)
    while undo:
        back, arguments = undo.pop()
        back(*arguments)
    have.clear()
    return count


def attempt(function: Callable[..., Any], *arguments: Any) -> tuple[int, str]:
    """Do a phase; answer its status, or 1 with the reason when multimem found a hole."""
    try:
        function(*arguments)
    except driver.DriverError as error:
        return int(error.status), f"{function.__name__}: {error}"
    except ValueError as error:
        if "MC" not in str(error):
            raise
        return 1, str(error)
    return 0, ""
