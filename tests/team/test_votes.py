"""What a failed exchange becomes for the user."""

from __future__ import annotations

import pytest

from cumulticast import TeamError
from cumulticast.team.comm import CommError
from cumulticast.team.vote import lost, why_left


def test_all_who_are_missing_are_named_and_none_is_called_good() -> None:
    late = "did not come to 'bind' within 30.0 s"
    error = lost(CommError({2: late, 1: "its process ended"}, "bind"))
    assert str(error) == f"rank 1 failed at bind: its process ended; rank 2: {late}"
    assert (error.rank, error.stage, error.call, error.ranks) == (1, "bind", None, {1: ("bind", None, None)})


def test_who_is_missing_alone_is_named_once_at_the_stage_that_the_caller_names() -> None:
    assert str(lost(CommError({3: "its process ended"}, "x"), "join")) == "rank 3 failed at join: its process ended"


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), "KeyboardInterrupt in this rank"),
        (RuntimeError("my own bug\nand more"), "RuntimeError in this rank: my own bug"),
        (RuntimeError("x" * 1000), f"RuntimeError in this rank: {'x' * 300}"),
        (Mute(), "Mute in this rank"),
        (TeamError(3, "all_reduce", reason="its process ended"), "rank 3 failed at all_reduce: its process ended"),
    ],
    ids=["no text", "first line", "long", "mute", "team"],
)
def test_a_rank_that_leaves_says_why(error: BaseException, told: str) -> None:
    assert why_left(error) == told
