"""Collectives of eight ranks on the software driver, against gloo; and the sizes from which two-shot is the faster one.

``python benchmarks/bench_collectives.py``            measures one-shot and two-shot, size by size
``python benchmarks/bench_collectives.py --rewrite``  and writes what that says to team/collectives/choices.toml

gloo is asked where torch is: in this environment, or in that of the Python which TORCH_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RANKS, SIZE, ROUNDS = 8, 64 << 20, 7
BOUND = 2.0
TABLE = HERE.parent / "src" / "cumulticast" / "team" / "collectives" / "choices.toml"


def run() -> list[dict]:
    """Measure in one process, in eight, and gloo in eight, one after the other."""
    found, gloo, rows = {"one process": _own_process("one"), "8 processes": _ranks()}, _gloo(), list[dict]()
    for where, value in found.items():
        rows.append(_milliseconds(f"all_reduce, 8 x 64 MiB, {where}", value["multicast"]))
        rows.append(_milliseconds(f"the same over peers, {where}", value["peers"]))
        if gloo is not None:
            rows.append(_against(f"all_reduce, 8 x 64 MiB, {where}, against gloo", gloo / value["multicast"]))
    if gloo is None:
        print(
            "no torch: all_reduce is not compared with gloo (TORCH_PYTHON names a Python that has it)", file=sys.stderr
        )
    return rows


def _milliseconds(name: str, seconds: float) -> dict:
    return {"name": name, "value": seconds * 1e3, "unit": "ms", "bound": "", "holds": True}


def _against(name: str, times: float) -> dict:
    return {"name": name, "value": times, "unit": "x", "bound": f">= {BOUND:g}", "holds": times >= BOUND}


# ---- processes that measure


def _answer(command: list[str], **more: Any) -> dict:
    """Run a command, and answer the JSON on its last line that has any."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, **more)
    lines = [line[line.index("{") :] for line in done.stdout.splitlines() if "{" in line]
    return json.loads(lines[-1])


def _own_process(mode: str) -> dict:
    return _answer([sys.executable, __file__, mode])


def _ranks() -> dict:
    start = [sys.executable, "-m", "cumulticast.cli", "run", "--ranks", str(RANKS), "--"]
    return _answer([*start, sys.executable, __file__, "rank"])


def _gloo() -> float | None:
    python = os.environ.get("TORCH_PYTHON") or (sys.executable if find_spec("torch") else None)
    return _answer([python, __file__, "gloo"])["seconds"] if python else None


def best(work: Callable[[], None], meet: Callable[[], None], rounds: int = ROUNDS) -> float:
    """Answer the shortest time of several; all ranks begin together."""
    times = []
    for _ in range(rounds):
        meet()
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def all_reduces(team: Any) -> dict:
    """Time the all_reduce of a large array, through multicast and over peers; the first time counts for nothing."""
    array, found = team.empty(SIZE // 4, "float32"), {}
    for path in ("multicast", "peers"):
        team.has_multicast = path == "multicast"
        found[path] = best(lambda: (team.all_reduce(array), team.barrier()), team.barrier)
    return found


def one() -> None:
    """Measure with all ranks in this process."""
    with local_team() as team:
        print(json.dumps(all_reduces(team)))


def rank() -> None:
    """Measure as one rank of several."""
    from cumulticast import Team

    with Team.join(timeout=120) as team:
        found = all_reduces(team)
        if team.rank == 0:
            print(json.dumps(found))


def local_team() -> Any:
    """Start a machine and make a team of all its devices."""
    import cumulticast.sim as sim

    sim.start(machine="hgx-h100-8")
    from cumulticast import Team

    return Team.local(range(RANKS))


# ---- gloo


def gloo() -> None:
    """Measure gloo: a process for each rank, on one thread each as there are more ranks than processors."""
    import torch.multiprocessing as mp

    mp.spawn(gloo_rank, nprocs=RANKS)


def gloo_rank(own: int) -> None:
    """Be one rank of gloo's."""
    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29533"))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=own, world_size=RANKS)
    values = torch.zeros(SIZE // 4)
    seconds = best(lambda: (dist.all_reduce(values), dist.barrier()), dist.barrier)
    if own == 0:
        print(json.dumps({"seconds": seconds}), flush=True)
    dist.destroy_process_group()


# ---- one-shot or two-shot

COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "broadcast")
SIZES = tuple(1 << power for power in range(10, 20))
IN_A_ROW, SWEEPS = 10, 12


def crossovers() -> None:
    """Measure both algorithms at all sizes."""
    with local_team() as team:
        found = {f"{name} {path}": sweep(team, name, path) for name in COLLECTIVES for path in ("multicast", "peers")}
    print(json.dumps(found))


def sweep(team: Any, name: str, path: str) -> list[tuple[int, float, float]]:
    """Answer (bytes, seconds of one-shot, of two-shot)."""
    from cumulticast.team import collectives

    team.has_multicast, act, found = path == "multicast", getattr(collectives, name), []
    for size in SIZES:
        array = team.empty(size // 4, "float32")
        taken = {"one_shot": 1e9, "two_shot": 1e9}
        for _ in range(SWEEPS):
            for algorithm in taken:
                work = lambda act=act, array=array, algorithm=algorithm: row(team, act, array, algorithm)  # noqa: E731
                taken[algorithm] = min(taken[algorithm], best(work, team.barrier, 1) / IN_A_ROW)
        found.append((size, taken["one_shot"], taken["two_shot"]))
        array.close()
    return found


def row(team: Any, act: Callable[..., None], array: Any, algorithm: str) -> None:
    """Carry out several, one after the other."""
    for _ in range(IN_A_ROW):
        act(team, array, algorithm=algorithm)
    team.barrier()


#: One-shot meets once and two-shot twice, and meetings over NVLink cost more than here: it gets what is near a draw.
DRAW = 1.25


def up_to(measured: list[tuple[int, float, float]]) -> int:
    """Answer the largest size at which one-shot does not clearly lose."""
    return max((size for size, one_shot, two_shot in measured if one_shot <= DRAW * two_shot), default=0)


HEAD = """\
# One-shot up to so many bytes of array, two-shot above. "peers" is also how arrays on multicast memory are reduced by
# operations that the switch lacks. Written by benchmarks/bench_collectives.py --rewrite; there was no machine with a
# switch to measure on. All ranks of a team have to choose alike, so nothing is asked here that they might answer
# differently.
schema = 1
"""


def rewrite(found: dict[str, list[tuple[int, float, float]]]) -> None:
    """Write the table."""
    how = f"software driver, hgx-h100-8, 8 ranks in one process, {os.cpu_count()} processors, {date.today()}"
    rows = []
    for key, measured in found.items():
        name, path = key.split()
        lines = (
            f'collective = "{name}"',
            f'path = "{path}"',
            f"one_shot_up_to = {up_to(measured)}",
            f'measured = "{how}"',
        )
        rows.append("\n".join(("[[choice]]", *lines)))
    TABLE.write_text("\n".join((HEAD, "\n\n".join(rows), "")))


def main() -> None:
    """Measure size by size, in a process of its own."""
    found = _own_process("crossovers")
    for key, measured in found.items():
        print(f"{key}: one-shot up to {up_to(measured)}")
        for size, one_shot, two_shot in measured:
            print(f"  {size:>8} {one_shot * 1e6:>9.0f} us {two_shot * 1e6:>9.0f} us")
    if "--rewrite" in sys.argv:
        rewrite(found)


MODES = {"one": one, "rank": rank, "gloo": gloo, "crossovers": crossovers}

if __name__ == "__main__":
    MODES.get(sys.argv[1] if len(sys.argv) > 1 else "", main)()
