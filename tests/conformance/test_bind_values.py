"""Sizes, offsets, flags and bounds of the four binds: the limit is refused one step beyond, accepted at it."""

import pytest
from builders import (
    MIB,
    PAGE,
    STEP,
    Bind,
    accepted,
    ask,
    memory,
    object_prop,
    piece,
    refused,
    team,
)
from cuda.bindings._v2 import driver

pytestmark = pytest.mark.usefixtures("strict")


@pytest.mark.parametrize("size", [1, MIB, STEP - 1, STEP + 1, 3 * MIB])
def test_size_is_a_multiple_of_the_minimum(bind: Bind, size: int) -> None:
    mc, mem = team(size=2 * STEP), piece(size=2 * STEP)
    assert refused(bind, mc, 0, mem, 0, size) == (1, "MC304")
    assert accepted(bind, mc, 0, mem, 0, STEP) == ""


def test_a_refused_size_names_the_nearest_legal_ones(bind: Bind) -> None:
    answer = ask(bind, team(size=2 * STEP), 0, piece(size=2 * STEP), 0, 3 * MIB)
    assert "size 3145728 is not a multiple of 2097152" in answer.text
    assert "nearest 2097152 or 4194304" in answer.text


@pytest.mark.parametrize("mc_offset", [1, 4096, STEP - 256, STEP + 256])
def test_mc_offset_is_a_multiple_of_the_minimum(bind: Bind, mc_offset: int) -> None:
    mc, mem = team(size=4 * STEP), piece()
    assert refused(bind, mc, mc_offset, mem) == (1, "MC305")
    assert accepted(bind, mc, STEP, mem) == ""


@pytest.mark.parametrize("offset", [1, 256, 4096, MIB, STEP + 256])
def test_memory_begins_at_a_multiple_of_the_minimum(bind: Bind, offset: int) -> None:
    mc, mem = team(size=2 * STEP), piece(size=4 * STEP)
    assert refused(bind, mc, 0, mem, offset) == (1, "MC307" if bind.by_address else "MC306")
    assert accepted(bind, mc, 0, mem, STEP) == ""


def test_size_zero(bind: Bind) -> None:
    mc, mem = team(), piece()
    assert refused(bind, mc, 0, mem, 0, 0) == (1, "MC302")
    assert accepted(bind, mc, 0, mem, 0, STEP) == ""


@pytest.mark.parametrize("flags", [1, 1 << 31, 1 << 63])
def test_flags_are_zero(bind: Bind, flags: int) -> None:
    mc, mem = team(), piece()
    assert refused(bind, mc, 0, mem, 0, STEP, flags) == (1, "MC301")
    assert accepted(bind, mc, 0, mem, 0, STEP, 0) == ""


@pytest.mark.parametrize(("mc_offset", "size"), [(0, 3), (1, 2), (2, 1), (1 << 40, 1)])
def test_the_bind_ends_within_the_object(bind: Bind, mc_offset: int, size: int) -> None:
    mc, mem = team(size=2 * STEP), piece(size=4 * STEP)
    assert refused(bind, mc, mc_offset * STEP, mem, 0, size * STEP) == (1, "MC308")
    assert accepted(bind, mc, 0, mem, 0, 2 * STEP) == ""


@pytest.mark.parametrize(("offset", "size"), [(0, 3), (1, 2), (2, 1)])
def test_the_bind_ends_within_the_memory(bind: Bind, offset: int, size: int) -> None:
    mc, mem = team(size=4 * STEP), piece(size=2 * STEP)
    beyond = "MC310"
    if bind.by_address:  # an address behind the mapping points to nothing at all
        beyond = "MC321" if offset == 2 else "MC311"
    assert refused(bind, mc, 0, mem, offset * STEP, size * STEP) == (1, beyond)
    assert accepted(bind, mc, 0, mem, STEP, STEP) == ""


def test_offsets_near_the_end_of_64_bits_do_not_wrap(bind: Bind) -> None:
    mc, mem = team(size=2 * STEP), piece()
    top = (1 << 64) - STEP
    assert refused(bind, mc, top, mem, 0, STEP) == (1, "MC308")
    assert refused(driver.multicast_bind_mem, mc, 0, mem.handle, top, STEP, 0) == (1, "MC310")
    assert refused(driver.multicast_bind_mem, mc, 0, mem.handle, 0, top, 0) == (1, "MC310")


def test_a_bind_off_the_recommended_granularity_is_advised_against() -> None:
    assert driver.multicast_get_granularity(object_prop(size=2 * PAGE), 1) == PAGE
    mc, mem = team(size=2 * PAGE), memory(0, 2 * PAGE)
    assert accepted(driver.multicast_bind_mem, mc, 0, mem, 0, PAGE, 0) == ""
    assert accepted(driver.multicast_bind_mem, mc, PAGE, mem, PAGE, STEP, 0) == "MC312"


@pytest.mark.parametrize(("mc_offset", "size"), [(0, 2), (STEP, 1), (STEP, 2), (2 * STEP, 1)])
def test_binds_of_a_device_do_not_overlap(bind: Bind, mc_offset: int, size: int) -> None:
    mc, first, second = team(size=8 * STEP), piece(size=2 * STEP), piece(size=2 * STEP)
    driver.multicast_bind_mem(mc, STEP, first.handle, 0, 2 * STEP, 0)
    assert refused(bind, mc, mc_offset, second, 0, size * STEP) == (1, "MC313")
    assert accepted(bind, mc, 3 * STEP, second, 0, 2 * STEP) == ""


def test_other_devices_bind_the_same_range(bind: Bind) -> None:
    mc = team()
    assert accepted(bind, mc, 0, piece(0)) == ""
    assert accepted(bind, mc, 0, piece(1)) == ""


def test_several_disjoint_binds_in_any_order(bind: Bind) -> None:
    mc, mem = team(size=8 * STEP), piece(size=8 * STEP)
    for place in (5, 0, 7, 2):
        assert accepted(bind, mc, place * STEP, mem, place * STEP) == ""
    assert refused(bind, mc, 2 * STEP, mem, 3 * STEP) == (1, "MC313")
    assert accepted(bind, mc, 3 * STEP, mem, 3 * STEP) == ""


def test_the_same_memory_twice_in_one_object_is_undescribed(bind: Bind) -> None:
    mc, mem = team(size=4 * STEP), piece(size=2 * STEP)
    assert accepted(bind, mc, 0, mem, 0, STEP) == ""
    assert refused(bind, mc, STEP, mem, 0, 2 * STEP) == (1, "MC329")
    assert accepted(bind, mc, STEP, mem, STEP, STEP) == ""


def test_the_same_memory_in_two_objects(bind: Bind) -> None:
    mem = piece()
    for mc in (team(), team()):
        assert accepted(bind, mc, 0, mem) == ""
