"""What the tests of cuda.core share: one simulated machine for each of their files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

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
        from cuda.bindings import driver as cu

        ok(cu.cuInit(0))  # cuda.core does so once in a process, and knows nothing of a machine that came since
        found = core.Device(request.module.ORDINAL)
        found.set_current()
        yield found
        left = left_behind(sim.current())
        ok(cu.cuCtxSetCurrent(0))
    finally:
        sim.stop()
    assert not left, f"the tests left {', '.join(map(str, left))}"
