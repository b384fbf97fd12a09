"""All VMM and multicast calls, in any order, right and wrong, against a model written from the documents.

Each step draws a call and, sometimes, one thing to be wrong about it; the model says which statuses are legal. After a
success the model is brought up to date; after a refusal nothing may have changed, down to the last row of the simulated
machine's books. In the end the machine gives everything back and must be empty.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from vmm_machine import OneProcess, VmmMachine

COMBINATIONS = [(m, p) for m in ("hgx-h100-8", "rubin-nvl72") for p in ("hardware", "strict")]


def drawn(machine: str, profile: str) -> type[OneProcess]:
    return type("Drawn", (OneProcess,), {"machine_name": machine, "profile": profile})


def check(kind: type[VmmMachine], examples: int, steps: int) -> None:
    """Run a state machine."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        derandomize="CI" in os.environ,  # people look for new trouble; continuous integration for old
    )
    run_state_machine_as_test(kind, settings=chosen)


@pytest.mark.timeout(600)  # some five seconds; to find the shortest way to a failure takes minutes
@pytest.mark.parametrize(("machine", "profile"), COMBINATIONS)
def test_calls_agree_with_the_model(machine: str, profile: str) -> None:
    check(drawn(machine, profile), examples=12, steps=50)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("machine", "profile"), COMBINATIONS)
def test_many_more_calls_agree_with_the_model(machine: str, profile: str) -> None:
    """Draw so many examples of 150 steps as MODEL_EXAMPLES says: 400 take some four minutes on one processor."""
    check(drawn(machine, profile), examples=int(os.environ.get("MODEL_EXAMPLES", "100")), steps=150)
