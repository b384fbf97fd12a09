"""The example of docs/kernels.md runs as printed, and its table names the statuses that the driver knows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from cumulticast.rules import Status

PAGE = (Path(__file__).parents[2] / "docs/kernels.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    example = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)[0]
    promised = re.search(r"# eight replicas .*?: (\[.*\])$", example, re.MULTILINE)
    assert promised is not None
    command = [sys.executable, "-W", "error", "-c", example]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.stderr == ""
    assert done.stdout.splitlines() == [promised[1]]


def test_the_statuses_of_the_table_exist() -> None:
    numbers = [int(number) for number in re.findall(r"(?m)^\| (\d+) \|", PAGE)]
    assert len(numbers) == 9
    assert all(Status(number) for number in numbers)
