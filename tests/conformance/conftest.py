"""Machines for the conformance tests; none outlives its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from builders import BINDS, Bind
from cuda.bindings._v2 import driver
from ranks_apart import Ranks

from cumulticast import sim

Start = Callable[..., None]


@pytest.fixture
def start(ranks_apart: Ranks | None) -> Iterator[Start]:
    """Give a function that starts a machine and initialises the driver; takes the arguments of `sim.start`."""

    def begin(machine: str = "hgx-h100-8", **options: Any) -> None:
        sim.start(machine, **options)
        driver.init(0)

    yield begin
    if ranks_apart:
        ranks_apart.leave()
    sim.stop()


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    """Give the processes that serve all tests with ``--ranks-apart``; none is started before it is needed."""
    made = Ranks()
    yield made
    made.close()


@pytest.fixture
def ranks_apart(request: pytest.FixtureRequest, ranks: Ranks) -> Ranks | None:
    """With ``--ranks-apart``: a process of its own for each device but the first (see ranks_apart.py)."""
    if not request.config.getoption("ranks_apart"):
        return None
    if request.node.get_closest_marker("one_process"):
        pytest.skip("is about the threads of one process; tests/processes has its like for many")
    ranks.install()
    return ranks


@pytest.fixture
def strict(start: Start) -> None:
    """Run on two devices, held to the documents."""
    start(devices=2, profile="strict")


@pytest.fixture
def hardware(start: Start) -> None:
    """Run on two devices, held to what real machines accept."""
    start(devices=2, profile="hardware")


@pytest.fixture(params=["strict", "hardware"])
def either(request: pytest.FixtureRequest, start: Start) -> str:
    """Run on two devices, in each profile."""
    start(devices=2, profile=request.param)
    return str(request.param)


@pytest.fixture
def rubin(start: Start) -> None:
    """Run on one node of SM_107 devices."""
    start("rubin-nvl72", nodes=1, profile="strict")


@pytest.fixture(params=BINDS, ids=lambda bind: bind.__name__)
def bind(request: pytest.FixtureRequest) -> Bind:
    """Give each of the four forms of bind."""
    return request.param
