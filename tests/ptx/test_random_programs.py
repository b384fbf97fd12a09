"""Random programs with loops, branches, barriers, operations of the warp and calls, against what they mean.

Each is compiled with its state kept in the frame or moved there and back, and with loops that hand over in every round
or seldom: what a program means must not depend on it.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from grid import Grid
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import CELLS, REGISTERS, UNIFORMS, Meaning, Program, programs, ptx

from cumulticast.ptx.flow import frames, order

RESIDENT, MOVED = 0, frames.MOST_TRAFFIC
EVERY_ROUND, SELDOM = order.ROUNDS, 1
HEALTH = list(HealthCheck)


def check(program: Program, traffic: int, cost: int) -> None:
    """Run a program both ways."""
    width = REGISTERS + UNIFORMS
    want, cells = Meaning(program).run()
    out = np.zeros((program.threads, width), np.uint32)
    run = Grid(ptx(program), stack=4096)
    with mock.patch.object(frames, "MOST_TRAFFIC", traffic), mock.patch.object(order, "_cost", return_value=cost):
        run.code("k")
    fault = run("k", 1, program.threads, [out], limit=10)
    assert fault.status == 0, fault
    assert out.tolist() == want
    assert run.variable("cells", np.uint32, CELLS).tolist() == cells


ways = given(programs(), st.sampled_from([RESIDENT, MOVED]), st.sampled_from([EVERY_ROUND, SELDOM]))


@settings(max_examples=6, deadline=None, suppress_health_check=HEALTH)
@ways
def test_programs_mean_what_they_say(program: Program, traffic: int, cost: int) -> None:
    check(program, traffic, cost)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=100, deadline=None, suppress_health_check=HEALTH)
@ways
def test_many_programs_mean_what_they_say(program: Program, traffic: int, cost: int) -> None:
    check(program, traffic, cost)
