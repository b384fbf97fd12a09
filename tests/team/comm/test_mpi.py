"""Ranks of MPI, under mpirun."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPIRUN = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
PART = Path(__file__).with_name("mpi_part.py")

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun: pip install mpich"),
]


def under_mpirun(ranks: int, what: str, *options: str) -> list[str]:
    """Run the part on ranks; the lists that they print, sorted. mpirun may join their lines."""
    command = [str(MPIRUN), *options, "-n", str(ranks), sys.executable, str(PART), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    return sorted(re.findall(r"\[.*?\]", done.stdout))


def test_ranks_of_mpi_meet_in_the_world_and_in_parts_of_it() -> None:
    even, odd = ["2", "0"], ["3", "1"]
    whole = ["0", "1", "2", "3"]
    assert under_mpirun(4, "exchange") == sorted(map(str, [whole + even] * 2 + [whole + odd] * 2))


def test_a_dead_rank_of_mpi_is_named_to_the_others() -> None:
    told = under_mpirun(3, "death", "-disable-auto-cleanup")
    assert told == [f"[\"{rank} rank 1: its process ended (at 'bind')\"]" for rank in (0, 2)]
