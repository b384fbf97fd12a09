"""The causes: what is wrong, how it shows, what speaks for and against it, what to check and do (``causes.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation

Verdict = Literal["fault", "unsupported", "healthy", "unrelated", "uncertain"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One observation that is asked for: ``failure code=1|401 call=cuMulticastBindMem|none``.

    Attributes
    ----------
    kinds
        One of these: ``fm-inactive|fm-failed``.
    facts
        Name → the values that would do; ``none`` stands for a fact that is not known, ``*`` for any value.
    cited
        Whether the lines are evidence; a condition that begins with ``~`` only sets the scene.
    """

    kinds: tuple[str, ...]
    facts: Mapping[str, tuple[str, ...]]
    cited: bool

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition."""
        kinds, *facts = text.removeprefix("~").split()
        wanted = {name: tuple(values.split("|")) for name, values in (fact.split("=") for fact in facts)}
        return cls(tuple(kinds.split("|")), wanted, not text.startswith("~"))

    def __str__(self) -> str:
        """Say it as the data has it."""
        facts = [f"{name}={'|'.join(values)}" for name, values in self.facts.items()]
        return ("" if self.cited else "~") + " ".join(["|".join(self.kinds), *facts])

    def matches(self, notes: Notes) -> list[Observation]:
        """Answer the observations that fit."""
        return [one for one in notes.of(*self.kinds) if self._fits(one)]

    def _fits(self, one: Observation) -> bool:
        return all(
            (one.fact(name) or "none") in values or ("*" in values and one.fact(name) != "")
            for name, values in self.facts.items()
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a cause may be the one.

    Attributes
    ----------
    weight
        From 50 on it is established; below it is possible.
    every, no
        All of these hold, and none of those.
    cite
        What is evidence, too, if it is there.
    """

    weight: int
    every: tuple[Condition, ...]
    no: tuple[Condition, ...]
    cite: tuple[Condition, ...]

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Reason:
        """Read an entry of ``reasons``."""
        every, no, cite = (tuple(map(Condition.parse, entry.get(key, ()))) for key in ("all", "none", "cite"))
        return cls(entry["weight"], every, no, cite)

    def evidence(self, notes: Notes) -> list[Observation] | None:
        """Answer the lines that speak for it; None when it does not hold."""
        if any(condition.matches(notes) for condition in self.no):
            return None
        cited: list[Observation] = []
        for condition in self.every:
            found = condition.matches(notes)
            if not found:
                return None
            cited += found if condition.cited else []
        return cited + [one for condition in self.cite for one in condition.matches(notes)]


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause.

    Attributes
    ----------
    slug
        Its name, such as ``fm-not-running``.
    statuses, calls
        CUresults and driver functions with which it has been reported.
    shows
        Tool → what that tool prints.
    rules
        Rules of the book with which the software driver answers for it.
    """

    slug: str
    title: str
    mechanism: str
    verdict: Verdict
    statuses: tuple[int, ...]
    calls: tuple[str, ...]
    checks: tuple[str, ...]
    remedies: tuple[str, ...]
    confidence: str
    sources: tuple[str, ...]
    shows: Mapping[str, str]
    settle: tuple[str, ...]
    rules: tuple[str, ...]
    reasons: tuple[Reason, ...]


@cache
def causes() -> Mapping[str, Cause]:
    """Answer slug → cause, in the order of the file."""
    table = tomllib.loads((files("cumulticast.why") / "causes.toml").read_text("utf-8"))["causes"]
    return {slug: _cause(slug, entry) for slug, entry in table.items()}


def _cause(slug: str, entry: Mapping[str, Any]) -> Cause:
    return Cause(
        slug=slug,
        title=entry["title"],
        mechanism=entry["mechanism"],
        verdict=entry["verdict"],
        statuses=tuple(entry["statuses"]),
        calls=tuple(entry["calls"]),
        checks=tuple(entry["checks"]),
        remedies=tuple(entry["remedies"]),
        confidence=entry["confidence"],
        sources=tuple(entry["sources"]),
        shows=entry.get("shows", {}),
        settle=tuple(entry.get("settle", ())),
        rules=tuple(entry.get("rules", ())),
        reasons=(*map(Reason.parse, entry.get("reasons", ())), *_of_rules(entry)),
    )


def _of_rules(entry: Mapping[str, Any]) -> list[Reason]:
    """A rule that the software driver named is proof."""
    codes = entry.get("rules", ())
    return [Reason.parse({"weight": 92, "all": [f"rule rule={'|'.join(codes)}"]})] if codes else []
