"""Worlds with real processes on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "conformance"))  # the builders

from ranks_here import Job, Zygote, job

from cumulticast.sim.driver import Options

Start = Callable[..., Job]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Give the process from which ranks are forked."""
    made = Zygote()
    yield made
    made.close()


@pytest.fixture
def start(zygote: Zygote) -> Iterator[Start]:
    """Give a function that starts ranks on a new world; ``start(2, machine=…)``. In the end nothing may be left."""
    with ExitStack() as jobs:

        def begin(ranks: int, machine: str = "hgx-h100-8", nodes_of: tuple[int, ...] = (), **options: Any) -> Job:
            made = jobs.enter_context(job(zygote, Options(machine, **options)))
            for number in range(ranks):
                made.start(number, nodes_of[number] if nodes_of else 0)
            return made

        yield begin
