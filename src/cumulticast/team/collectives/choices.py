"""Which kernel suits a size: choices.toml, as measured."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from .protocol import HALF

Algorithm = Literal["one_shot", "two_shot"]
Way = Literal["multicast", "peers"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A row of the table.

    Attributes
    ----------
    collective, path
        What was measured.
    one_shot_up_to
        Bytes of array up to which one-shot was the faster one.
    measured
        On what, how, and when.
    """

    collective: str
    path: str
    one_shot_up_to: int
    measured: str


@cache
def choices() -> tuple[Choice, ...]:
    """Read the table."""
    rows: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("choices.toml").read_text())["choice"]
    return tuple(Choice(**row) for row in rows)


def choose(collective: str, path: Way, nbytes: int, wanted: Algorithm | None = None) -> Algorithm:
    """Choose how to carry out a collective on arrays of so many bytes.

    Raises
    ------
    ValueError
        What is wanted is no algorithm, or the array has no room in the scratch.
    """
    if wanted is None:
        (row,) = (one for one in choices() if (one.collective, one.path) == (collective, path))
        return "one_shot" if nbytes <= row.one_shot_up_to else "two_shot"
    if wanted not in get_args(Algorithm):
        raise ValueError(f"algorithm {wanted!r} is none of {', '.join(get_args(Algorithm))}")
    if wanted == "one_shot" and nbytes > HALF:
        raise ValueError(f"an array of {nbytes} bytes is too large for one_shot: {HALF} at most")
    return wanted
