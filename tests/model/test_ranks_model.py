"""The same calls in the same disorder, with the rank that makes each drawn as well: real processes on one machine.

Objects and memory travel between the ranks as descriptors and as fabric handles, teams are made of the devices of
several of them, some wait while others add, and any of them may be killed or leave at any time, and comes again. The
model is that of one process (test_vmm_model.py), once for each rank, on what they share; after each step the machine's
books must say of objects, teams, binds, references, slots and bytes exactly what it says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from ranks_in_use import Pool
from ranks_machine import RanksMachine
from test_vmm_model import check

COMBINATIONS = [
    ("hgx-h100-8", "hardware", 1),
    ("hgx-h100-8", "strict", 1),
    ("rubin-nvl72", "hardware", 2),
    ("rubin-nvl72", "strict", 2),
]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Give processes that serve all examples of these tests."""
    made = Pool()
    yield made
    made.end()


def drawn(machine: str, profile: str, nodes: int, pool: Pool) -> type[RanksMachine]:
    facts = {"machine_name": machine, "profile": profile, "nodes": nodes, "pool": pool}
    return type("Drawn", (RanksMachine,), facts)


@pytest.mark.timeout(600)  # some twenty seconds; to find the shortest way to a failure takes minutes
@pytest.mark.parametrize(("machine", "profile", "nodes"), [COMBINATIONS[0], COMBINATIONS[3]])
def test_calls_of_ranks_agree_with_the_model(machine: str, profile: str, nodes: int, pool: Pool) -> None:
    check(drawn(machine, profile, nodes, pool), examples=6, steps=50)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("machine", "profile", "nodes"), COMBINATIONS)
def test_many_more_calls_of_ranks_agree_with_the_model(machine: str, profile: str, nodes: int, pool: Pool) -> None:
    """Draw so many examples as RANKS_MODEL_EXAMPLES says.

    They have at most 150 steps, some 110 on average: with 250 examples all four together take more than 100 000.
    """
    kind = drawn(machine, profile, nodes, pool)
    check(kind, examples=int(os.environ.get("RANKS_MODEL_EXAMPLES", "30")), steps=150)
    print(f"{machine}, {profile}: {kind.taken} steps")
