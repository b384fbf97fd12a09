"""What each rank does under mpirun, or with a process group of torch: it leaves what came of each step in a file.

A rank fails, then one dies; between that a team comes up each time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matrix_part as steps

from cumulticast import Team, driver, sim

RANKS = 4
LONG = 30.0
FAILS, DIES = 1, 2


def attempt(group: Any) -> Any:
    """Join by a communicator, use the team, and close it."""

    def work() -> list[float]:
        with Team.join(group, steps.number(), timeout=LONG, retries=0) as team:
            return list(steps.used(team))

    answer = steps.told(work)
    return asdict(answer) if isinstance(answer, steps.Told) else answer


def holds() -> int:
    """Count what the world holds, once the dead are known to be so."""
    end = time.monotonic() + LONG
    while True:
        sim.current().world.reap()
        picture = sim.world()
        found = len(picture.multicast) + len(picture.allocations)
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.01)


def failing(group: Any, meet: Callable[[], object]) -> Any:
    """Try to bring a team up of which one rank's bind fails."""
    meet()  # all are done with what came before
    if steps.number() == 0:
        sim.faults.set(f"fail:cuMulticastBindMem:rank={FAILS}:status=2")
    meet()
    answer = attempt(group)
    meet()
    if steps.number() == 0:
        sim.faults.clear()
    return answer


def dying(group: Any) -> Any:
    """Try to bring a team up of which one rank ends as it maps; by itself, since mpirun kills all when it is killed."""
    if steps.number() == DIES:
        driver.mem_set_access = lambda *_: os._exit(0)
    return attempt(group)


def main(group: Any, part: Any, meet: Callable[[], object]) -> None:
    """Go through the steps; ``part`` is a communicator of the even, or the odd ranks."""
    told = [attempt(group), attempt(part), failing(group, meet), attempt(group), dying(group)]
    left = holds() if steps.number() == 0 else 0  # before the next team begins, which needs this rank
    told.append(attempt_of_the_living())
    record({"told": told, "left": left})
    os._exit(0)  # the library's own end would wait for the dead


def record(what: dict[str, Any]) -> None:
    """Leave what was told for the test, and wait until all others have: mpirun ends them when one of them ends so."""
    part = Path(os.environ["MEETING"]) / f"{steps.number()}.part"
    part.write_text(json.dumps(what))
    part.rename(part.with_suffix(".json"))
    end = time.monotonic() + LONG
    while len(list(part.parent.glob("*.json"))) < RANKS - 1 and time.monotonic() < end:
        time.sleep(0.01)


def attempt_of_the_living() -> list[float]:
    """Bring a team of those who are left up; their library's communicator is of no use any more."""
    living = [rank for rank in range(RANKS) if rank != DIES]
    place = f"file://{os.environ['MEETING']}/living"
    rank = living.index(steps.number())
    with Team.join(place, steps.number(), rank=rank, size=len(living), timeout=LONG) as team:
        return list(steps.used(team))


def by_mpi() -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    os.environ["RANK"] = str(world.Get_rank())
    main(world, world.Split(world.Get_rank() % 2, world.Get_rank()), world.Barrier)


def by_torch() -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo")
    groups = [dist.new_group([rank for rank in range(RANKS) if rank % 2 == odd]) for odd in (0, 1)]
    main(dist.group.WORLD, groups[steps.number() % 2], dist.barrier)


if __name__ == "__main__":
    {"mpi": by_mpi, "torch": by_torch}[sys.argv[1]]()
