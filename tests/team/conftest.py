"""Worlds with real processes on them, forked from a zygote that has a team's modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "processes"), str(HERE.parent / "conformance")]

from ranks_here import Job, Zygote, job  # noqa: E402

from cumulticast.sim.driver import Options  # noqa: E402


@pytest.fixture(scope="session")
def team_zygote() -> Iterator[Zygote]:
    """Give the process from which ranks are forked."""
    made = Zygote(HERE / "team_zygote.py")
    yield made
    made.close()


@pytest.fixture
def start(team_zygote: Zygote) -> Iterator[Callable[..., Job]]:
    """Give a function that starts ranks on a new world; ``start(2, "gb200-nvl72", (0, 1))``: on two nodes."""
    with ExitStack() as jobs:

        def begin(ranks: int, machine: str = "hgx-h100-8", nodes_of: tuple[int, ...] = (), **options: Any) -> Job:
            made = jobs.enter_context(job(team_zygote, Options(machine, **options)))
            for number in range(ranks):
                made.start(number, nodes_of[number] if nodes_of else 0)
            return made

        yield begin
