"""Random programs with loops, branches, barriers, operations of the warp and calls, against what they mean."""

from __future__ import annotations

import numpy as np
from grid import Grid
from hypothesis import HealthCheck, given, settings
from random_programs import CELLS, REGISTERS, UNIFORMS, Meaning, Program, programs, ptx


def check(program: Program) -> None:
    """Run a program both ways."""
    width = REGISTERS + UNIFORMS
    want, cells = Meaning(program).run()
    out = np.zeros((program.threads, width), np.uint32)
    run = Grid(ptx(program), stack=4096)
    fault = run("k", 1, program.threads, [out], limit=10)
    assert fault.status == 0, fault
    assert out.tolist() == want
    assert run.variable("cells", np.uint32, CELLS).tolist() == cells


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_programs_mean_what_they_say(program: Program) -> None:
    check(program)
