"""Samples of the matrix under mpirun, and with process groups of torch.distributed (gloo)."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from on_ranks import COMMAND, environment, finished

MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
PART = Path(__file__).with_name("team_libraries_part.py")
RANKS, FAILS, DIES = 4, 1, 2

no_mpi = pytest.mark.skipif(
    MPIRUN is None or importlib.util.find_spec("mpi4py") is None,
    reason="mpi4py or mpirun is missing: pip install mpich",
)
no_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def check(meeting: Path, why: str) -> None:
    """Hold what the ranks that are left were told to what must be."""
    files = sorted(meeting.glob("*.json"))
    assert [file.stem for file in files] == ["0", "1", "3"], why
    told = [json.loads(file.read_text()) for file in files]
    assert all(one == told[0] for one in told) and told[0]["left"] == 0, told
    whole, part, failed, again, died, living = told[0]["told"]
    assert (whole, part, again, living) == ([4.0], [2.0], [4.0], [3.0])
    assert (failed["rank"], failed["stage"], failed["call"], failed["status"]) == (
        FAILS, "bind", "cuMulticastBindMem", 2
    )  # fmt: skip
    assert (died["rank"], died["stage"], died["reason"]) == (DIES, "map", "its process ended")


@no_mpi
def test_ranks_of_mpi(tmp_path: Path) -> None:
    mpirun = [str(MPIRUN), "-disable-auto-cleanup", "-n", str(RANKS), sys.executable, str(PART), "mpi"]
    done = finished([*COMMAND, "run", "--", *mpirun], environment(tmp_path))
    check(tmp_path, done.out + done.err)


@pytest.mark.slow
@no_torch
def test_ranks_of_a_process_group_of_torch(tmp_path: Path) -> None:
    command = [*COMMAND, "run", "--ranks", str(RANKS), "--", sys.executable, str(PART), "torch"]
    done = finished(command, environment(tmp_path))
    check(tmp_path, done.out + done.err)
