"""One multicast object, a process for each of its devices: what one stores or combines, all replicas hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import rank_steps as steps
from builders import FABRIC, FD, STEP, bare_object, mapped, unmapped
from cuda.bindings._v2 import driver
from ranks_here import Job, RankDied, handed_over

pytestmark = pytest.mark.timeout(60)
COUNT = STEP // 8


class Team:
    """A rank for each device, each with its memory bound and the object mapped."""

    def __init__(self, job: Job, size: int = STEP) -> None:
        self.ranks, self.world = job.ranks, job.world
        self.devices = len(job.ranks)
        for dev, rank in enumerate(self.ranks):
            rank(steps.begin, dev)
        first = self.ranks[0]
        original = first(bare_object, self.devices, size, FD | FABRIC)
        self.mc = [original, *(handed_over(first, rank, original) for rank in self.ranks[1:])]
        for dev, rank in enumerate(self.ranks):
            rank(driver.multicast_add_device, self.mc[dev], dev)
        self.memory = [rank(steps.bound_memory, self.mc[dev], dev, STEP) for dev, rank in enumerate(self.ranks)]
        self.ptr = [rank(mapped, self.mc[dev], size, (dev,)) for dev, rank in enumerate(self.ranks)]

    def replicas(self, count: int, dtype: str) -> list[list[float]]:
        """Answer the different values in each rank's own memory."""
        return [rank(steps.values, self.memory[k][1], count, dtype) for k, rank in enumerate(self.ranks)]


@pytest.fixture
def team(start: Callable[..., Job]) -> Team:
    return Team(start(8))


@pytest.fixture
def pair(start: Callable[..., Job]) -> Team:
    return Team(start(2, devices=2), size=2 * STEP)


def test_a_store_of_rank_3_reaches_every_replica(team: Team) -> None:
    team.ranks[3](steps.store, team.ptr[3], 2.5, COUNT, "float32")
    assert team.replicas(COUNT, "float32") == [[2.5]] * 8


def test_each_rank_sums_what_all_have(team: Team) -> None:
    for k, rank in enumerate(team.ranks):
        rank(steps.put, team.memory[k][1], k)
    total = sum(k * 0x01010101 for k in range(8))
    assert [rank(steps.summed, team.ptr[k], COUNT, "uint32") for k, rank in enumerate(team.ranks)] == [[total]] * 8


ADDABLE = ("uint32", "int32", "uint64", "int64", "float32", "float64", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", [name for name in ADDABLE if name != "int64"])  # red.add has no s64, as in PTX
def test_no_contribution_is_lost(team: Team, dtype: str) -> None:
    """8 processes × 2 threads × 8 times the same words: 128, which every type holds exactly."""
    count = 512
    team.ranks[0](steps.store, team.ptr[0], 0, count, dtype)
    for k, rank in enumerate(team.ranks):
        rank.begin(steps.add_often, team.ptr[k], 1, count, dtype, 8, 2)
    for rank in team.ranks:
        rank.result()
    assert team.replicas(count, dtype) == [[128.0]] * 8
    assert team.ranks[5](steps.summed, team.ptr[5], count, dtype) == [1024.0]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint32", "float32", "bfloat16"])
def test_no_contribution_is_lost_of_many(team: Team, dtype: str) -> None:
    """Longer, on few words: 8 processes × 4 threads; bf16 counts to 256 exactly."""
    times = 8 if dtype == "bfloat16" else 500
    team.ranks[0](steps.store, team.ptr[0], 0, 16, dtype)
    for k, rank in enumerate(team.ranks):
        rank.begin(steps.add_often, team.ptr[k], 1, 16, dtype, times, 4)
    for rank in team.ranks:
        rank.result()
    assert team.replicas(16, dtype) == [[32.0 * times]] * 8


def test_what_another_process_binds_after_the_map_is_seen_at_the_next_use(pair: Team) -> None:
    (a, b), (mc_a, mc_b), far = pair.ranks, pair.mc, pair.ptr[0] + STEP
    assert "MC" in a(steps.why_not_stored, far)
    own = a(steps.bound_memory, mc_a, 0, STEP, STEP)
    other = b(steps.bound_memory, mc_b, 1, STEP, STEP)
    a(steps.store, far, 3.0, COUNT, "float32")
    assert a(steps.values, own[1], COUNT, "float32") == b(steps.values, other[1], COUNT, "float32") == [3.0]


def test_what_another_process_unbinds_is_a_hole_at_the_next_use(pair: Team) -> None:
    (a, b), (_, mc_b) = pair.ranks, pair.mc
    a(steps.store, pair.ptr[0], 1.0, COUNT, "float32")
    b(driver.multicast_unbind, mc_b, 1, 0, STEP)
    assert "device 1" in a(steps.why_not_stored, pair.ptr[0])
    b(driver.multicast_bind_mem, mc_b, 0, pair.memory[1][0], 0, STEP, 0)
    a(steps.store, pair.ptr[0], 4.0, COUNT, "float32")
    assert pair.replicas(COUNT, "float32") == [[4.0], [4.0]]


def test_memory_that_is_replaced_under_another_process(pair: Team) -> None:
    """Many times: bind other memory of a process at the same place, free the old; the other's view follows."""
    (a, b), (_, mc_b) = pair.ranks, pair.mc
    memory, address = pair.memory[1]
    for turn in range(20):
        b(driver.multicast_unbind, mc_b, 1, 0, STEP)
        b(unmapped, address)
        b(driver.mem_release, memory)
        memory, address = b(steps.bound_memory, mc_b, 1)
        a(steps.store, pair.ptr[0], turn, COUNT, "float32")
        assert b(steps.values, address, COUNT, "float32") == [turn]


def test_a_view_is_used_while_another_process_binds_and_frees(pair: Team) -> None:
    """No use fails for a reason other than the hole, and none ends the process."""
    (a, b), (_, mc_b) = pair.ranks, pair.mc
    b.begin(steps.replace_often, mc_b, 1, pair.memory[1], 200)
    while not b.done():
        problem = a(steps.why_not_stored, pair.ptr[0])
        assert not problem or "device 1" in problem
    b.result()
    a(steps.store, pair.ptr[0], 6.0, COUNT, "float32")
    assert a(steps.summed, pair.ptr[0], COUNT, "float32") == [12.0]


def test_a_rank_that_dies_takes_its_memory_along(pair: Team) -> None:
    a, b = pair.ranks
    a(steps.store, pair.ptr[0], 1.0, COUNT, "float32")
    b.kill()
    assert a(steps.free_bytes)  # a driver call: the dead are noticed
    assert "device 1" in a(steps.why_not_stored, pair.ptr[0])
    assert a(steps.values, pair.memory[0][1], COUNT, "float32") == [1.0]


def test_a_rank_that_dies_right_after_an_unbind_has_told_of_it(pair: Team) -> None:
    """The unbind is in the books and its maker is killed before another line of his runs; the memory lives on."""
    (a, b), (_, mc_b) = pair.ranks, pair.mc
    assert handed_over(b, a, pair.memory[1][0])
    a(steps.store, pair.ptr[0], 1.0, COUNT, "float32")
    with pytest.raises(RankDied):
        b(steps.unbind_and_die, mc_b, 1)
    assert "device 1" in a(steps.why_not_stored, pair.ptr[0])
