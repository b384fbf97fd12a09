"""How soon a team of eight ranks is up, against bare driver calls with as many barriers; how soon an array is."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

JOB = Path(__file__).with_name("team_job.py")
RANKS, ROUNDS, ARRAYS = 8, 21, 2000
CREATION = """
import sys, time
from cumulticast import sim
sim.start(machine="hgx-h100-8")
from cumulticast import Team
count = int(sys.argv[1])
with Team.local(range(8)) as team:
    team.empty(256 * count, "uint8").close()    # the object is warm
    begin = time.perf_counter()
    for _ in range(count):
        team.empty(8)
    print((time.perf_counter() - begin) / count)
"""


def bring_up() -> dict[str, float]:
    """Answer the seconds until the last rank is up, bare and as a team: medians of rounds in turn."""
    command = [sys.executable, "-m", "cumulticast.cli", "run", "--ranks", str(RANKS), "--", sys.executable, str(JOB)]
    done = subprocess.run([*command, str(ROUNDS)], check=True, capture_output=True, text=True, timeout=300)
    said = [json.loads(line[line.index("{") :]) for line in done.stdout.splitlines()]
    assert len(said) == RANKS, done.stdout
    return {name: statistics.median(max(one[name][k] for one in said) for k in range(ROUNDS)) for name in said[0]}


def creation() -> float:
    """Answer the seconds that an array takes in a block that is there (median of 5 processes)."""
    command = [sys.executable, "-c", CREATION, str(ARRAYS)]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)


def run() -> list[dict]:
    """Measure both."""
    took, each = bring_up(), creation()
    ratio = took["team"] / took["bare"]
    return [
        result("8 ranks, bare driver calls of a bring-up", took["bare"] * 1e3, "ms", "", True),
        result("8 ranks, bring-up of a team, against these", ratio, "x", "<= 1.3", ratio <= 1.3),
        result("an array from a warm object", each * 1e6, "us", "<= 50", each <= 50e-6),
    ]


def result(name: str, value: float, unit: str, bound: str, holds: bool) -> dict:
    """Make a line of results.json."""
    return {"name": name, "value": value, "unit": unit, "bound": bound, "holds": holds}
