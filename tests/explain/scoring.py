"""How an answer is scored against expected.json."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from explain_cases import Case

from cumulticast.why import Diagnosis

NEAR = 2  # lines
CALM = ("healthy", "unrelated", "unsupported")


@dataclass(frozen=True, slots=True)
class Score:
    """What is right in one answer."""

    verdict: bool
    cause: bool
    status: bool
    overlap: bool
    claimed: frozenset[str]
    alarm: bool
    call: bool | None
    mentioned: int
    missing: tuple[str, ...]
    near: int
    cited: int
    also: int
    also_wanted: int

    @property
    def main(self) -> bool:
        return self.verdict and self.cause and self.status and self.overlap and not self.claimed


def cited_lines(answer: Diagnosis) -> list[tuple[str, int]]:
    """Answer (name of the file, line); names are given with their folder."""
    parts = [line.rpartition(":") for line in answer.evidence]
    return [(Path(name).name, int(number)) for name, _, number in parts]


def score(case: Case, answer: Diagnosis) -> Score:
    wanted = case.expected
    lines = [(name, int(number)) for name, _, number in (line.rpartition(":") for line in wanted["evidence"])]
    cited = cited_lines(answer)
    near = [one for one in cited if any(one[0] == name and abs(one[1] - number) <= NEAR for name, number in lines)]
    text = str(answer).lower()
    missing = tuple(word for word in wanted["must_mention"] if word not in text)
    return Score(
        verdict=answer.verdict == wanted["verdict"],
        cause=answer.cause == wanted["cause"],
        status=answer.code == wanted["status"]["code"],
        overlap=bool(set(cited) & set(lines)),
        claimed=frozenset({answer.cause, *answer.also_possible} & set(wanted["must_not_claim"])),
        alarm=wanted["verdict"] in CALM and answer.verdict == "fault",
        call=None if wanted["call"] is None else answer.call == wanted["call"],
        mentioned=len(wanted["must_mention"]) - len(missing),
        missing=missing,
        near=len(near),
        cited=len(cited),
        also=len(set(answer.also_possible) & set(wanted["also_possible"])),
        also_wanted=len(wanted["also_possible"]),
    )


def table(scores: dict[str, Score]) -> str:
    """Show all scores and their sums."""
    all_scores = scores.values()
    calls = [one.call for one in all_scores if one.call is not None]
    words = [one.mentioned + len(one.missing) for one in all_scores]
    lines = [f"{'PASS' if one.main else 'FAIL'} {name}" for name, one in scores.items() if not one.main]
    lines += [
        f"main {sum(one.main for one in all_scores)}/{len(scores)}",
        f"false alarms {sum(one.alarm for one in all_scores)}",
        f"forbidden claims {sum(bool(one.claimed) for one in all_scores)}",
        f"call {sum(calls)}/{len(calls)}",
        f"must mention {sum(one.mentioned for one in all_scores)}/{sum(words)}",
        f"cited lines near {sum(one.near for one in all_scores)}/{sum(one.cited for one in all_scores)}",
        f"also possible {sum(one.also for one in all_scores)}/{sum(one.also_wanted for one in all_scores)}",
    ]
    return "\n".join(lines)
