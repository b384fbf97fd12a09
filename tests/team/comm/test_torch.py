"""Ranks of torch.distributed, over gloo. torch is large: continuous integration has it, `make test` does without."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cumulticast.ranks import free_port

PART = Path(__file__).with_name("torch_part.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]


def test_ranks_of_torch_meet_by_groups_and_beside_its_store_and_are_told_of_a_death() -> None:
    job = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = [
        subprocess.Popen([sys.executable, PART], env={**os.environ, **job, "RANK": str(rank)}, stdout=subprocess.PIPE)
        for rank in range(3)
    ]
    try:
        said = [one.communicate(timeout=150)[0].decode().strip() for one in ranks]
    finally:
        for one in ranks:
            one.kill()
    world, told = ["0", "1", "2"], "rank 1: its process ended (at 'bind')"
    assert said == [f"0 {[world, world]} {told}", "", f"2 {[world, ['1', '2'], world]} {told}"]


def test_a_group_that_this_rank_is_not_in_is_refused() -> None:
    import torch.distributed as dist

    from cumulticast.team.comm import open_comm

    with pytest.raises(TypeError, match=r"comm is of type"):
        open_comm(dist.GroupMember.NON_GROUP_MEMBER)
