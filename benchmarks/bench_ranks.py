"""Many processes on one world: contention, how soon a wait is released, how soon teams are up, memory, a full world."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cumulticast import launch
from cumulticast.ranks import Ranks, places
from cumulticast.sim.driver import Options
from cumulticast.sim.machine import load
from cumulticast.sim.shared import World

JOB = Path(__file__).with_name("rank_job.py")
ALLOCATIONS = 10_000
LIMIT = 120.0


def ranks(mode: str, count: int, machine: str = "hgx-h100-8") -> tuple[float, list[dict]]:
    """Run a job in so many processes; answer when the first was started (time.monotonic), and what each printed."""
    options = Options(machine)
    with launch.machine(options) as world, tempfile.TemporaryDirectory() as directory:
        seats = places(count, world.machine, spread=False)
        env = launch.environment(options, world.path, os.environ)
        job, began = Ranks(world, seats), time.monotonic()
        try:
            for place in seats:
                with open(f"{directory}/out{place.rank}", "wb") as out:
                    job.start(place, [sys.executable, str(JOB), mode, directory], env, stdout=out)
            while job.running and job.wait(began + LIMIT - time.monotonic()):
                pass
        finally:
            job.close()
        assert all(process.returncode == 0 for process in job.processes.values()), f"a rank of {mode} failed"
        return began, [json.loads(Path(f"{directory}/out{place.rank}").read_text()) for place in seats]


def team(count: int, machine: str) -> tuple[float, int]:
    """Answer the seconds until all have bound and mapped, and the most private bytes of a rank then."""
    began, said = ranks("team", count, machine)
    return max(one["done"] for one in said) - began, max(one["private"] for one in said)


def contention(rounds: int = 5) -> tuple[float, float]:
    """Answer the throughput of eight processes against one's, and the 99th percentile of their binds + unbinds.

    Medians over rounds of one after the other: how the scheduler deals with eight processes differs from run to run.
    """
    ratios, slowest = list[float](), list[float]()
    for _ in range(rounds):
        (alone,) = ranks("contend", 1)[1]
        together = [seconds for one in ranks("contend", 8)[1] for seconds in one["took"]]
        ratios.append(len(together) / len(alone["took"]))
        slowest.append(statistics.quantiles(together, n=100)[98])
    return statistics.median(ratios), statistics.median(slowest)


def opening() -> float:
    """Answer the seconds that opening a world with 10 000 allocations takes (median of 5)."""
    world = World.create(load("hgx-h100-8"), profile="hardware")
    try:
        number = world.enter(os.getpid(), 0, None)
        with world.transaction() as db:
            rows = [(number << 32 | k, number, 2 << 20, k % 8) for k in range(ALLOCATIONS)]
            insert = "insert into allocation(id, process, size, location_type, device, node) values(?, ?, ?, 1, ?, 0)"
            db.executemany(insert, rows)
        for obj, *_ in rows:
            Path(world.path_of("memory", obj)).touch()
        return statistics.median(open_once(world.path) for _ in range(5))
    finally:
        world.close()


OPEN = """
import sys, time
from pathlib import Path
from cumulticast.sim.shared import World
begin = time.perf_counter()
world = World.open(Path(sys.argv[1]))
number = world.enter(1, 0, None)
print(time.perf_counter() - begin)
world.leave(number)
world.close()
"""


def open_once(path: Path) -> float:
    """Open and enter it in a process of its own."""
    command = [sys.executable, "-c", OPEN, str(path)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run() -> list[dict]:
    """Measure one thing after the other."""
    factor, slowest = contention()
    release = statistics.median(ranks("release", 2)[1][0]["took"])
    eight, _ = team(8, "hgx-h100-8")
    many, private = team(72, "gb200-nvl72")
    full = opening()
    return [
        result("bind + unbind, 8 processes against 1", factor, "x", ">= 0.6", factor >= 0.6),
        result("bind + unbind, 8 processes, 99th percentile", slowest * 1e3, "ms", "<= 20", slowest <= 20e-3),
        result("last add_device to the end of a bind", release * 1e6, "us", "< 1000", release < 1e-3),
        result("8 ranks, process start to bound and mapped", eight, "s", "<= 3", eight <= 3),
        result("72 ranks, process start to bound and mapped", many, "s", "<= 20", many <= 20),
        result("private memory of a rank before numpy", private / 2**20, "MiB", "<= 60", private <= 60 << 20),
        result("open a world with 10 000 allocations", full * 1e3, "ms", "< 100", full < 0.1),
    ]


def result(name: str, value: float, unit: str, bound: str, holds: bool) -> dict:
    """Make a line of results.json."""
    return {"name": name, "value": value, "unit": unit, "bound": bound, "holds": holds}
