"""What a check answers, and what all of them together mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Outcome = Literal["ok", "partial", "missing", "not-available", "crashed"]
Answer = Literal["works", "cannot", "unknown"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one check found.

    Attributes
    ----------
    check
        Its name.
    outcome
        ``ok``; ``partial``: there, with something wrong or lacking; ``missing``: not there, or unusable;
        ``not-available``: cannot be asked here; ``crashed``: the check itself came to no end.
    summary
        One line.
    details
        Name and value, as JSON has them.
    causes
        Slugs of causes (``cumulticast explain SLUG``), the likeliest first.
    rule
        The rule that the driver named when it refused.
    """

    check: str
    outcome: Outcome
    summary: str
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    causes: tuple[str, ...] = ()
    rule: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Answer it as JSON has it."""
        return {**asdict(self), "details": dict(self.details), "causes": list(self.causes)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Result:
        """Read what `as_dict` wrote."""
        fields: dict[str, Any] = {**found, "causes": tuple(found["causes"])}
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Report:
    """All results, and whether multicast can work here.

    Attributes
    ----------
    results
        In the order in which the checks ran.
    multicast, why
        The answer, and what it rests on.
    """

    results: tuple[Result, ...]
    multicast: Answer
    why: str

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that were found, each once."""
        return tuple(dict.fromkeys(cause for result in self.results for cause in result.causes))

    @property
    def found(self) -> bool:
        """Whether something is wrong: a check names a cause, or a rule that the driver refused by."""
        return bool(self.causes) or any(result.rule for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """Answer it as JSON has it."""
        results = [result.as_dict() for result in self.results]
        return {"results": results, "multicast": self.multicast, "why": self.why}
