"""Ranks that do not call the same collectives get wrong results; the next barrier says so, and who it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cumulticast import Team, TeamError
from cumulticast.testing import RunRanks

CALLS: dict[str, Any] = {
    "operation": lambda team, array, odd: team.all_reduce(array, "max" if odd else "sum"),
    "array": lambda team, array, odd: team.all_reduce(array[1 if odd else 0]),
    "root": lambda team, array, odd: team.broadcast(array, 1 if odd else 0),
    "same": lambda team, array, odd: team.all_reduce(array),
}


def play(rank: int, world_size: int, what: str) -> list[Any] | None:
    with Team.join(timeout=20) as team:
        arrays = [team.empty(64), team.empty(64)]
        array: Any = arrays if what == "array" else arrays[0]
        for one in arrays:
            one.numpy()[:] = rank
        team.barrier()
        CALLS[what](team, array, rank == world_size - 1)
        try:
            team.barrier()
        except TeamError as error:
            return [error.rank, error.stage, "collectives" in error.reason]
        return np.unique(arrays[0].numpy()).tolist()


@pytest.mark.parametrize("what", ["operation", "array", "root"])
def test_a_barrier_names_who_called_something_else(run_ranks: RunRanks, what: str) -> None:
    assert run_ranks(play, ranks=3, timeout=50, arguments={"what": what}) == [[2, "barrier", True]] * 3


def test_a_barrier_has_nothing_to_say_of_the_same_calls(run_ranks: RunRanks) -> None:
    assert run_ranks(play, ranks=3, timeout=50, arguments={"what": "same"}) == [[3.0]] * 3
