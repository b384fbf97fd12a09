"""Multicast slots: taken by an object's first bind, given back when nothing of it is left."""

import os

import pytest
from builders import FD, STEP, accepted, mapped, memory, refused, reserve, team, unmapped
from cuda.bindings._v2 import driver

from cumulticast import sim

bind = driver.multicast_bind_mem


def bound(handle_types: int = 0) -> tuple[int, int]:
    """Make an object and memory of device 0, bound."""
    mc, mem = team(handle_types=handle_types), memory(handle_types=handle_types)
    bind(mc, 0, mem, 0, STEP, 0)
    return mc, mem


def free_slots() -> bool:
    """Bind something that needs the one slot, and take it back."""
    mc, mem = team(), memory()
    try:
        bind(mc, 0, mem, 0, STEP, 0)
    except driver.OutOfMemoryError:
        return False
    else:
        driver.multicast_unbind(mc, 0, 0, STEP)
        return True
    finally:
        driver.mem_release(mc)
        driver.mem_release(mem)


@pytest.fixture
def one_slot(start) -> None:
    """Leave one slot of 128."""
    start(devices=2, faults=["slots=127"])


def test_no_slot_is_left(start) -> None:
    start(devices=2, faults=["slots=128"])
    mc, mem = team(), memory()  # creating and adding need none
    assert refused(bind, mc, 0, mem, 0, STEP, 0) == (2, "MC345")
    sim.faults.clear("slots=128")
    assert accepted(bind, mc, 0, mem, 0, STEP, 0) == ""


@pytest.mark.usefixtures("strict")
def test_a_hundred_and_twenty_eight_objects_take_all() -> None:
    kept = [bound() for _ in range(128)]
    assert sim.world().slots == 128
    mc, mem = team(), memory()
    assert refused(bind, mc, 0, mem, 0, STEP, 0) == (2, "MC345")
    assert accepted(bind, kept[0][0], 0, memory(1), 0, STEP, 0) == ""  # an object that has one needs no other
    driver.multicast_unbind(kept[5][0], 0, 0, STEP)
    driver.mem_release(kept[5][0])
    assert accepted(bind, mc, 0, mem, 0, STEP, 0) == ""


@pytest.mark.usefixtures("one_slot")
def test_a_refused_bind_takes_no_slot() -> None:
    mc, mem = team(), memory()
    assert refused(bind, mc, 0, mem, STEP, STEP, 0)[0] == 1
    assert free_slots()


@pytest.mark.usefixtures("one_slot")
def test_unbinding_alone_gives_no_slot_back() -> None:
    mc, _ = bound()
    driver.multicast_unbind(mc, 0, 0, STEP)
    assert not free_slots()
    driver.mem_release(mc)
    assert free_slots()


@pytest.mark.usefixtures("one_slot")
def test_the_last_reference_gives_it_back() -> None:
    mc, _ = bound()
    ptr = mapped(mc, STEP, [0])
    assert driver.mem_retain_allocation_handle(ptr) == mc
    unmapped(ptr)
    driver.multicast_unbind(mc, 0, 0, STEP)
    driver.mem_release(mc)
    assert not free_slots()
    driver.mem_release(mc)
    assert free_slots()


@pytest.mark.usefixtures("one_slot")
def test_the_last_mapping_gives_it_back() -> None:
    mc, _ = bound()
    first, second = mapped(mc), mapped(mc)
    driver.multicast_unbind(mc, 0, 0, STEP)
    driver.mem_release(mc)
    unmapped(first)
    assert not free_slots()
    unmapped(second)
    assert free_slots()


@pytest.mark.usefixtures("one_slot")
def test_the_last_bind_gives_it_back() -> None:
    mc, mem = bound()
    assert accepted(driver.mem_release, mc) == "MC866"
    assert not free_slots()
    driver.mem_release(mem)  # with the memory goes the bind, and with it the object
    assert free_slots()
    assert sim.world().multicast == ()


@pytest.mark.usefixtures("one_slot")
def test_an_imported_handle_keeps_the_slot() -> None:
    mc, _ = bound(handle_types=FD)
    fd = driver.mem_export_to_shareable_handle(mc, FD, 0)
    other = driver.mem_import_from_shareable_handle(fd, FD)
    os.close(fd)
    driver.multicast_unbind(mc, 0, 0, STEP)
    driver.mem_release(mc)
    assert not free_slots()
    driver.mem_release(other)
    assert free_slots()


@pytest.mark.usefixtures("one_slot")
def test_mapping_needs_no_slot() -> None:
    bound()
    mc, ptr = team(), reserve()
    assert accepted(driver.mem_map, ptr, STEP, 0, mc, 0) == ""
