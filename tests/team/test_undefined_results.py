"""What a collective leaves when a rank does not come is not defined: nobody gets it without being told."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from cumulticast import SymmetricArray, Team, TeamError
from cumulticast.testing import RunRanks

SHORT = 1.0  # seconds until a rank that stays away is given up
Told = tuple[int, str, str]
After = Callable[[SymmetricArray], object]


def reduced(rank: int, away: Callable[[], object], after: After) -> object:
    """All-reduce on all ranks but rank 1; answer what comes after it, or what was told."""
    try:
        with Team.join() as team:
            array = team.empty(8)
            team.all_reduce(array)  # all have the kernel
            array.set(rank)
            team.barrier()
            team.timeout = SHORT
            if rank == 1 and away():
                return "away"
            team.all_reduce(array)
            return after(array)
    except TeamError as error:
        return error.rank, error.stage, error.reason


def leaves() -> bool:
    return True


def comes_late() -> bool:
    time.sleep(2 * SHORT)
    return False


def comes() -> bool:
    return False


def first_value(array: SymmetricArray) -> float:
    return float(array.get()[0])


def nothing(array: SymmetricArray) -> str:
    return "nothing"


def twice(array: SymmetricArray) -> list[Told]:
    told: list[Told] = []
    for _ in range(2):
        with pytest.raises(TeamError) as caught:
            array.get()
        told.append((caught.value.rank, caught.value.stage, caught.value.reason))
    return told


WHEN = pytest.mark.parametrize(
    ("after", "times"),
    [(first_value, 0), (nothing, 0), (twice, 2)],
    ids=["get tells", "close tells", "close does not tell again"],
)


@WHEN
def test_a_rank_that_comes_late(run_ranks: RunRanks, after: After, times: int) -> None:
    late = 1, "all_reduce", f"rank 1 did not come to all_reduce (number 1) within {SHORT:g} s"
    one, culprit, other = run_ranks(reduced, ranks=3, arguments={"away": comes_late, "after": after}, timeout=50)
    assert one == other == ([late] * times or late)
    for _, stage, reason in culprit if isinstance(culprit, list) else [culprit]:  # get tells, or all_reduce does
        assert stage == "all_reduce" and late[2] in reason


def test_a_rank_that_closes_its_team_instead(run_ranks: RunRanks) -> None:
    one, culprit, other = run_ranks(reduced, ranks=3, arguments={"away": leaves, "after": first_value}, timeout=50)
    assert culprit == "away"
    for rank, stage, reason in one, other:
        assert (rank, stage) == (1, "all_reduce")
        assert reason == "has closed its team" or "rank 1 did not come to all_reduce" in reason  # whatever is first


@pytest.mark.parametrize("after", [first_value, nothing])
def test_ranks_that_all_come(run_ranks: RunRanks, after: After) -> None:
    found = run_ranks(reduced, ranks=3, arguments={"away": comes, "after": after}, timeout=50)
    assert found == [3.0 if after is first_value else "nothing"] * 3
