"""Simulated machines for tests, and a look at what a test left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import cumulticast.sim as sim
from answers import ok
from cumulticast.sim.driver import Driver


def left_behind(driver: Driver) -> list[str]:
    """Name what the process still owns: each one is a leak of the test, or of the driver."""
    process = driver.process
    if process is None:
        return []
    found = {
        "handles": len(process.handles.held()),
        "reservations": len(process.space.reservations),
        "mappings": len(process.space.mappings),
        "allocations": len(process.heap.blocks),
        "pools": len(process.pools),
        "streams and events": len(process.streams),
    }
    return [f"{count} {name}" for name, count in found.items() if count]


def open_files_of(directory: str) -> list[str]:
    """Return the descriptors of this process that lead into a directory, but for the futex words.

    Those stay mapped as long as the driver object: a thread may still wake up on one.
    """
    links = (os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd"))
    targets = (os.readlink(link) for link in links if os.path.islink(link))
    return [target for target in targets if target.startswith(directory) and "/words" not in target]


@pytest.fixture
def machine() -> Iterator[Driver]:
    """Run a fresh hgx-h100-8 with eight devices, initialised; fail when something is left at the end."""
    from cuda.bindings import driver as cu

    sim.start(machine="hgx-h100-8")
    driver = sim.current()
    path = str(driver.world.path)
    try:
        ok(cu.cuInit(0))
        yield driver
        left = left_behind(driver)
    finally:
        sim.stop()
    assert not left, f"the test left {', '.join(left)}"
    assert not os.path.exists(path), f"the world {path} was not removed"
    assert not open_files_of(path), "files of the world are still open"


@pytest.fixture
def context(machine: Driver) -> Iterator[int]:
    """Make the primary context of device 0 current."""
    from cuda.bindings import driver as cu

    handle = ok(cu.cuDevicePrimaryCtxRetain(0))
    ok(cu.cuCtxSetCurrent(handle))
    yield int(handle)
    left = left_behind(machine)
    ok(cu.cuCtxSetCurrent(0))
    ok(cu.cuDevicePrimaryCtxRelease(0))
    assert not left, f"the test left {', '.join(left)}"
