"""A team of processes that grows, and a rank of which something fails: all are told the same, and the team goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import matrix_part as steps
import pytest
from matrix_part import Told
from ranks_here import Job
from team_matrix import STATUSES, Crew

RANKS = 3


@pytest.fixture
def crew(start: Callable[..., Job], tmp_path: Path) -> Crew:
    """Ranks of one team, which they keep."""
    made = Crew(start(RANKS), RANKS, tmp_path)
    made.meet(steps.keep)
    return made


@pytest.mark.parametrize("rank", range(RANKS))
def test_each_call_of_a_growth_fails_in_turn_and_the_team_is_as_before(crew: Crew, rank: int) -> None:
    crew.meet(steps.keep)
    calls = crew.all(steps.with_team, steps.calls_of_growth)[rank]  # of another team: a block stays
    crew.all(steps.let_go_of_newest)
    uses: Counter[str] = Counter()
    stages = set[str]()
    for number, call in enumerate(calls):
        uses[call] += 1
        status = STATUSES[number % len(STATUSES)]
        crew.job.faults.set(f"fail:{call}:rank={rank}:nth={uses[call]}:status={status}")
        answers = crew.all(steps.with_team, steps.try_to_grow)
        crew.job.faults.clear()
        error, as_before = answers[0]
        assert isinstance(error, Told) and as_before and set(answers.values()) == {(error, True)}, (call, answers)
        assert (error.rank, error.status) == (rank, status)
        stages.add(error.stage)
    assert stages == {"create", "import", "add_device", "bind", "map"}
    assert crew.all(steps.with_team, steps.sum_of_ranks) == dict.fromkeys(range(RANKS), (6.0,))
    assert set(crew.all(steps.with_team, steps.grow).values()) == {2}
    crew.all(steps.let_go)


@pytest.mark.parametrize("what", ["split", "share"])
@pytest.mark.parametrize("rank", [0, 2])
def test_what_fails_in_a_second_team_leaves_the_first_as_it_is(crew: Crew, what: str, rank: int) -> None:
    work = steps.split_all if what == "split" else steps.share_all
    numbered = RANKS - 1 - rank if what == "split" else rank  # in the new team
    crew.all(steps.with_team, work)
    for call in ("cuMulticastGetGranularity", "cuMulticastAddDevice", "cuMulticastBindMem", "cuMemAddressReserve"):
        crew.job.faults.set(f"fail:{call}:rank={rank}:status=999")
        answers = crew.all(steps.with_team, work)
        crew.job.faults.clear()
        first = answers[0]
        assert isinstance(first, Told) and set(answers.values()) == {first}, (call, answers)
        assert (first.rank, first.status) == (numbered, 999)
    assert set(crew.all(steps.with_team, work).values()) == {(3.0,)}
    assert crew.all(steps.with_team, steps.sum_of_ranks) == dict.fromkeys(range(RANKS), (6.0,))
    crew.all(steps.let_go)
    crew.nothing_left()
