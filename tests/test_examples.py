"""Every example runs by the command that stands at its head, warnings being errors, and prints what it should."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def on_ranks(ranks: int, line: str) -> list[str]:
    """Answer the line as each rank prints it; ``{}`` stands for the rank."""
    return [f"[rank {rank}] {line.format(rank)}" for rank in range(ranks)]


PRINTED = {
    "ten_lines": ["[28. 28. 28. 28.]"],
    "all_reduce": on_ranks(8, "five collectives over multicast: right"),
    "own_kernel": on_ranks(8, "[28. 36. 44. 52.]"),
    "survive_a_failure": [
        *on_ranks(4, "all are told: rank 2, bind, cuMulticastBindMem, 401"),
        *on_ranks(4, "Team(rank {} of 4, multicast): [6. 6. 6. 6.]"),
    ],
    "mpi_team": [f"Team(rank {rank} of 4, multicast): [3. 3. 3. 3.]" for rank in range(4)],
    "sub_teams": [
        f"[rank {rank}] Team(rank {rank % 4} of 4, multicast), Team(rank {rank // 4} of 2, multicast), "
        f"Team(rank {rank} of 8, multicast): right"
        for rank in range(8)
    ],
    "plain_objects": ["MulticastObject(size=2097152, num_devices=8): 8 replicas written by one store"],
}


def command(name: str) -> list[str]:
    """Answer the first command in the docstring of an example."""
    text = EXAMPLES[name].read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.search(r"^    (cumulticast run .*)$", text, re.MULTILINE)
    assert found, f"{name} does not say how to run it"
    return shlex.split(found[1])


def output(name: str, *options: str) -> list[str]:
    """Run an example, with more options of ``cumulticast run``. What it prints, sorted: ranks have no order."""
    program, run, *rest = command(name)
    words = [program, run, *options, *rest]
    environment = {**os.environ, "PATH": PATH, "PYTHONWARNINGS": "error"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=50, cwd=ROOT, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return sorted(done.stdout.splitlines())


SOON = ("ten_lines", "own_kernel")  # the others run with the slow tests


@pytest.mark.parametrize(
    "name", [name if name in SOON else pytest.param(name, marks=pytest.mark.slow) for name in EXAMPLES]
)
def test_an_example_prints_what_it_should(name: str) -> None:
    if name == "mpi_team" and not (importlib.util.find_spec("mpi4py") and shutil.which("mpirun", path=PATH)):
        pytest.skip("mpi4py or mpirun is not installed: pip install mpi4py mpich")
    printed = output(name)
    if name == "mpi_team":  # mpirun may join lines of its ranks
        printed = sorted(re.findall(r"Team\(.*?\]", "".join(printed)))
    assert printed == sorted(PRINTED[name])


@pytest.mark.slow
def test_collectives_run_without_multicast_and_say_why() -> None:
    why = "rank 0: device 0 has no multicast (MULTICAST_SUPPORTED is 0)"
    line = f"five collectives over peer memory, because {why}: right"
    assert output("all_reduce", "--machine", "hgx-a100-8") == on_ranks(8, line)


def test_every_example_is_listed_on_the_page_of_the_team() -> None:
    page = (ROOT / "docs/team.md").read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f"examples/{name}.py" not in page] == []
