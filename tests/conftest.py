"""Simulated machines for tests; what a test leaves behind on one fails it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import cumulticast.sim as sim
from answers import ok
from cumulticast.sim.driver import Driver
from leaks import left_behind, open_files_of


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
