"""What docs/testing.md says is true: its example passes, and leaks as said; its keywords are all that there are."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cumulticast.testing import CudaMachine, RunRanks
from cumulticast.testing.choices import Choices

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)[0]
MACHINE, RANKS = PAGE.partition("## `run_ranks`")[::2]


def run(source: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests of a file in a pytest of their own, warnings being errors."""
    (directory / "test_team.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "test_team.py"]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=directory)


def test_the_example_passes(tmp_path: Path) -> None:
    done = run(EXAMPLE, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_without_that_line_it_says_what_the_page_says(tmp_path: Path) -> None:
    without = re.sub(r"(?m)^ *driver\.mem_release\(team\) +# without.*\n", "", EXAMPLE)
    assert without != EXAMPLE
    promised = PAGE.partition("```text\n")[2].partition("```")[0].splitlines()
    printed = run(without, tmp_path).stdout.splitlines()
    assert [line for line in promised if line not in printed] == []


@pytest.mark.parametrize("name", Choices.__dataclass_fields__)
def test_every_keyword_of_the_marker_is_explained(name: str) -> None:
    assert re.search(rf"(?m)^\| [^|]*`{name}`", MACHINE)


@pytest.mark.parametrize(
    "name", [name for name in dir(CudaMachine) if name[0] != "_" and name not in ("close", "driver")]
)
def test_every_attribute_of_the_machine_is_explained(name: str) -> None:
    assert re.search(rf"`{name}(\(\))?`", MACHINE.partition("| `leaks`")[2])


@pytest.mark.parametrize("name", list(inspect.signature(RunRanks.__call__).parameters)[1:])
def test_every_argument_of_run_ranks_is_explained(name: str) -> None:
    assert re.search(rf"`{name}|[(, ]{name}[=,]", RANKS)
