"""Destructors of garbage call the driver: whenever the collector runs, that is never in the middle of another call."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator

import pytest
from cuda.bindings import driver as cu

from answers import ok, status
from cumulticast.sim.driver import Driver

MIB = 1 << 20


class Holder:
    """Memory that a destructor releases, in a cycle: the collector frees it at a time of its own."""

    def __init__(self, told: Callable[[int], None]) -> None:
        prop = cu.CUmemAllocationProp()
        prop.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        prop.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        self.me, self.told = self, told
        self.handle = ok(cu.cuMemCreate(2 * MIB, prop, 0))

    def __del__(self) -> None:
        self.told(status(cu.cuMemRelease(self.handle)))


@pytest.fixture
def eager() -> Iterator[None]:
    """Let the collector run as often as it can."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


def test_destructors_release_between_calls(machine: Driver, eager: None) -> None:
    answers: list[int] = []
    for _ in range(40):
        Holder(answers.append)
    gc.collect()
    assert answers == [0] * 40


def test_the_collector_is_as_it_was(machine: Driver) -> None:
    assert gc.isenabled()
    gc.disable()
    try:
        ok(cu.cuDeviceGetCount())
        assert not gc.isenabled()
    finally:
        gc.enable()
    ok(cu.cuDeviceGetCount())
    assert gc.isenabled()


def test_a_child_forked_amid_a_call_of_another_thread_collects(machine: Driver) -> None:
    machine.faults.set("delay:cuMemGetInfo:seconds=2")
    slow = threading.Thread(target=cu.cuMemGetInfo)
    slow.start()
    while gc.isenabled() and slow.is_alive():
        pass
    assert slow.is_alive()
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    slow.join()
    assert gc.isenabled()
