"""Whose memory can be bound to what: handles, devices, locations, shareable objects."""

import os

import pytest
from builders import (
    DEVICE,
    FD,
    HOST,
    HOST_NUMA,
    STEP,
    Bind,
    Piece,
    accepted,
    allocation_prop,
    bare_object,
    host_memory,
    mapped,
    memory,
    piece,
    refused,
    reserve,
    team,
)
from cuda.bindings._v2 import driver

bind_mem, bind_addr = driver.multicast_bind_mem, driver.multicast_bind_addr


# ---- handles


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("handle", [0, 1, 0xDEAD_BEEF, (1 << 64) - 1])
def test_a_number_that_never_was_a_handle(bind: Bind, handle: int) -> None:
    mc, mem = team(), piece()
    assert refused(bind, handle, 0, mem) == (1, "MC006")
    if not bind.by_address:
        assert refused(bind, mc, 0, Piece(handle, 0, 0)) == (1, "MC006")
    assert accepted(bind, mc, 0, mem) == ""


@pytest.mark.usefixtures("either")
def test_a_released_object(bind: Bind) -> None:
    mc, kept, mem = team(), team(), piece()
    driver.mem_release(mc)
    assert refused(bind, mc, 0, mem) == (1, "MC007")
    assert accepted(bind, kept, 0, mem) == ""


@pytest.mark.usefixtures("either")
def test_released_memory() -> None:
    mc, mem, kept = team(), memory(), memory()
    driver.mem_release(mem)
    assert refused(bind_mem, mc, 0, mem, 0, STEP, 0) == (1, "MC007")
    assert accepted(bind_mem, mc, 0, kept, 0, STEP, 0) == ""


@pytest.mark.usefixtures("strict")
def test_a_handle_that_only_a_mapping_keeps_is_released() -> None:
    mc, mem = team(), piece()
    driver.mem_release(mem.handle)
    assert refused(bind_mem, mc, 0, mem.handle, 0, STEP, 0) == (1, "MC007")
    assert accepted(bind_addr, mc, 0, mem.ptr, STEP, 0) == ""


@pytest.mark.usefixtures("strict")
def test_memory_where_an_object_belongs(bind: Bind) -> None:
    mem = piece()
    assert refused(bind, mem.handle, 0, mem) == (1, "MC220")
    assert accepted(bind, team(), 0, mem) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("names_device", [False, True])
def test_an_object_where_memory_belongs(names_device: bool) -> None:
    mc, form = team(), Bind(by_address=False, names_device=names_device)
    assert refused(form, mc, 0, Piece(mc, 0, 0)) == (1, "MC320")
    assert accepted(form, mc, 0, piece()) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("names_device", [False, True])
def test_addresses_that_are_no_memory(names_device: bool) -> None:
    mc, form = team(), Bind(by_address=True, names_device=names_device)
    for address in (0, 4096 * 7, reserve(), mapped(team(), STEP, [0, 1]), (1 << 64) - STEP):
        assert refused(form, mc, 0, Piece(0, address, 0)) == (1, "MC321")
    assert accepted(form, mc, 0, piece()) == ""


@pytest.mark.usefixtures("strict")
def test_an_address_inside_a_mapping_names_its_part_of_the_memory() -> None:
    mc, mem = team(size=4 * STEP), piece(size=4 * STEP)
    assert accepted(bind_addr, mc, 0, mem.ptr + 3 * STEP, STEP, 0) == ""
    assert refused(bind_mem, mc, STEP, mem.handle, 3 * STEP, STEP, 0) == (1, "MC329")  # the same bytes
    assert accepted(bind_mem, mc, STEP, mem.handle, 2 * STEP, STEP, 0) == ""


# ---- devices


def test_memory_of_a_device_outside_the_team(start, bind: Bind) -> None:
    start(devices=3, profile="strict")
    mc = team(devices=2)
    assert refused(bind, mc, 0, piece(2)) == (101, "MC323" if bind.names_device else "MC322")
    assert accepted(bind, mc, 0, piece(1)) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("by_address", [False, True])
def test_the_forms_with_a_device_want_that_devices_memory(by_address: bool) -> None:
    mc, mem, form = team(), piece(1), Bind(by_address, names_device=True)
    assert refused(form, mc, 0, mem, 0, STEP, 0, 0) == (1, "MC324")
    assert accepted(form, mc, 0, mem, 0, STEP, 0, 1) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("dev", [2, 8, 1 << 30, -1])
def test_the_forms_with_a_device_want_one_that_exists(dev: int) -> None:
    mc, mem = team(), memory()
    assert refused(driver.multicast_bind_mem_v2, mc, dev, 0, mem, 0, STEP, 0) == (101, "MC004")
    assert accepted(driver.multicast_bind_mem_v2, mc, 0, 0, mem, 0, STEP, 0) == ""


# ---- memory of the host


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("by_address", [False, True])
def test_host_numa_memory_needs_the_forms_with_a_device(by_address: bool) -> None:
    mc, handle = team(), host_memory(0)
    mem = Piece(handle, mapped(handle, STEP, [0]), 0)
    assert refused(Bind(by_address, names_device=False), mc, 0, mem) == (801, "MC326")
    assert accepted(Bind(by_address, names_device=True), mc, 0, mem) == ""


@pytest.mark.parametrize("by_address", [False, True])
def test_host_numa_memory_of_the_nearest_node(start, by_address: bool) -> None:
    start(profile="strict")
    near = driver.device_get_attribute(driver.DeviceAttribute.HOST_NUMA_ID, 7)
    assert near != driver.device_get_attribute(driver.DeviceAttribute.HOST_NUMA_ID, 0) == 0
    mc, form = team(8), Bind(by_address, names_device=True)
    far, right = host_memory(0), host_memory(near)
    assert refused(form, mc, 0, Piece(far, mapped(far), 7)) == (1, "MC325")
    assert accepted(form, mc, 0, Piece(right, mapped(right), 7)) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("by_address", [False, True])
def test_other_host_memory_cannot_be_bound(by_address: bool) -> None:
    mc, form, handle = team(), Bind(by_address, names_device=True), host_memory(0, kind=HOST)
    assert refused(form, mc, 0, Piece(handle, mapped(handle), 0)) == (1, "MC327")
    numa = host_memory(0, kind=HOST_NUMA)
    assert accepted(form, mc, 0, Piece(numa, mapped(numa), 0)) == ""


# ---- shareable objects


@pytest.mark.usefixtures("either")
def test_a_shareable_object_takes_shareable_memory_only(bind: Bind) -> None:
    mc = team(handle_types=FD)
    assert refused(bind, mc, 0, piece()) == (1, "MC328")
    assert accepted(bind, mc, 0, piece(handle_types=FD)) == ""


@pytest.mark.usefixtures("either")
def test_the_shareable_types_need_not_be_the_same(bind: Bind) -> None:
    assert accepted(bind, team(handle_types=1), 0, piece(handle_types=8)) == ""
    assert accepted(bind, team(handle_types=9), 0, piece(handle_types=1)) == ""


@pytest.mark.usefixtures("either")
def test_a_private_object_takes_both_kinds(bind: Bind) -> None:
    mc = team()
    assert accepted(bind, mc, 0, piece(0)) == ""
    assert accepted(bind, mc, 0, piece(1, handle_types=FD)) == ""


def imported(handle: int) -> int:
    """Send an object round through a descriptor; the descriptor is closed at once."""
    fd = driver.mem_export_to_shareable_handle(handle, FD, 0)
    try:
        return driver.mem_import_from_shareable_handle(fd, FD)
    finally:
        os.close(fd)


@pytest.mark.usefixtures("either")
def test_an_imported_object_takes_shareable_memory_only(bind: Bind) -> None:
    mc = imported(team(handle_types=FD))
    assert refused(bind, mc, 0, piece()) == (1, "MC328")
    assert accepted(bind, mc, 0, piece(handle_types=FD)) == ""


@pytest.mark.usefixtures("either")
def test_imported_memory_counts_as_shareable(bind: Bind) -> None:
    handle = imported(memory(handle_types=FD))
    assert driver.mem_get_allocation_properties_from_handle(handle).requested_handle_types == 0  # recorded
    mem = Piece(handle, mapped(handle), 0)
    assert accepted(bind, team(handle_types=FD), 0, mem) == ""
    assert accepted(bind, imported(team(handle_types=FD)), 0, mem) == ""


@pytest.mark.usefixtures("strict")
def test_the_original_and_the_import_are_one_object() -> None:
    mc = bare_object(handle_types=FD)
    other = imported(mc)
    driver.multicast_add_device(mc, 0)
    driver.multicast_add_device(other, 1)
    assert accepted(bind_mem, mc, 0, memory(handle_types=FD), 0, STEP, 0) == ""
    assert refused(bind_mem, other, 0, memory(handle_types=FD), 0, STEP, 0) == (1, "MC313")


def test_the_location_constants_are_the_drivers() -> None:
    assert allocation_prop(DEVICE).location.type == driver.MemLocationType.DEVICE
    assert (HOST, HOST_NUMA) == (driver.MemLocationType.HOST, driver.MemLocationType.HOST_NUMA)


# ---- addresses


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("names_device", [False, True])
def test_a_bind_by_address_needs_no_access(names_device: bool) -> None:
    handle, form = memory(), Bind(by_address=True, names_device=names_device)
    assert accepted(form, team(), 0, Piece(handle, mapped(handle, STEP, []), 0)) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("names_device", [False, True])
def test_a_bind_by_address_ends_with_the_mapping_not_with_the_memory(names_device: bool) -> None:
    mc, form, ptr = team(size=2 * STEP), Bind(by_address=True, names_device=names_device), reserve(2 * STEP)
    driver.mem_map(ptr, STEP, 0, memory(0, 2 * STEP), 0)
    assert refused(form, mc, 0, Piece(0, ptr, 0), 0, 2 * STEP) == (1, "MC311")
    driver.mem_map(ptr + STEP, STEP, 0, memory(), 0)  # a neighbour is another mapping
    assert refused(form, mc, 0, Piece(0, ptr, 0), 0, 2 * STEP) == (1, "MC311")
    assert accepted(form, mc, 0, Piece(0, ptr, 0), 0, STEP) == ""
