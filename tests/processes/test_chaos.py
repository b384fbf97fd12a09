"""Ranks are killed before and after every call of a team's set-up, and at random; the survivors go on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from chaos import RANKS, Chaos
from ranks_here import Job

#: The calls that every rank makes in `chaos_part`, and which of their uses to be killed at.
OF_ALL = (
    ("cuMulticastAddDevice", 1),
    ("cuMemCreate", 1),
    ("cuMemAddressReserve", 1),
    ("cuMemMap", 1),
    ("cuMemMap", 2),
    ("cuMemSetAccess", 1),
    ("cuMemSetAccess", 2),
    ("cuMulticastBindMem", 1),
    ("cuMemcpyDtoH", 1),
    ("cuMulticastUnbind", 1),
    ("cuMemUnmap", 1),
    ("cuMemUnmap", 2),
    ("cuMemAddressFree", 1),
    ("cuMemRelease", 1),
    ("cuMemRelease", 2),
)
OF_THE_FIRST = (("cuMulticastCreate", 1), ("cuMemExportToShareableHandle", 1))
OF_THE_OTHERS = (("cuMemImportFromShareableHandle", 1),)
COMING = ("cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent")
WHEN = ("kill-before", "kill-after")

Point = tuple[str, str, int, int]  # when, call, which use, rank

MATRIX: list[Point] = [
    *((when, call, nth, rank) for (call, nth), when, rank in product(OF_ALL, WHEN, (0, 3, 7))),
    *((when, call, nth, 0) for (call, nth), when in product(OF_THE_FIRST, WHEN)),
    *((when, call, nth, rank) for (call, nth), when, rank in product(OF_THE_OTHERS, WHEN, (1, 7))),
]


@pytest.fixture
def chaos(start: Callable[..., Job]) -> Iterator[Chaos]:
    made = Chaos(start(0))
    yield made
    made.close()


def dies_at(chaos: Chaos, point: Point) -> None:
    """Have a rank killed at a call, see that it is that one and no other, and bring the next team up."""
    when, call, nth, rank = point
    chaos.job.faults.set(f"{when}:{call}:rank={rank}:nth={nth}")
    died = chaos.team()
    chaos.job.faults.clear()
    assert died == [rank], point


class Killer:
    """Kills a rank at a moment drawn from a seed, in a phase drawn from it."""

    PHASES = ("create", "take", "add_and_bind", "map_team", "store", "check", "go_back")

    def __init__(self, chaos: Chaos, seed: int) -> None:
        self._draw = random.Random(seed)
        self._chaos = chaos
        self._phase = self._draw.choice(self.PHASES)
        self._victims = self._draw.sample(range(RANKS), self._draw.choice((1, 1, 1, 2, 3)))

    def __call__(self, phase: str) -> None:
        if phase == self._phase:
            for number in self._victims:
                time.sleep(self._draw.random() ** 3 * 0.01)
                self._chaos.ranks[number].kill_now()


def random_deaths(chaos: Chaos, seeds: range) -> None:
    for seed in seeds:
        chaos.team(Killer(chaos, seed))
        assert len(chaos.living) == RANKS


@pytest.mark.timeout(60)
def test_teams_come_and_go(chaos: Chaos) -> None:
    assert [chaos.team() for _ in range(3)] == [[], [], []]


@pytest.mark.timeout(120)
def test_a_sample_of_deaths_at_calls(chaos: Chaos) -> None:
    for point in random.Random(20).sample(MATRIX, 6):
        dies_at(chaos, point)
    assert chaos.team() == []


@pytest.mark.timeout(120)
def test_a_sample_of_deaths_at_random(chaos: Chaos) -> None:
    random_deaths(chaos, range(5))
    assert chaos.team() == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("when", "call"), [*product(WHEN, COMING)])
def test_deaths_while_coming_to_the_driver(chaos: Chaos, when: str, call: str) -> None:
    chaos.job.faults.set(f"{when}:{call}:rank=5")
    chaos.ranks[5].kill()
    chaos.replace()
    assert chaos.ranks[5].ended == -9
    assert chaos.job.left() == {"process": RANKS - 1}
    chaos.job.faults.clear()
    chaos.replace()
    chaos.died = []
    assert chaos.team() == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_deaths_at_every_call(chaos: Chaos) -> None:
    for point in MATRIX:
        dies_at(chaos, point)
    assert chaos.team() == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_deaths_at_random(chaos: Chaos) -> None:
    random_deaths(chaos, range(100, 300))
    assert chaos.team() == []
