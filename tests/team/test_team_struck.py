"""A rank is killed or stopped at any time while teams come, work and go: the others all say so, and go on."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import matrix_part as steps
import pytest
from matrix_part import Told
from ranks_here import Job
from team_matrix import PATIENCE, Crew

RANKS = 4
TURNS = 1000  # more than there is time for
BLOWS = 5  # on one world, ranks that died being replaced
LIMIT = 4.0  # seconds for each step: who is stopped, or dies before it comes, uses them up

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP], ids=lambda number: number.name)
def test_a_rank_that_is_struck_at_any_time(start: Callable[..., Job], tmp_path: Path, number: signal.Signals) -> None:
    drawn = random.Random(int(number))
    crew = Crew(start(RANKS), RANKS, tmp_path)
    for _ in range(BLOWS):
        strike(crew, drawn, number)
        crew.comes_up()


def strike(crew: Crew, drawn: random.Random, number: signal.Signals) -> None:
    """Strike one of the ranks, and hold what the others say to what they must."""
    place = crew.place()
    victim, others = draw(crew, drawn)
    for rank in crew.ranks:
        rank.begin(steps.again_and_again, place, RANKS, LIMIT, TURNS)
    time.sleep(drawn.uniform(0, 1.5))
    crew.ranks[victim].signal(number)
    answers = [crew.ranks[other].result(PATIENCE) for other in others]
    if number == signal.SIGSTOP:
        crew.ranks[victim].kill()
    crew.ranks[victim].wait()
    print(number.name, victim, answers[0], time.monotonic(), flush=True)
    # Which call they learn it in is each one's affair: a collective or the barrier behind it.
    for told in answers:
        assert isinstance(told, Told) and (told.rank, told.call) == (victim, None), answers


def draw(crew: Crew, drawn: random.Random) -> tuple[int, list[int]]:
    """Answer a rank, and the others."""
    victim = drawn.randrange(crew.size)
    return victim, [rank for rank in range(crew.size) if rank != victim]
