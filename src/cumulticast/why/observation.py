"""What a reader sees in a text: one typed observation for each line that tells something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Place:
    """A line of an input.

    Attributes
    ----------
    file
        The name as the user gave it; ``stdin`` or ``text`` without one.
    number
        Counted from 1; lines end at LF only.
    """

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


@dataclass(frozen=True, slots=True)
class Observation:
    """One fact in the text.

    Attributes
    ----------
    kind
        What it is, such as ``failure`` or ``fabric``: the causes name kinds in their conditions.
    place
        Where it stands.
    text
        The line without its prefixes, to be quoted.
    facts
        Name and value: ``{"call": "cuMulticastBindMem", "code": "401"}``; a fact that is not known is absent.
    rank, host
        Whose line it is, where the text tells; a rank is a number of the job.
    time
        When it was logged, where the line tells; never with a time zone.
    """

    kind: str
    place: Place
    text: str
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    rank: int | None = None
    host: str | None = None
    time: datetime | None = None

    def fact(self, name: str) -> str:
        """Answer a fact; empty when it is not known."""
        return self.facts.get(name, "")

    @property
    def code(self) -> int | None:
        """The CUresult of a failure."""
        return int(self.facts["code"]) if "code" in self.facts else None

    @property
    def call(self) -> str | None:
        """The driver function of a failure."""
        return self.facts.get("call")
