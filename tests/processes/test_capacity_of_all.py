"""What all processes of a machine share and can use up: device memory, multicast slots, unaligned binds."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import rank_steps as steps
from builders import FABRIC, FD, GIB, STEP, ask, bare_object, mapped, memory
from cuda.bindings._v2 import driver
from ranks_here import Job, handed_over

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def two(start: Callable[..., Job]) -> Job:
    """Two ranks on the same device."""
    job = start(2, devices=2)
    job.all(steps.begin)
    return job


# ---- device memory


def test_what_one_allocates_the_others_miss(two: Job) -> None:
    a, b = two.ranks
    before = b(steps.free_bytes)
    handle = a(memory, 0, GIB)
    assert before - b(steps.free_bytes) == GIB
    other = b(memory, 1, GIB)  # another device: nothing to do with it
    assert before - a(steps.free_bytes) == GIB
    a(driver.mem_release, handle)
    b(driver.mem_release, other)
    assert b(steps.free_bytes) == before


def test_memory_of_all_is_used_up_together(two: Job) -> None:
    a, b = two.ranks
    free = a(steps.free_bytes) // STEP * STEP
    handle = a(memory, 0, free - GIB)
    answer = b(steps.ask_memory, 0, GIB + STEP)
    assert (answer.status, answer.refused) == (2, ("MC710",))
    assert "left on device 0" in answer.text
    fits = b(steps.ask_memory, 0, GIB)
    assert fits.status == 0
    assert a(steps.ask_memory, 0, STEP).status == 2
    a(driver.mem_release, handle)
    assert b(steps.ask_memory, 0, GIB).status == 0


def test_death_frees_memory_at_the_next_need(two: Job) -> None:
    a, b = two.ranks
    free = a(steps.free_bytes) // STEP * STEP
    a(memory, 0, free)
    assert b(steps.ask_memory, 0, STEP).status == 2
    a.kill()
    assert b(steps.ask_memory, 0, free).status == 0  # nobody but b looks on


def test_shared_memory_counts_once_and_until_the_last_has_gone(two: Job) -> None:
    a, b = two.ranks
    before = b(steps.free_bytes)
    taken = handed_over(a, b, a(memory, 0, GIB, FD))
    assert before - b(steps.free_bytes) == GIB
    a.kill()
    assert before - b(steps.free_bytes) == GIB
    b(driver.mem_release, taken)
    assert b(steps.free_bytes) == before


# ---- slots


def test_slots_are_those_of_all_processes(two: Job) -> None:
    a, b = two.ranks
    two.faults.set("slots=124")
    assert [a(steps.ask_bound_object, 0).status for _ in range(2)] == [0, 0]
    last = [b(steps.ask_bound_object, 1) for _ in range(3)]
    assert [answer.status for answer in last] == [0, 0, 2]
    assert last[2].refused == ("MC345",)
    assert "all 128 multicast slots of this fabric are taken" in last[2].text
    a.kill()
    assert b(steps.ask_bound_object, 1).status == 0  # its two slots are free again


def test_a_slot_that_only_a_descriptor_holds_is_found_free_once_that_is_closed(two: Job) -> None:
    a, b = two.ranks
    two.faults.set("slots=127")
    mc, fd = a(steps.bound_and_exported, 0)
    a(driver.mem_release, mc)
    assert b(steps.ask_bound_object, 1).status == 2
    a(os.close, fd)
    assert b(steps.ask_bound_object, 1).status == 0


def test_a_machine_has_128_slots(start: Callable[..., Job]) -> None:
    job = start(4, devices=4)
    for dev, rank in enumerate(job.ranks):
        rank(steps.begin, dev)
        rank.begin(steps.bound_objects, dev, 32)
    assert [rank.result() for rank in job.ranks] == [32] * 4
    assert [rank(steps.bound_objects, dev, 1) for dev, rank in enumerate(job.ranks)] == [0] * 4


@pytest.mark.slow
def test_a_rack_has_1024_slots(start: Callable[..., Job]) -> None:
    job = start(8, "gb200-nvl72", tuple(range(8)))
    for rank in job.ranks:
        rank(steps.begin)
        rank.begin(steps.bound_objects, 0, 128)
    assert [rank.result(60) for rank in job.ranks] == [128] * 8
    assert job.ranks[3](steps.bound_objects, 0, 1) == 0


def test_unaligned_binds_of_a_device_are_those_of_all_processes(start: Callable[..., Job]) -> None:
    job = start(2, "rubin-nvl72", nodes=1)
    job.all(steps.begin)
    a, b = job.ranks
    job.faults.set("unaligned=2")
    answers = [rank(steps.ask_unaligned, 0) for rank in (a, b, a)]
    assert [answer.status for answer in answers] == [0, 0, 47]
    b.kill()
    assert [a(steps.ask_unaligned, 0).status for _ in range(2)] == [0, 47]  # the one that b had


# ---- nodes


def test_descriptors_stay_on_their_node_and_fabric_handles_do_not(start: Callable[..., Job]) -> None:
    job = start(3, "gb200-nvl72", (0, 0, 1), nodes=2)
    job.all(steps.begin)
    here, beside, there = job.ranks
    handle = here(memory, 0, STEP, FD | FABRIC)
    assert handed_over(here, beside, handle)
    fd = here.descriptor(steps.export, handle)
    answer = there.with_descriptor(fd, steps.ask_import)
    os.close(fd)
    assert (answer.status, answer.refused) == (999, ("MC609",))
    ptr = here(mapped, handle)
    here(steps.put, ptr, 42)
    far = there(mapped, there(steps.take_fabric, here(steps.export, handle, FABRIC)))
    assert there(steps.seen, far) == [42]


def test_a_rank_has_the_devices_of_its_node(start: Callable[..., Job]) -> None:
    job = start(2, "gb200-nvl72", (0, 1), nodes=2)
    job.all(steps.begin)
    assert job.all(driver.device_get_count) == [4, 4]
    for rank in job.ranks:
        assert rank(memory, 3)
        assert rank(ask, driver.device_get, 4).status == 101
    assert sorted(allocation.device for allocation in job.picture().allocations) == [3, 7]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_team_of_a_whole_rack(start: Callable[..., Job]) -> None:
    """72 ranks on 18 nodes: one object, everybody's memory, a store of the last one."""
    job = start(72, "gb200-nvl72", tuple(k // 4 for k in range(72)))
    for k, rank in enumerate(job.ranks):
        rank.begin(steps.begin, k % 4)
    for rank in job.ranks:
        rank.result(60)
    first, *others = job.ranks
    mc = first(bare_object, 72, STEP, FABRIC)
    data = first(steps.export, mc, FABRIC)
    handles = [mc, *(rank(steps.take_fabric, data) for rank in others)]
    for k, rank in enumerate(job.ranks):
        rank.begin(steps.join_whole, handles[k], k % 4)
    answers = [rank.result(60) for rank in job.ranks]
    assert all(ptr and address for ptr, address in answers)
    job.ranks[71](steps.store, answers[71][0], 3.0, 1024, "float32")
    assert [rank(steps.values, answers[k][1], 1024, "float32") for k, rank in enumerate(job.ranks)] == [[3.0]] * 72
    assert job.ranks[40](steps.summed, answers[40][0], 1024, "float32") == [216.0]
    (obj,) = job.picture().multicast
    assert len(obj.bindings) == 72
