"""A process for each rank: the same results, and the same word on who is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

RANKS = 4
COUNT = RANKS * 5001


def on_rank(rank: int, place: str, models: str) -> list[str]:
    """Carry out every collective, and answer which of them went wrong."""
    import sys

    sys.path.append(models)
    import numpy as np
    from collective_models import BFLOAT16, bits, reduced, values

    from cumulticast import Team, driver
    from cumulticast.team import collectives

    wrong = []
    with Team.join(f"file://{place}", rank, rank=rank, size=RANKS, timeout=20) as team:
        driver.ctx_push_current_v2(driver.device_primary_ctx_retain(rank))
        for dtype in (np.dtype(np.float32), BFLOAT16):
            given = [values(one, COUNT, dtype) for one in range(RANKS)]
            parts = [np.split(one, RANKS) for one in given]
            sums = reduced("sum", given)
            own = [sums if one == rank else given[rank] for one in range(RANKS)]
            wanted = {
                "all_reduce": sums,
                "reduce_scatter": np.concatenate([np.split(own[one], RANKS)[one] for one in range(RANKS)]),
                "all_gather": np.concatenate([parts[one][one] for one in range(RANKS)]),
                "broadcast": given[0],
            }
            for multicast in (True, False):
                team.has_multicast = multicast
                for algorithm in ("one_shot", "two_shot"):
                    for name, want in wanted.items():
                        array = team.empty(COUNT, dtype)
                        array.numpy()[:] = given[rank]
                        team.barrier()
                        getattr(collectives, name)(team, array, algorithm=algorithm)
                        team.barrier()
                        if not np.array_equal(bits(array.numpy()), bits(want)):
                            wrong.append(f"{name} {dtype.name} {algorithm} multicast={multicast} on {rank}")
                        array.close()
        driver.ctx_pop_current_v2()
        driver.device_primary_ctx_release_v2(rank)
    return wrong


@pytest.mark.timeout(60)
def test_collectives_of_processes(run_ranks: Any, tmp_path: Path) -> None:
    given = {"place": str(tmp_path / "meeting"), "models": str(Path(__file__).parent)}
    assert run_ranks(on_rank, ranks=RANKS, timeout=50, arguments=given) == [[]] * RANKS


def on_rank_or_away(rank: int, place: str) -> str:
    """Come to a second all_reduce, but for rank 1."""
    from cumulticast import Team, TeamError

    with Team.join(f"file://{place}", rank, rank=rank, size=RANKS, timeout=20) as team:
        array = team.empty(COUNT, "float32")
        team.all_reduce(array)
        team.barrier()
        try:
            if rank != 1:
                team.timeout = 2.0
                team.all_reduce(array)
            team.barrier()
        except TeamError as error:
            return f"{error.rank}: {error}"
    return "nothing"


@pytest.mark.timeout(60)
def test_all_ranks_name_who_is_missing(run_ranks: Any, tmp_path: Path) -> None:
    """Rank 1 itself learns it from the barrier, which the others come to no more: they say why they left."""
    given = {"place": str(tmp_path / "meeting")}
    said = run_ranks(on_rank_or_away, ranks=RANKS, timeout=50, arguments=given)
    assert all(said[rank].startswith("1: ") and "did not come to all_reduce" in said[rank] for rank in (0, 2, 3)), said
    assert said[1] != "nothing"
