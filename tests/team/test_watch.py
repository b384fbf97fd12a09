"""A rank that dies while others wait for it in a kernel: they are let go at once, not at the time limit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

#: The time limit of the team is far beyond that of the test.
JOB = """
import json, os, signal, sys
from cumulticast import Team, TeamError

dies = int(sys.argv[1])

def told(work, *arguments):
    try:
        work(*arguments)
    except TeamError as error:
        return [error.rank, error.stage, error.reason]

with Team.join(timeout=1000) as team:
    x = team.empty(100_000)
    x.numpy()[:] = 1
    team.barrier()
    team.all_reduce(x)
    team.barrier()
    assert (x.numpy() == team.size).all()
    if team.rank == dies:
        os.kill(os.getpid(), signal.SIGKILL)
    team.all_reduce(x)
    said = [told(x.get), told(team.barrier), told(team.all_reduce, x), told(team.barrier)]
print(json.dumps(said))
"""


@pytest.mark.parametrize("dies", [0, 2])
def test_kernels_that_wait_for_a_dead_rank_are_let_go(dies: int) -> None:
    command = [
        sys.executable,
        "-m",
        "cumulticast.cli",
        "run",
        "--ranks",
        "3",
        "--",
        sys.executable,
        "-c",
        JOB,
        str(dies),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=55, check=False)
    said = [json.loads(line[line.index("[[") :]) for line in done.stdout.splitlines()]
    ended = "its process ended"
    stages = ["all_reduce", "barrier", "all_reduce", "barrier"]
    assert said == [[[dies, stage, ended] for stage in stages]] * 2, done
    assert done.stderr.strip() == f"cumulticast run: rank {dies} was ended by SIGKILL"
