"""Memory and multicast objects between processes: by descriptors, however they travel, and by fabric handles."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import rank_steps as steps
from builders import FABRIC, FD, STEP, ask, bare_object, mapped, memory, reserve, unmapped
from cuda.bindings._v2 import driver
from ranks_here import Job, Rank, eventually, handed_over

pytestmark = pytest.mark.timeout(40)
MAKERS = pytest.mark.parametrize("make", [memory, bare_object], ids=["memory", "object"])


def made(rank: Rank, make: Callable[..., int], types: int = FD) -> int:
    """Make shareable memory of device 0, or an object for two devices."""
    return rank(make, 0 if make is memory else 2, STEP, types)


@pytest.fixture
def two(start: Callable[..., Job]) -> Job:
    job = start(2, devices=2)
    for number, rank in enumerate(job.ranks):
        rank(steps.begin, number)
    return job


def things(job: Job) -> int:
    """Count the allocations and objects of the world."""
    picture = job.picture()
    return len(picture.allocations) + len(picture.multicast)


# ---- how a descriptor travels


def by_scm_rights(a: Rank, b: Rank, handle: int, path: str) -> int:
    b.begin(steps.listen_at, path)
    assert eventually(lambda: os.path.exists(path))
    a(steps.send_to, path, handle)
    return int(b.result())


def through_a_third_process(a: Rank, b: Rank, handle: int, path: str) -> int:
    """The test holds the descriptor for a while; it is no process of the world."""
    return handed_over(a, b, handle)


def duplicated(a: Rank, b: Rank, handle: int, path: str) -> int:
    fd = a.descriptor(steps.export, handle)
    other = os.dup(fd)
    os.close(fd)
    try:
        return int(b.with_descriptor(other, steps.take_descriptor))
    finally:
        os.close(other)


def by_proc(a: Rank, b: Rank, handle: int, path: str) -> int:
    fd = a(steps.export, handle)
    taken = b(steps.open_other, a.pid, fd)
    a(os.close, fd)
    return int(taken)


def by_pidfd_getfd(a: Rank, b: Rank, handle: int, path: str) -> int:
    fd = a(steps.export, handle)
    taken = b(steps.fetch, a.pid, fd)
    a(os.close, fd)
    if isinstance(taken, str):
        pytest.skip(f"{taken} (ptrace of other processes is restricted here)")
    return int(taken)


WAYS = pytest.mark.parametrize("way", [by_scm_rights, through_a_third_process, duplicated, by_proc, by_pidfd_getfd])


@MAKERS
@WAYS
def test_a_descriptor_travels(two: Job, tmp_path: Any, make: Any, way: Callable[..., int]) -> None:
    a, b = two.ranks
    handle = made(a, make)
    taken = way(a, b, handle, str(tmp_path / "socket"))
    assert things(two) == 1
    a(driver.mem_release, handle)
    assert things(two) == 1  # the importer holds it
    assert b(ask, driver.mem_release, taken).status == 0
    assert things(two) == 0


def test_an_inherited_descriptor(start: Callable[..., Job]) -> None:
    """The zygote inherits nothing of ranks; an ordinary child does: it starts a driver of its own."""
    job = start(1, devices=2)
    (a,) = job.ranks
    a(steps.begin)
    handle = made(a, memory)
    a(steps.put, a(mapped, handle), 9)
    assert a(steps.child_reads, handle) == "[9]"


@MAKERS
def test_the_exporter_closes_and_dies_and_the_descriptor_alone_keeps_the_object(two: Job, make: Any) -> None:
    a, b = two.ranks
    fd = a.descriptor(steps.export, made(a, make))
    a.kill()
    assert things(two) == 1
    assert b.with_descriptor(fd, steps.take_descriptor)
    os.close(fd)
    assert things(two) == 1
    b.kill()
    assert things(two) == 0


@MAKERS
def test_a_descriptor_that_nobody_imports_goes_with_its_last_copy(two: Job, make: Any) -> None:
    a, _ = two.ranks
    handle = made(a, make)
    fd = a.descriptor(steps.export, handle)
    a(driver.mem_release, handle)
    assert things(two) == 1
    os.close(fd)
    assert things(two) == 0


@MAKERS
def test_an_import_is_a_new_handle_and_the_exporter_may_import_too(two: Job, make: Any) -> None:
    a, b = two.ranks
    for _ in range(3):  # whatever handle values the processes happen to be at
        b(driver.mem_release, b(memory, 1))
    handle = made(a, make)
    fd = a.descriptor(steps.export, handle)
    own = a.with_descriptor(fd, steps.take_descriptor)
    first, second = (b.with_descriptor(fd, steps.take_descriptor) for _ in range(2))
    os.close(fd)
    assert own != handle
    assert first != second
    assert things(two) == 1
    for rank, value in ((a, handle), (a, own), (b, first), (b, second)):
        assert things(two) == 1
        rank(driver.mem_release, value)
    assert things(two) == 0


@MAKERS
def test_an_import_is_not_exported_again(two: Job, make: Any) -> None:
    a, b = two.ranks
    taken = handed_over(a, b, made(a, make))
    answer = b(ask, driver.mem_export_to_shareable_handle, taken, FD, 0)
    assert (answer.status, answer.refused) == (1, ("MC603",))


def test_descriptors_that_are_not_ours(two: Job, tmp_path: Any) -> None:
    _, b = two.ranks
    for fd in (os.open(tmp_path, os.O_RDONLY), os.open("/dev/null", os.O_RDWR), os.memfd_create("other")):
        answer = b.with_descriptor(fd, steps.ask_import)
        assert (answer.status, answer.refused) == (999, ("MC606",))
        os.close(fd)


def test_a_descriptor_of_another_world(two: Job, start: Callable[..., Job]) -> None:
    other = start(1, devices=2).ranks[0]
    other(steps.begin)
    fd = other.descriptor(steps.export, made(other, memory))
    answer = two.ranks[0].with_descriptor(fd, steps.ask_import)
    os.close(fd)
    assert (answer.status, answer.refused) == (999, ("MC606",))


def test_the_world_goes_by_several_names(two: Job, tmp_path: Any) -> None:
    (tmp_path / "link").symlink_to(two.world.path.parent)
    a, c = two.ranks[0], two.start(2, CUMULTICAST_WORLD=str(tmp_path / "link" / two.world.path.name))
    c(steps.begin, 1)
    for giver, taker in ((a, c), (c, a)):
        assert handed_over(giver, taker, made(giver, memory))
    assert things(two) == 2


# ---- fabric handles


@MAKERS
def test_a_fabric_handle_is_64_bytes_that_travel_as_text(two: Job, tmp_path: Any, make: Any) -> None:
    a, b = two.ranks
    handle = made(a, make, FD | FABRIC)
    (tmp_path / "handle").write_bytes(a(steps.export, handle, FABRIC))
    data = (tmp_path / "handle").read_bytes()
    assert len(data) == 64
    taken = b(steps.take_fabric, data)
    again = handed_over(a, b, handle)  # the same one, by a descriptor
    assert taken != again
    assert things(two) == 1
    assert b(ask, driver.mem_export_to_shareable_handle, taken, FABRIC, 0).refused == ("MC603",)
    for rank, value in ((a, handle), (b, taken), (b, again)):
        rank(driver.mem_release, value)
    assert things(two) == 0


@MAKERS
def test_fabric_handles_without_an_imex_channel(two: Job, make: Any) -> None:
    a, b = two.ranks
    handle = made(a, make, FABRIC)
    data = a(steps.export, handle, FABRIC)
    two.faults.set("imex=none")
    answer = b(steps.ask_import, data)
    assert (answer.status, answer.refused) == (800, ("MC604",))
    two.faults.clear()
    assert b(steps.ask_import, data).status == 0


def test_memory_of_a_fabric_handle_that_came_too_late(two: Job) -> None:
    a, b = two.ranks
    handle = made(a, memory, FABRIC)
    data = a(steps.export, handle, FABRIC)
    a(driver.mem_release, handle)
    answer = b(steps.ask_import, data)
    assert (answer.status, answer.refused) == (999, ("MC606",))


def test_an_object_of_a_fabric_handle_that_came_too_late_begins_anew(two: Job) -> None:
    a, b = two.ranks
    handle = made(a, bare_object, FABRIC)
    data = a(steps.export, handle, FABRIC)
    a(driver.multicast_add_device, handle, 0)
    a(driver.mem_release, handle)
    answer = b(steps.ask_import, data)
    assert (answer.status, answer.found) == (0, ("MC610",))
    again = a(steps.ask_import, data)  # the new one lives: nothing to say
    assert (again.status, again.found) == (0, ())
    b(driver.multicast_add_device, answer.value, 1)
    binds = ((a, again.value, 0), (b, answer.value, 1))
    for rank, mc, dev in binds:
        rank.begin(ask, driver.multicast_bind_mem, mc, 0, rank(memory, dev, STEP, FD), 0, STEP, 0)
    for rank, *_ in binds:  # device 0 was added to the old one: both wait for it, and nobody will add it
        refused = rank.result()
        assert (refused.status, refused.refused) == (909, ("MC341",))
    a(driver.multicast_add_device, again.value, 0)
    for rank, mc, dev in binds:
        assert rank(steps.bound_memory, mc, dev)


def test_late_imports_at_the_same_time_are_of_one_object(start: Callable[..., Job]) -> None:
    job = start(6, devices=2)
    job.all(steps.begin)
    first, *others = job.ranks
    for _ in range(10):
        handle = made(first, bare_object, FABRIC)
        data = first(steps.export, handle, FABRIC)
        first(driver.mem_release, handle)
        for rank in others:
            rank.begin(steps.ask_import, data)
        answers = [rank.result() for rank in others]
        assert [answer.status for answer in answers] == [0] * 5
        assert sorted(answer.found for answer in answers) == [(), (), (), (), ("MC610",)]
        assert things(job) == 1
        for rank, answer in zip(others, answers, strict=True):
            rank(driver.mem_release, answer.value)
        assert things(job) == 0


def test_an_import_races_with_the_last_release(two: Job) -> None:
    """Whoever is first: a handle, or 999 with its reason; never half of an object."""
    a, b = two.ranks
    seen = set()
    for _ in range(30):
        handle = made(a, memory, FABRIC)
        data = a(steps.export, handle, FABRIC)
        b.begin(steps.ask_import, data)
        a(driver.mem_release, handle)
        answer = b.result()
        seen.add((answer.status, answer.refused))
        assert things(two) == (answer.status == 0)
        if not answer.status:
            b(driver.mem_release, answer.value)
    assert seen <= {(0, ()), (999, ("MC606",))}


# ---- what is shared is the memory


def test_what_one_writes_the_other_reads(two: Job) -> None:
    a, b = two.ranks
    handle = made(a, memory)
    taken = handed_over(a, b, handle)
    here, there = a(mapped, handle), b(mapped, taken, STEP, (1,))
    for value in (1, 2, 3):
        a(steps.put, here, value)
        assert b(steps.seen, there) == [value]
    b(steps.put, there, 77)
    a(unmapped, here)
    a(driver.mem_release, handle)
    a.kill()
    assert b(steps.seen, there) == [77]


def test_a_descriptor_of_memory_of_a_team_of_processes(two: Job) -> None:
    """The object by a fabric handle, the memory by a descriptor: each binds its own and reads the other's."""
    a, b = two.ranks
    mc = [made(a, bare_object, FABRIC)]
    mc.append(b(steps.take_fabric, a(steps.export, mc[0], FABRIC)))
    for dev, rank in enumerate(two.ranks):
        rank(driver.multicast_add_device, mc[dev], dev)
    bound = [rank(steps.bound_memory, mc[dev], dev) for dev, rank in enumerate(two.ranks)]
    ptr = a(mapped, mc[0], STEP, (0,))
    a(steps.store, ptr, 5.0, 1024, "float32")
    assert [rank(steps.values, bound[k][1], 1024, "float32") for k, rank in enumerate(two.ranks)] == [[5.0], [5.0]]
    there = a(mapped, handed_over(b, a, bound[1][0]))
    assert a(steps.values, there, 1024, "float32") == [5.0]


def test_reserving_needs_no_other(two: Job) -> None:
    """Addresses are a process's own: both may reserve, and nobody else sees it."""
    assert all(rank(reserve) for rank in two.ranks)
    assert things(two) == 0
