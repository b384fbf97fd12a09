"""What tests of the driver share: cuda.core's machine, and a stream, some words and a graph on the usual one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cuda.bindings import driver as cu
from graph_parts import Words

from answers import ok
from cumulticast import sim
from cumulticast.testing.leaks import left_behind


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Make a device current, on one machine for all tests of a file.

    cuda.core keeps a context that it once retained for as long as the process lives: so each file has a device of its
    own, named by its ``ORDINAL``.
    """
    core = pytest.importorskip("cuda.core")
    sim.start(machine="hgx-h100-8")
    try:
        ok(cu.cuInit(0))  # cuda.core does so once in a process, and knows nothing of a machine that came since
        found = core.Device(request.module.ORDINAL)
        found.set_current()
        yield found
        left = left_behind(sim.current())
        ok(cu.cuCtxSetCurrent(0))
    finally:
        sim.stop()
    assert not left, f"the tests left {', '.join(map(str, left))}"


@pytest.fixture
def stream(context: int) -> Iterator[Any]:
    """Make a stream that waits for no other; its work ends before it does."""
    made = ok(cu.cuStreamCreate(1))
    yield made
    ok(cu.cuStreamSynchronize(made))
    ok(cu.cuStreamDestroy(made))


@pytest.fixture
def words(context: int) -> Iterator[Words]:
    """Allocate sixteen words of memory."""
    made = Words(16)
    yield made
    made.close()


@pytest.fixture
def graph(context: int) -> Iterator[Any]:
    """Make an empty graph."""
    made = ok(cu.cuGraphCreate(0))
    yield made
    ok(cu.cuGraphDestroy(made))
