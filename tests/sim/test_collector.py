"""Destructors of garbage call the driver: whenever the collector runs, that is never in the middle of another call."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator

import pytest
from cuda.bindings import driver as cu

import cumulticast.sim as sim
from answers import ok, status
from cumulticast.sim.driver import Driver

MIB = 1 << 20
PROPERTIES = cu.CUmemAllocationProp()
PROPERTIES.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
PROPERTIES.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE


class Holder:
    """Memory that a destructor releases, in a cycle: the collector frees it at a time of its own."""

    def __init__(self, told: Callable[[int], None]) -> None:
        self.me, self.told = self, told
        self.handle = ok(cu.cuMemCreate(2 * MIB, PROPERTIES, 0))

    def __del__(self) -> None:
        self.told(status(cu.cuMemRelease(self.handle)))


@pytest.fixture
def threshold() -> Iterator[Callable[[int], None]]:
    """Give a function that lets the collector run after so many more containers have been made."""
    before = gc.get_threshold()
    yield lambda more: gc.set_threshold(gc.get_count()[0] + more)
    gc.set_threshold(*before)


def make_and_release() -> None:
    """Make calls that change the world and what the process owns."""
    at = ok(cu.cuMemAddressReserve(2 * MIB, 0, 0, 0))
    memory = ok(cu.cuMemCreate(2 * MIB, PROPERTIES, 0))
    ok(cu.cuMemMap(at, 2 * MIB, 0, memory, 0))
    ok(cu.cuMemRelease(memory))
    ok(cu.cuMemUnmap(at, 2 * MIB))
    ok(cu.cuMemAddressFree(at, 2 * MIB))


def test_destructors_release_between_calls(machine: Driver, threshold: Callable[[int], None]) -> None:
    """Try every moment in a series of calls for the collector to run."""
    answers: list[int] = []
    for more in range(120):
        gc.set_threshold(1_000_000)
        Holder(answers.append)
        threshold(more)
        make_and_release()
    gc.collect()
    assert answers == [0] * 120


def test_destructors_release_while_a_picture_is_taken(machine: Driver, threshold: Callable[[int], None]) -> None:
    answers: list[int] = []
    for more in range(120):
        gc.set_threshold(1_000_000)
        Holder(answers.append)
        threshold(more)
        sim.world()
        machine.world.sweep()
    gc.collect()
    assert answers == [0] * 120


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
