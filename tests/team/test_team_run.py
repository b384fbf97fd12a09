"""Teams of programs under ``cumulticast run``, as a user starts them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "processes"))

from on_ranks import on_ranks

FD, FABRIC = 1, 8

pytestmark = pytest.mark.timeout(60)

PROGRAM = """
    import numpy as np
    from cumulticast import Team
    with Team.join(timeout=20) as team:
        x = team.empty(10)
        x.numpy()[:] = team.rank + 1
        team.barrier()
        team.all_reduce(x)
        team.barrier()
        kind, host = team._foundation.heap.kind, os.environ.get("NCCL_HOSTID")
        tell(sum=float(x.numpy()[0]), kind=kind, device=team.devices, host=host)
"""


def test_ranks_of_one_node_need_to_be_told_nothing() -> None:
    done = on_ranks(PROGRAM, 2)
    assert done.code == 0, done.err
    assert (done.each("sum"), done.each("kind"), done.each("host")) == ([3.0] * 2, [FD] * 2, [None] * 2)
    assert done.each("device") == [[0], [1]]


def test_ranks_of_several_nodes_are_on_several_hosts() -> None:
    done = on_ranks(PROGRAM, 2, "--machine", "gb200-nvl72", "--nodes", "2", "--devices", "2")
    assert done.code == 0, done.err
    assert (done.each("sum"), done.each("kind")) == ([3.0] * 2, [FABRIC] * 2)
    assert (done.each("host"), done.each("device")) == (["node0", "node1"], [[0], [0]])


def test_a_machine_without_multicast_tells_all_ranks_why_not() -> None:
    done = on_ranks(
        """
        from cumulticast import Team, TeamError
        try:
            Team.join(timeout=20)
        except TeamError as error:
            tell(rank=error.rank, stage=error.stage, text=str(error))
        """,
        2,
        "--machine",
        "pcie-h100-2",
    )
    assert (done.each("rank"), done.each("stage")) == ([0, 0], ["agree", "agree"]), done.err
    first, second = done.each("text")
    assert first == second and "MULTICAST_SUPPORTED is 0" in first
