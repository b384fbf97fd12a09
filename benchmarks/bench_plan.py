"""How fast layouts of 100 000 arrays are planned: one team, and many that share memory on SM_107."""

from __future__ import annotations

import time
from random import Random

from cumulticast import Request, plan

ARRAYS = 100_000


def one_team(random: Random) -> list[Request]:
    """Arrays up to 1 MiB of a team of eight."""
    return [Request(f"array {n}", random.randrange(1, 1 << 20)) for n in range(ARRAYS)]


def many_teams(random: Random) -> list[Request]:
    """Small arrays of 500 teams of up to eight devices."""
    teams = [tuple(random.sample(range(72), random.randrange(1, 9))) for _ in range(500)]
    return [Request(f"array {n}", random.randrange(1, 1 << 16), random.choice(teams)) for n in range(ARRAYS)]


def seconds(requests: list[Request], machine: str) -> tuple[float, bool]:
    """Plan once; return how long it took, and whether all arrays are in the plan and it fits."""
    begin = time.perf_counter()
    made = plan(requests, machine)
    took = time.perf_counter() - begin
    return took, made.fits and sum(len(planned.arrays) for planned in made.objects) == ARRAYS


def run() -> list[dict]:
    """Plan both."""
    random = Random(1)
    results = []
    for name, machine, requests in (
        ("one team, hgx-h100-8", "hgx-h100-8", one_team(random)),
        ("500 teams, rubin-nvl72", "rubin-nvl72", many_teams(random)),
    ):
        took, right = seconds(requests, machine)
        results.append(
            {
                "name": f"plan: {ARRAYS} arrays of {name}",
                "value": took,
                "unit": "s",
                "bound": "< 2",
                "holds": took < 2 and right,
            }
        )
    return results


if __name__ == "__main__":
    print(run())
