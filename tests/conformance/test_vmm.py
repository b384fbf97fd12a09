"""Physical memory, reservations, mappings and access without multicast: the limits, in the profile that holds them."""

import ctypes
import mmap
import os
import struct
from typing import Any

import pytest
from builders import (
    DEVICE,
    FABRIC,
    HOST,
    HOST_NUMA,
    MIB,
    STEP,
    accepted,
    access,
    allocation_prop,
    ask,
    host_memory,
    mapped,
    memory,
    refused,
    reserve,
    team,
    use,
)
from cuda.bindings._v2 import driver

from cumulticast import sim

create, map_, unmap = driver.mem_create, driver.mem_map, driver.mem_unmap
set_access, free = driver.mem_set_access, driver.mem_address_free
PINNED = 1


# ---- physical memory


def raw_prop(
    kind: int = PINNED,
    types: int = 0,
    where: int = DEVICE,
    number: int = 0,
    win32: int = 0,
    rdma: int = 0,
    usage: int = 0,
    reserved: bytes = bytes(4),
) -> Any:
    """Make properties of any values, those that the bindings hide included."""
    prop = driver.MemAllocationProp_v1()
    data = struct.pack("<iiiiQBBH4s", kind, types, where, number, win32, 0, rdma, usage, reserved)
    ctypes.memmove(prop.ptr, data, len(data))
    return prop


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize(
    ("prop", "answer"),
    [
        ({"kind": 0}, (1, "MC703")),
        ({"kind": 9}, (1, "MC703")),
        ({"where": 0}, (1, "MC704")),
        ({"where": 99}, (1, "MC704")),
        ({"where": 4}, (1, "MC705")),
        ({"number": 2}, (101, "MC004")),
        ({"number": -1}, (101, "MC004")),
        ({"where": HOST, "types": 1}, (1, "MC706")),
        ({"where": HOST_NUMA, "number": 7}, (1, "MC707")),
        ({"types": 2}, (1, "MC708")),
        ({"types": 16}, (1, "MC708")),
        ({"win32": 64}, (1, "MC709")),
        ({"where": 6, "number": 0x0100}, (1, "MC711")),
        ({"usage": 4}, (1, "MC713")),
        ({"reserved": b"\1\0\0\0"}, (1, "MC714")),
    ],
    ids=str,
)
def test_properties(prop: dict[str, Any], answer: tuple[int, str]) -> None:
    assert refused(create, STEP, raw_prop(**prop), 0) == answer
    assert accepted(create, STEP, raw_prop(), 0) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize(
    "prop",
    [
        {"where": HOST},
        {"where": HOST, "number": 77},
        {"where": HOST_NUMA},
        {"where": 6},
        {"types": 1 | FABRIC},
        {"usage": 4, "rdma": 1},
        {"rdma": 1},
        {"number": 1},
    ],
    ids=str,
)
def test_properties_at_the_limit(prop: dict[str, Any]) -> None:
    assert accepted(create, STEP, raw_prop(**prop), 0) == ""


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(("size", "rule"), [(0, "MC701"), (1, "MC702"), (MIB, "MC702"), (STEP + 4096, "MC702")])
def test_the_size_of_memory(size: int, rule: str) -> None:
    assert refused(create, size, allocation_prop(), 0) == (1, rule)
    assert accepted(create, STEP, allocation_prop(), 0) == ""


@pytest.mark.usefixtures("either")
def test_flags_and_pointers_of_memory() -> None:
    assert refused(create, STEP, allocation_prop(), 1) == (1, "MC005")
    assert refused(create, STEP, None, 0) == (1, "MC003")


@pytest.mark.usefixtures("either")
def test_memory_that_does_not_fit() -> None:
    total = driver.device_total_mem_v2(0)
    whole = total - total % STEP
    assert refused(create, whole + STEP, allocation_prop(), 0) == (2, "MC710")
    everything = memory(0, whole)
    assert refused(create, STEP, allocation_prop(), 0) == (2, "MC710")
    assert accepted(create, STEP, allocation_prop(DEVICE, 1), 0) == ""
    driver.mem_release(everything)
    assert accepted(create, STEP, allocation_prop(), 0) == ""


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("option", [2, -1])
def test_granularity(option: int) -> None:
    query = driver.mem_get_allocation_granularity
    assert refused(query, allocation_prop(), option) == (1, "MC451")
    assert [query(allocation_prop(), legal) for legal in (0, 1)] == [STEP, STEP]


@pytest.mark.usefixtures("either")
def test_properties_come_back() -> None:
    query = driver.mem_get_allocation_properties_from_handle
    handle = create(STEP, raw_prop(types=1, number=1, rdma=1), 0)
    prop = query(handle)
    assert (prop.type, prop.requested_handle_types, prop.location.id) == (PINNED, 1, 1)
    assert refused(query, 0) == (1, "MC006")
    driver.mem_release(handle)
    assert refused(query, handle) == (1, "MC007")


# ---- reservations


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ((0, 0, 0, 0), (1, "MC801")),
        ((mmap.PAGESIZE - 1, 0, 0, 0), (1, "MC802")),
        ((STEP, 3 * STEP, 0, 0), (1, "MC804")),
        ((STEP, 0, 1, 0), (1, "MC805")),
        ((STEP, 0, 0, 1), (1, "MC005")),
        ((1 << 60, 0, 0, 0), (2, "MC806")),
    ],
)
def test_reservations_by_the_documents(arguments: tuple[int, ...], answer: tuple[int, str]) -> None:
    assert refused(driver.mem_address_reserve, *arguments) == answer
    assert accepted(driver.mem_address_reserve, mmap.PAGESIZE, 0, 0, 0) == ""
    assert accepted(driver.mem_address_reserve, STEP, 4 * STEP, STEP, 0) == ""


@pytest.mark.usefixtures("hardware")
def test_reservations_as_recorded() -> None:
    assert refused(driver.mem_address_reserve, mmap.PAGESIZE, 0, 0, 0) == (1, "MC803")
    assert refused(driver.mem_address_reserve, STEP, 0, mmap.PAGESIZE, 0) == (1, "MC810")
    assert accepted(driver.mem_address_reserve, STEP, 0, 0, 0) == ""


@pytest.mark.usefixtures("either")
def test_freeing_a_reservation() -> None:
    ptr = reserve(2 * STEP)
    assert refused(free, 0, STEP) == (1, "MC003")
    assert refused(free, ptr + STEP, STEP) == (1, "MC807")
    assert refused(free, ptr, STEP) == (1, "MC808")
    map_(ptr, STEP, 0, memory(), 0)
    assert refused(free, ptr, 2 * STEP) == (1, "MC809")
    unmap(ptr, STEP)
    assert accepted(free, ptr, 2 * STEP) == ""
    assert refused(free, ptr, 2 * STEP) == (1, "MC807")


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("alignment", [STEP, 64 * STEP, 1 << 33])
def test_alignment(alignment: int) -> None:
    assert driver.mem_address_reserve(STEP, alignment, 0, 0) % alignment == 0


# ---- mappings


@pytest.mark.usefixtures("either")
def test_a_mapping_wants_a_place() -> None:
    mem, ptr = memory(), reserve(2 * STEP)
    assert refused(map_, 64 * STEP, STEP, 0, mem, 0) == (1, "MC821")
    assert refused(map_, ptr, 0, 0, mem, 0) == (1, "MC824")
    assert refused(map_, ptr + 4096, STEP, 0, mem, 0) == (1, "MC825")
    assert refused(map_, ptr, STEP, 0, mem, 1) == (1, "MC005")
    assert refused(map_, ptr, STEP, 0, 0, 0) == (1, "MC006")
    assert accepted(map_, ptr, STEP, 0, mem, 0) == ""
    assert refused(map_, ptr, STEP, 0, mem, 0) == (1, "MC823")
    assert accepted(map_, ptr + STEP, STEP, 0, mem, 0) == ""


@pytest.mark.usefixtures("strict")
def test_a_mapping_by_the_documents() -> None:
    mem, ptr = memory(0, 2 * STEP), reserve(4 * STEP)
    assert refused(map_, ptr, STEP + 4096, 0, mem, 0) == (1, "MC826")
    assert refused(map_, ptr, 3 * STEP, 0, mem, 0) == (1, "MC829")
    assert refused(map_, ptr, STEP, STEP, mem, 0) == (801, "MC827")
    assert refused(map_, ptr + 3 * STEP, 2 * STEP, 0, mem, 0) == (1, "MC822")
    assert accepted(map_, ptr, STEP, 0, mem, 0) == ""
    assert accepted(map_, ptr + 2 * STEP, 2 * STEP, 0, mem, 0) == ""


@pytest.mark.usefixtures("hardware")
def test_a_mapping_as_recorded() -> None:
    mem, ptr = memory(0, 2 * STEP), reserve(4 * STEP)
    assert refused(map_, ptr, STEP, 0, mem, 0) == (801, "MC828")
    assert accepted(map_, ptr, 2 * STEP, 0, mem, 0) == ""
    assert accepted(map_, ptr + 3 * STEP, 2 * STEP, 0, mem, 0) == "MC822"


@pytest.mark.usefixtures("strict")
def test_unmapping_by_the_documents() -> None:
    ptr = reserve(4 * STEP)
    for k in (0, 1):
        map_(ptr + k * STEP, STEP, 0, memory(), 0)
    assert refused(unmap, 64 * STEP, STEP) == (1, "MC833")
    assert refused(unmap, ptr, 0) == (1, "MC834")
    assert refused(unmap, ptr, 4 * STEP) == (1, "MC831")
    assert refused(unmap, ptr, 2 * STEP) == (1, "MC832")
    assert refused(unmap, ptr + STEP // 2, STEP) == (1, "MC830")
    assert accepted(unmap, ptr, STEP) == accepted(unmap, ptr + STEP, STEP) == ""
    assert refused(unmap, ptr, STEP) == (1, "MC831")


@pytest.mark.usefixtures("hardware")
def test_unmapping_as_recorded() -> None:
    ptr = reserve(4 * STEP)
    for k in (0, 1):
        map_(ptr + k * STEP, STEP, 0, memory(), 0)
    assert accepted(unmap, ptr, 4 * STEP) == "MC831 MC832"


# ---- access


@pytest.mark.usefixtures("either")
def test_access() -> None:
    ptr = mapped(memory(0, 2 * STEP), 2 * STEP, [])
    assert refused(set_access, ptr, 0, access(0), 1) == (1, "MC852")
    assert refused(set_access, ptr, 2 * STEP, access(0), 0)[1] in ("MC844", "MC003")
    assert refused(set_access, ptr, STEP + 1, access(0), 1) == (1, "MC843")
    assert refused(set_access, ptr, STEP, access(0), 1) == (1, "MC842")
    assert refused(set_access, ptr, 4 * STEP, access(0), 1) == (1, "MC841")
    assert refused(set_access, ptr, 2 * STEP, access(0, flags=7), 1) == (1, "MC845")
    assert refused(set_access, ptr, 2 * STEP, access(2), 1) == (1, "MC846")
    assert refused(set_access, ptr, 2 * STEP, access(0, kind=HOST), 1) == (801, "MC847")
    assert refused(set_access, ptr, 2 * STEP, access(0, kind=99), 1) == (1, "MC850")
    assert accepted(set_access, ptr, 2 * STEP, access(0, 1), 2) == ""


@pytest.mark.usefixtures("either")
def test_host_access_to_host_memory() -> None:
    ptr = mapped(host_memory(0), STEP, [])
    assert accepted(set_access, ptr, STEP, access(0, kind=HOST), 1) == ""


@pytest.mark.usefixtures("either")
def test_asking_for_access() -> None:
    ptr, query = mapped(memory(), STEP, [1], 1), driver.mem_get_access
    assert [query(where(dev), ptr + 5) for dev in (0, 1)] == [0, 1]
    assert refused(query, where(0), ptr + STEP) == (1, "MC848")
    assert refused(query, where(2), ptr) == (101, "MC851")


def where(dev: int) -> Any:
    return allocation_prop(DEVICE, dev).location


@pytest.mark.usefixtures("either")
def test_retaining_from_what_has_no_handle() -> None:
    use(0)
    ptr = driver.mem_alloc_v2(STEP)
    assert refused(driver.mem_retain_allocation_handle, ptr) == (1, "MC863")
    driver.mem_free_v2(ptr)


# ---- dma-buf descriptors


@pytest.mark.usefixtures("either")
def test_descriptors_of_ranges() -> None:
    query, ptr, mc_ptr = driver.mem_get_handle_for_address_range, mapped(memory(0, 2 * STEP), 2 * STEP), mapped(team())
    assert refused(query, ptr, STEP, 2, 0) == (1, "MC881")
    assert refused(query, ptr + 1, STEP, 1, 0) == (1, "MC882")
    assert refused(query, ptr, STEP + 1, 1, 0) == (1, "MC882")
    assert refused(query, ptr, 4 * STEP, 1, 0) == (1, "MC883")
    assert refused(query, ptr, STEP, 1, 8) == (1, "MC886")
    assert refused(query, mc_ptr, STEP, 1, 0) == (801, "MC887")
    fd = ask(query, ptr, STEP, 1, 0).value
    os.close(fd)


# ---- everything


def test_before_init() -> None:
    sim.start(devices=1)
    try:
        calls = [
            (driver.multicast_create, None),
            (driver.multicast_add_device, 0, 0),
            (driver.multicast_bind_mem, 0, 0, 0, 0, 0, 0),
            (driver.multicast_unbind, 0, 0, 0, 0),
            (driver.mem_create, STEP, allocation_prop(), 0),
            (driver.mem_map, 0, 0, 0, 0, 0),
            (driver.device_get_count,),
        ]
        for call, *args in calls:
            assert refused(call, *args) == (3, "MC001"), call.__name__
        assert refused(driver.init, 1) == (1, "MC002")
        assert accepted(driver.init, 0) == accepted(driver.init, 0) == ""
    finally:
        sim.stop()


@pytest.mark.usefixtures("either")
def test_no_context_is_needed() -> None:
    driver.ctx_set_current(0)
    mc = team()
    driver.multicast_bind_mem(mc, 0, memory(), 0, STEP, 0)
    assert mapped(mc, STEP, [0, 1])
    assert driver.ctx_get_current() == 0
