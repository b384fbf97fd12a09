"""Every step of a bring-up, every rank, and what can strike there: see ``team_matrix.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matrix_part as steps
import pytest
from ranks_here import Job
from team_matrix import KINDS, Case, Crew

RANKS = 4
#: Stage → a call of it, and the vote at which a rank that was struck there is missed.
STAGES = {
    "agree": ("cuDeviceGetAttribute", "agree"),
    "create": ("cuMemCreate", "create"),
    "import": ("cuMemImportFromShareableHandle", "add_device"),
    "add_device": ("cuMulticastAddDevice", "add_device"),
    "bind": ("cuMulticastBindMem", "bind"),
    "map": ("cuMemSetAccess", "map"),
}
STATUSES = (1, 2, 401, 719, 800, 909)
SAMPLES = [(kind, list(STAGES)[1::2] if kind == "delay" else list(STAGES)) for kind in KINDS]


@pytest.fixture
def crew(request: pytest.FixtureRequest, start: Callable[..., Job], tmp_path: Path) -> Crew:
    """Ranks that have been in a team, and left it."""
    size = getattr(request, "param", RANKS)
    made = Crew(start(size), size, tmp_path)
    made.comes_up()
    return made


def sample(crew: Crew, kind: str, stages: list[str]) -> None:
    """Strike once at each stage, at one rank after the other."""
    before = crew.all(steps.left_here)
    for number, stage in enumerate(stages):
        call, vote = STAGES[stage]
        rank = (number + KINDS.index(kind)) % crew.size
        told = crew.run(Case(kind, rank, call, 1, STATUSES[number]))
        assert told.stage == (stage if kind == "fail" else vote)
    crew.steady(before)


@pytest.mark.parametrize(("kind", "stages"), SAMPLES)
def test_a_rank_is_struck_at_each_stage(crew: Crew, kind: str, stages: list[str]) -> None:
    sample(crew, kind, stages)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("crew", [8], indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_a_rank_of_eight_is_struck_at_each_stage(crew: Crew, kind: str) -> None:
    sample(crew, kind, list(STAGES))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", range(RANKS))
def test_a_rank_is_struck_at_each_call(crew: Crew, kind: str, rank: int) -> None:
    before = crew.all(steps.left_here)
    cases = list(crew.cases(kind, rank))
    stages = {crew.run(case).stage for case in cases}
    votes = {vote for _, vote in STAGES.values()}
    assert len(cases) > 15 and stages == (set(STAGES) if kind == "fail" else votes), stages
    crew.steady(before)
