"""What docs/plan.md says is true: its plans come out as printed, its map is theirs, its fields are all there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cumulticast.cli.plan_requests import COLUMNS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "plan.md").read_text(encoding="utf-8")
NEEDS = re.findall(r"(?ms)<<END\n(.*?)^END$", PAGE)[0]
PROGRAM = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)[0]
TABLE, PRINTED = re.findall(r"(?ms)^```text\n(.*?)^```$", PAGE)
ASKED, ANSWERED = PAGE.partition("## What is asked for")[2].split("## `--json`")


def python(*words: str, cwd: Path) -> list[str]:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=50, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.rstrip() for line in done.stdout.splitlines()]


def test_the_plan_of_the_page_comes_out_as_printed_with_its_map(tmp_path: Path) -> None:
    (tmp_path / "needs.txt").write_text(NEEDS)
    shown = python("-m", "cumulticast.cli", "plan", "needs.txt", "--svg", "map.svg", cwd=tmp_path)
    assert shown == TABLE.splitlines()
    assert (tmp_path / "map.svg").read_text("utf-8") == (DOCS / "plan.svg").read_text("utf-8")


def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    assert python("-W", "error", "-c", PROGRAM, cwd=tmp_path) == PRINTED.splitlines()


@pytest.mark.parametrize("name", COLUMNS)
def test_every_field_of_a_request_is_explained(name: str) -> None:
    assert re.search(rf"(?m)^\| [^|]*`{name}`", ASKED)


def test_every_field_of_the_answer_is_explained(tmp_path: Path) -> None:
    (tmp_path / "needs.txt").write_text(NEEDS)
    answer = json.loads("\n".join(python("-m", "cumulticast.cli", "plan", "needs.txt", "--json", cwd=tmp_path)))
    inner = [*answer["objects"][0], *answer["objects"][0]["arrays"][0], *answer["objects"][0]["binds"][0]]
    names = {*answer, *inner, *answer["blocks"][0], *answer["devices"][0]} - {"schema"}
    assert [name for name in sorted(names) if f"`{name}`" not in ANSWERED] == []
