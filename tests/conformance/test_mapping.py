"""Mapping a multicast object, and who may use the mapping."""

import numpy as np
import pytest
from builders import (
    HOST,
    PAGE,
    READ,
    STEP,
    accepted,
    access,
    ask,
    mapped,
    memory,
    refused,
    reserve,
    team,
    unmapped,
)
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim

map_, set_access = driver.mem_map, driver.mem_set_access


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("size", [1, STEP - 1, STEP + 4096])
def test_the_size_is_a_multiple_of_the_granularity(size: int) -> None:
    mc, ptr = team(size=2 * STEP), reserve(2 * STEP)
    assert refused(map_, ptr, size, 0, mc, 0) == (1, "MC502")
    assert accepted(map_, ptr, STEP, 0, mc, 0) == ""


@pytest.mark.usefixtures("strict")
def test_the_address_is_a_multiple_of_the_granularity() -> None:
    mc, ptr = team(), reserve(2 * STEP)
    assert refused(map_, ptr + 4096, STEP, 0, mc, 0) == (1, "MC501")
    assert accepted(map_, ptr + STEP, STEP, 0, mc, 0) == ""


@pytest.mark.usefixtures("strict")
def test_the_offset_is_zero() -> None:
    mc, ptr = team(size=2 * STEP), reserve(2 * STEP)
    assert refused(map_, ptr, STEP, 4096, mc, 0) == (1, "MC503")
    assert refused(map_, ptr, STEP, STEP, mc, 0) == (801, "MC507")
    assert accepted(map_, ptr, STEP, 0, mc, 0) == ""


@pytest.mark.usefixtures("strict")
def test_the_mapping_lies_within_the_object() -> None:
    mc, ptr = team(), reserve(2 * STEP)
    assert refused(map_, ptr, 2 * STEP, 0, mc, 0) == (1, "MC505")
    assert accepted(map_, ptr, STEP, 0, mc, 0) == ""


@pytest.mark.usefixtures("either")
def test_the_mapping_lies_in_a_free_reservation() -> None:
    mc, ptr = team(), reserve(2 * STEP)
    assert refused(map_, STEP, STEP, 0, mc, 0) == (1, "MC821")
    assert refused(map_, ptr, 0, 0, mc, 0) == (1, "MC824")
    assert refused(map_, ptr, STEP, 0, mc, 1) == (1, "MC005")
    assert accepted(map_, ptr, STEP, 0, mc, 0) == ""
    assert refused(map_, ptr, STEP, 0, mc, 0) == (1, "MC823")
    assert accepted(map_, ptr + STEP, STEP, 0, mc, 0) == ""


@pytest.mark.usefixtures("strict")
def test_a_mapping_off_the_recommended_granularity_is_advised_against() -> None:
    mc = team(size=2 * PAGE)
    ptr = driver.mem_address_reserve(2 * PAGE, PAGE, 0, 0)
    assert accepted(map_, ptr, PAGE, 0, mc, 0) == ""
    assert accepted(map_, ptr + PAGE, STEP, 0, mc, 0) == "MC514"


@pytest.mark.usefixtures("either")
def test_an_object_is_mapped_more_than_once() -> None:
    mc = team(1)
    driver.multicast_bind_mem(mc, 0, memory(), 0, STEP, 0)
    first, second = mapped(mc), mapped(mc)
    multimem.store(first, np.arange(100, dtype=np.uint32))
    assert (multimem.load_reduce(second, 100, np.uint32) == np.arange(100)).all()
    unmapped(first)
    assert (multimem.load_reduce(second, 100, np.uint32) == np.arange(100)).all()


@pytest.mark.usefixtures("either")
def test_a_part_of_an_object_is_mapped() -> None:
    mc = team(1, 4 * STEP)
    driver.multicast_bind_mem(mc, 0, memory(0, 4 * STEP), 0, 4 * STEP, 0)
    part, whole = mapped(mc, 2 * STEP), mapped(mc, 4 * STEP)
    multimem.store(part + 2 * STEP - 8, np.arange(8, dtype=np.uint8))
    assert (multimem.load_reduce(whole + 2 * STEP - 8, 2, np.uint32) == [0x03020100, 0x07060504]).all()
    with pytest.raises(ValueError, match=r"8 bytes at .* end beyond the mapping; at most 4 lie from there"):
        multimem.store(part + 2 * STEP - 4, np.arange(8, dtype=np.uint8))


@pytest.mark.usefixtures("either")
def test_unmapping_takes_whole_mappings() -> None:
    ptr = mapped(team(size=2 * STEP), 2 * STEP)
    assert refused(driver.mem_unmap, ptr, STEP) == (1, "MC830")
    assert refused(driver.mem_address_free, ptr, 2 * STEP) == (1, "MC809")
    assert accepted(driver.mem_unmap, ptr, 2 * STEP) == ""
    assert accepted(driver.mem_address_free, ptr, 2 * STEP) == ""


# ---- before and after the bind


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("map_first", [True, False])
def test_binding_and_mapping_in_either_order(map_first: bool) -> None:
    mc, ptr = team(), 0
    if map_first:
        ptr = mapped(mc, STEP, [0, 1])
    for dev in (0, 1):
        driver.multicast_bind_mem(mc, 0, memory(dev), 0, STEP, 0)
    ptr = ptr or mapped(mc, STEP, [0, 1])
    multimem.store(ptr, np.full(8, 3, np.int32))
    assert (multimem.load_reduce(ptr, 8, np.int32) == 6).all()


@pytest.mark.usefixtures("either")
def test_a_mapping_follows_binds_and_unbinds() -> None:
    mc = team(size=2 * STEP)
    ptr = mapped(mc, 2 * STEP, [0, 1])
    for dev in (0, 1):
        driver.multicast_bind_mem(mc, STEP, memory(dev), 0, STEP, 0)
    multimem.store(ptr + STEP, np.ones(4, np.uint32))
    driver.multicast_unbind(mc, 1, STEP, STEP)
    with pytest.raises(ValueError, match=rf"MC532.*device 1 has nothing bound at bytes \[{STEP}, {STEP + 16}\)"):
        multimem.store(ptr + STEP, np.ones(4, np.uint32))
    driver.multicast_bind_mem(mc, STEP, memory(1), 0, STEP, 0)
    multimem.store(ptr + STEP, np.full(4, 5, np.uint32))
    assert (multimem.load_reduce(ptr + STEP, 4, np.uint32) == 10).all()


# ---- access


@pytest.mark.usefixtures("either")
def test_without_access_nobody_may() -> None:
    mc = team(1)
    driver.multicast_bind_mem(mc, 0, memory(), 0, STEP, 0)
    ptr = mapped(mc, STEP, [])
    for use_it in (lambda: multimem.store(ptr, np.ones(1)), lambda: multimem.load_reduce(ptr, 1)):
        with pytest.raises(ValueError, match="MC533"):
            use_it()
    set_access(ptr, STEP, access(0), 1)
    multimem.store(ptr, np.ones(1))


@pytest.mark.usefixtures("either")
def test_access_to_read_is_no_access_to_write() -> None:
    mc = team(1)
    driver.multicast_bind_mem(mc, 0, memory(), 0, STEP, 0)
    ptr = mapped(mc, STEP, [0], READ)
    assert (multimem.load_reduce(ptr, 4) == 0).all()
    with pytest.raises(ValueError, match=r"MC533.*has access 1.*needs 3"):
        multimem.store(ptr, np.ones(4, np.float32))
    with pytest.raises(ValueError, match="MC533"):
        multimem.reduce(ptr, np.ones(4, np.float32))


def test_access_for_a_device_outside_the_team(start) -> None:
    start(devices=3, profile="strict")
    ptr = mapped(team(2), STEP, [0, 1])
    assert refused(set_access, ptr, STEP, access(2), 1) == (101, "MC512")
    sim.stop()
    start(devices=3, profile="hardware")
    ptr = mapped(team(2), STEP, [0, 1])
    answer = refused_after_a_finding(set_access, ptr, STEP, access(2), 1)
    assert answer == (401, ("MC513",), ("MC512",))


def refused_after_a_finding(call, *args):
    answer = ask(call, *args)
    return answer.status, answer.refused, answer.found


@pytest.mark.usefixtures("strict")
def test_one_bad_grant_gives_nobody_access() -> None:
    ptr = mapped(team(1), STEP, [])
    assert refused(set_access, ptr, STEP, access(0, 1), 2) == (101, "MC512")
    assert _granted(ptr, 0) == 0
    set_access(ptr, STEP, access(0), 1)
    assert _granted(ptr, 0) == 3


def _granted(ptr: int, dev: int) -> int:
    where = driver.MemLocation_v1()
    where.type, where.id = driver.MemLocationType.DEVICE, dev
    return driver.mem_get_access(where, ptr)


@pytest.mark.usefixtures("either")
def test_the_host_has_no_access() -> None:
    ptr = mapped(team(), STEP, [])
    assert refused(set_access, ptr, STEP, access(0, kind=HOST), 1) == (801, "MC511")
    assert accepted(set_access, ptr, STEP, access(0), 1) == ""


@pytest.mark.usefixtures("either")
def test_access_to_whole_mappings() -> None:
    ptr = mapped(team(size=2 * STEP), 2 * STEP, [])
    assert refused(set_access, ptr, STEP - 1, access(0), 1) == (1, "MC510")
    assert refused(set_access, ptr + 4096, STEP, access(0), 1) == (1, "MC509")
    assert refused(set_access, ptr, STEP, access(0), 1) == (1, "MC842")
    assert accepted(set_access, ptr, 2 * STEP, access(0), 1) == ""


@pytest.mark.usefixtures("either")
def test_an_object_has_no_allocation_properties(either: str) -> None:
    properties, mc = driver.mem_get_allocation_properties_from_handle, team()
    if either == "strict":
        assert refused(properties, mc) == (1, "MC515")
    else:
        assert accepted(properties, mc) == "MC515"
    assert accepted(properties, memory()) == ""
