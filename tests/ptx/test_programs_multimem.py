"""Collectives through multimem instructions on eight devices: of one process, and of eight."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import collectives
import pytest
from collectives import ONE_SHOT, OTHERS, RANKS, SIZE, TWO_SHOT, Member
from cuda_programs import ptx

from answers import ok

pytestmark = pytest.mark.timeout(60)
FABRIC = 8


@pytest.fixture
def members(machine: object, request: pytest.FixtureRequest) -> Iterator[list[Member]]:
    """Seat eight devices of this process at one object; the test says for which architecture."""
    from builders import team
    from cuda.bindings import driver as cu
    from cuda.bindings._v2 import driver

    handle = team(RANKS, SIZE)
    made = [Member(device, handle, ptx("multimem", request.param)) for device in range(RANKS)]
    yield made
    for member in made:
        member.close()
    driver.mem_release(handle)
    driver.ctx_set_current(0)
    for member in made:
        ok(cu.cuDevicePrimaryCtxRelease(member.rank))


def alone() -> None:
    """Meet the other processes: there are none."""


B200 = pytest.mark.cuda_machine(machine="hgx-b200-8")
on_both = pytest.mark.parametrize("members", ["90", pytest.param("100", marks=B200)], indirect=True)


@on_both
def test_one_shot_all_reduce(members: list[Member]) -> None:
    for name in ONE_SHOT:
        collectives.one_shot(members, alone, name)


@on_both
def test_two_shot_all_reduce_with_barriers_in_the_kernel(members: list[Member]) -> None:
    for name in TWO_SHOT:
        collectives.two_shot(members, alone, name)


@on_both
def test_other_collectives(members: list[Member]) -> None:
    for play in OTHERS.values():
        play(members, alone)


# ---- a process for each rank


class Meeting:
    """Processes meet in a directory: the n-th time all have left their n-th file there."""

    def __init__(self, place: str, rank: int) -> None:
        self.place, self.rank, self.times = Path(place), rank, 0

    def __call__(self) -> None:
        self.times += 1
        (self.place / f"{self.times}.{self.rank}").touch()
        while len(list(self.place.glob(f"{self.times}.*"))) < RANKS:
            time.sleep(0.001)

    def share(self, what: bytes | None) -> bytes:
        """Answer what rank 0 gives."""
        file = self.place / "shared"
        if what is not None:
            file.with_suffix(".new").write_bytes(what)
            os.replace(file.with_suffix(".new"), file)
        self()
        return file.read_bytes()


def on_rank(rank: int, place: str, text: bytes, names: dict[str, list[str]]) -> int:
    """Take a seat at the object that rank 0 makes, and play."""
    import ctypes

    from builders import bare_object, use
    from cuda.bindings._v2 import driver

    meet = Meeting(place, rank)
    driver.init(0)
    use(rank)
    handle = bare_object(RANKS, SIZE, FABRIC) if rank == 0 else 0
    given = driver.mem_export_to_shareable_handle(handle, FABRIC, 0) if rank == 0 else None
    shared = meet.share(None if given is None else ctypes.string_at(given.ptr, 64))
    if rank:
        buffer = ctypes.create_string_buffer(shared, 64)
        handle = driver.mem_import_from_shareable_handle(ctypes.addressof(buffer), FABRIC)
    driver.multicast_add_device(handle, rank)
    member = Member(rank, handle, text, FABRIC)
    for name in names["one_shot"]:
        collectives.one_shot([member], meet, name)
    for name in names["two_shot"]:
        collectives.two_shot([member], meet, name)
    for name in names["others"]:
        OTHERS[name]([member], meet)
    member.close()
    return meet.times


def test_collectives_of_eight_processes(run_ranks: Any, tmp_path: Path) -> None:
    names = {"one_shot": ["f32_add", "f16x2_add", "bf16x2_add"], "two_shot": list(TWO_SHOT), "others": list(OTHERS)}
    given = {"place": str(tmp_path), "text": ptx("multimem", "90"), "names": names}
    told = run_ranks(on_rank, ranks=RANKS, timeout=50, arguments=given)
    assert len(set(told)) == 1 and told[0] > 20
