"""Objects and memory in two processes, by file descriptor and by fabric handle."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import object_steps as steps
import pytest
from ranks_here import Job, Rank

from cumulticast import MulticastObject, PhysicalMemory, driver
from cumulticast.testing import CudaMachine

KINDS = pytest.mark.parametrize("kind", ["posix_fd", "fabric"])


def handed_over(giver: Rank, taker: Rank, give: Callable[..., Any], take: Callable[..., Any], kind: str) -> Any:
    """Share something by its handle; nobody keeps a descriptor."""
    if kind == "fabric":
        return taker(take, kind, giver(give, kind))
    fd = giver.descriptor(give, kind)
    taker.begin_with_descriptor(fd, take, kind)
    os.close(fd)
    return taker.result()


@KINDS
@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_two_processes_share_an_object(start: Callable[..., Job], kind: str, first_to_leave: int) -> None:
    job = start(2)
    creator, other = job.ranks
    creator(steps.create, kind)
    handed_over(creator, other, steps.exported, steps.join, kind)
    job.all(steps.bind_own, kind)
    creator(steps.store, 2.5)
    assert job.all(steps.read) == [[2.5], [2.5]]
    job.ranks[first_to_leave](steps.close)
    job.ranks[1 - first_to_leave](steps.close)
    assert job.left() == {"process": 2}


@KINDS
def test_two_processes_share_memory(start: Callable[..., Job], kind: str) -> None:
    job = start(2)
    owner, other = job.ranks
    assert handed_over(owner, other, steps.share_memory, steps.map_shared, kind) == [steps.STEP]
    owner(steps.close)
    assert job.left() == {"process": 2}


@KINDS
@pytest.mark.usefixtures("cuda_machine")
def test_one_process_imports_its_own(kind: str) -> None:
    with (
        PhysicalMemory.create(0, steps.STEP, handle_types=kind) as memory,
        MulticastObject.create([0], steps.STEP, handle_types=kind) as mc,
    ):
        imported = _reimported(memory, kind), _reimported(mc, kind)
        with imported[0] as same, imported[1] as object_:
            assert (same.size, object_.size, object_.granularity) == (steps.STEP, steps.STEP, steps.STEP)
            binding = object_.bind_memory(same)
            assert binding.device == 0  # the driver knows whose it is
            with object_.map(0) as shown:
                assert shown.size == steps.STEP


def _reimported(thing: PhysicalMemory | MulticastObject, kind: str) -> Any:
    shared = thing.export(kind)
    try:
        return type(thing).import_(shared, kind, size=steps.STEP)
    finally:
        if isinstance(shared, int):
            os.close(shared)


@pytest.mark.usefixtures("cuda_machine")
def test_an_object_of_unknown_size_is_mapped_as_far_as_told() -> None:
    with (
        MulticastObject.create([0], steps.STEP, handle_types="fabric") as mc,
        MulticastObject.import_(mc.export("fabric"), "fabric") as same,
    ):
        with pytest.raises(TypeError, match="map needs size"):
            same.map(0)
        assert same.map(0, size=steps.STEP).size == steps.STEP
    with pytest.raises(ValueError, match="size 0: at least 1 byte"):
        MulticastObject.import_(b"x" * 64, "fabric", size=0)


@pytest.mark.usefixtures("cuda_machine")
@pytest.mark.parametrize("what", [MulticastObject, PhysicalMemory])
def test_an_import_of_nonsense_is_refused_and_leaves_nothing(what: Any) -> None:
    with pytest.raises(driver.DriverError):
        what.import_(bytes(64), "fabric", size=steps.STEP)
    with open(os.devnull) as file, pytest.raises(driver.DriverError):
        what.import_(file.fileno(), "posix_fd", size=steps.STEP)


def test_what_was_not_made_to_be_shared_is_not_exported(cuda_machine: CudaMachine) -> None:
    with PhysicalMemory.create(0, 1) as memory, pytest.raises(driver.DriverError):
        memory.export("posix_fd")
    assert cuda_machine.leaks() == []
