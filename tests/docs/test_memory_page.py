"""The example of docs/memory.md runs as printed, and its table has the rules that adversarial memory finds broken."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from cumulticast.rules import all_rules, memory_order
from cumulticast.sim.fresh import LARGEST

PAGE = (Path(__file__).parents[2] / "docs/memory.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)[0]


def output(example: str, cache: Path) -> list[str]:
    command = [sys.executable, "-W", "error", "-c", example]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, env={"XDG_CACHE_HOME": str(cache)})
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    promised = re.findall(r"(?m)^# (MC.*)$", EXAMPLE)
    assert len(promised) == 1
    assert output(EXAMPLE, tmp_path) == promised


def test_what_the_example_calls_right_is(tmp_path: Path) -> None:
    assert output(EXAMPLE.replace("st.relaxed.gpu", "st.release.gpu"), tmp_path) == []


def test_the_table_has_every_rule() -> None:
    of_memory = {rule.code for rule in all_rules() if rule.check.__module__ == memory_order.__name__}
    assert set(re.findall(r"(?m)^\| \[(MC\d+)\]", PAGE)) == of_memory


def test_how_much_is_filled() -> None:
    assert f"the first {LARGEST >> 20} MiB" in PAGE
