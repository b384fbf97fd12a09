"""Weigh the causes by the observations and write the diagnosis.

Every cause has reasons, each with a weight and the conditions under which it holds. The best reason of a cause is its
score. From ``ESTABLISHED`` on a cause can be the answer; below it is only possible. When none is established the
verdict is ``uncertain`` if the text is about multicast, else ``unrelated``: a false alarm is the worst answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cumulticast.rules.status import Status
from cumulticast.why.causes import Cause, causes
from cumulticast.why.derive import COMPLAINTS
from cumulticast.why.diagnosis import Diagnosis, Quote
from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation

ESTABLISHED, POSSIBLE = 50, 20
MOST_QUOTES, OF_A_KIND, MOST_OTHERS = 24, 12, 3
#: Verdicts that say that nothing is wrong here; other causes beside them would only alarm.
CALM = ("healthy", "unrelated")
ALIKE = ("fabric-", "health-", "uuid-", "gpu", "no-switch")  # kinds of which one line says what all say
OURS = (401, 800, 802, 919)  # CUresults of illegal state, permission, system not ready, fabric not ready
ABOUT = ("multicast", "fabric", "init")  # areas of failures that may concern this house


@dataclass(frozen=True, slots=True)
class Ranked:
    """A cause, its score and the lines for it."""

    cause: Cause
    score: int
    evidence: tuple[Observation, ...]


def ranked(notes: Notes) -> list[Ranked]:
    """Answer the causes that some reason supports, the best first; of equals the first in the file."""
    answers: list[Ranked] = []
    for cause in causes().values():
        held = [(reason.weight, found) for reason in cause.reasons if (found := reason.evidence(notes)) is not None]
        if held:
            weight, evidence = max(held, key=lambda pair: pair[0])
            answers.append(Ranked(cause, weight, tuple(evidence)))
    return sorted(answers, key=lambda one: -one.score)


def judge(notes: Notes) -> Diagnosis:
    """Answer the diagnosis."""
    order = ranked(notes)
    if order and order[0].score >= ESTABLISHED:
        return _established(order[0], order[1:], notes)
    possible = [one for one in order if one.score >= POSSIBLE]
    about = [one for one in notes.of("failure") if _concerns(one)] or notes.of("multicast-error")
    return _undecided(order, notes) if possible or about else _nothing()


def _concerns(failure: Observation) -> bool:
    """Whether a failure may concern this house: by what it was for, or by a status that little else answers."""
    return failure.fact("area") in ABOUT or failure.code in OURS


def _established(best: Ranked, others: Sequence[Ranked], notes: Notes) -> Diagnosis:
    cause = best.cause
    first = _first_failure(cause, best.evidence, notes)
    proven = any(one.kind == "rule" for one in best.evidence)
    more = [] if proven or (cause.verdict in CALM and not any(one.code for one in best.evidence)) else _others(others)
    return Diagnosis(
        verdict=cause.verdict,
        cause=cause.slug,
        title=cause.title,
        call=None if _elsewhere(cause) else _call(cause, best.evidence, first),
        code=first.code if first else None,
        name=_status_name(first.code) if first else None,
        first_rank=_first_rank(best.evidence, first),
        quotes=_quotes(best.evidence),
        also_possible=tuple(more),
        why=cause.mechanism + _first_words(best.evidence, first, notes),
        checks=cause.checks,
        remedies=cause.remedies,
        confidence=cause.confidence,
        would_settle=cause.settle,
    )


def _others(others: Iterable[Ranked]) -> list[str]:
    """Name the other causes that the text allows."""
    slugs = [one.cause.slug for one in others if one.score >= POSSIBLE and one.cause.verdict not in CALM]
    return slugs[:MOST_OTHERS]


def _nothing() -> Diagnosis:
    """Say that the text is about something else, without a line to show for it."""
    cause = causes()["not-multicast"]
    return Diagnosis(
        verdict="unrelated",
        cause=cause.slug,
        title=cause.title,
        call=None,
        code=None,
        name=None,
        first_rank=None,
        quotes=(),
        also_possible=(),
        why="No line of the text tells anything of multicast, NVLS, fabric handles or the fabric.",
        checks=(),
        remedies=(),
        confidence=cause.confidence,
        would_settle=("the log from its first line, with NCCL_DEBUG=INFO", "nvidia-smi -q; dmesg; fabricmanager.log"),
    )


def _undecided(order: Sequence[Ranked], notes: Notes) -> Diagnosis:
    """Say that the text does not decide, and what would."""
    possible = [one for one in order if one.score >= POSSIBLE and one.cause.verdict not in CALM]
    evidence = [one for ranked_one in possible[:2] for one in ranked_one.evidence]
    failures = [one for one in notes.of("failure") if _concerns(one)]
    first = _earliest(failures) if failures else None
    settle = [item for one in possible for item in (one.cause.settle or one.cause.checks[:1])]
    return Diagnosis(
        verdict="uncertain",
        cause=None,
        title="this may concern multicast, but the text does not decide the cause",
        call=first.call if first else None,
        code=first.code if first else None,
        name=_status_name(first.code) if first else None,
        first_rank=first.rank if first else None,
        quotes=_quotes(evidence or failures or notes.of("multicast-error")),
        also_possible=tuple(one.cause.slug for one in possible[:MOST_OTHERS]),
        why="Several causes fit what is there, or none does well.",
        checks=tuple(dict.fromkeys(check for one in possible for check in one.cause.checks[:1])),
        remedies=(),
        confidence="inferred",
        would_settle=tuple(dict.fromkeys(settle))[:6],
    )


# ---- the first failure


def _first_failure(cause: Cause, evidence: Iterable[Observation], notes: Notes) -> Observation | None:
    """Pick the failure whose status is the cause's: the earliest among the evidence, else among all that fit.

    A failure of another origin has no status here.
    """
    if _elsewhere(cause):
        return None
    cited = [one for one in evidence if one.code is not None]
    if cited:
        return _earliest(cited)
    fitting = [one for one in notes.of("failure") if one.code in cause.statuses]
    return _earliest(fitting) if fitting else None


def _earliest(ones: Sequence[Observation]) -> Observation:
    """Pick the first in time if all have one, else the first in the text."""
    if all(one.time for one in ones):
        return min(ones, key=lambda one: (one.time, one.place.file, one.place.number))
    return ones[0]


def _elsewhere(cause: Cause) -> bool:
    """Whether the cause is of another origin and has no status that is worth to be told here."""
    return cause.verdict == "unrelated" and not cause.statuses


def _first_rank(evidence: Iterable[Observation], first: Observation | None) -> int | None:
    """Name the rank of the first failure, or of the first complaint where no call failed."""
    if first is not None:
        return first.rank
    return next((one.rank for one in evidence if one.kind in COMPLAINTS and one.rank is not None), None)


def _call(cause: Cause, evidence: Sequence[Observation], first: Observation | None) -> str | None:
    if first:
        shown = first.call or next((one.call for one in evidence if one.code == first.code and one.call), None)
        sole = cause.calls[0] if first.fact("file") and len(cause.calls) == 1 else None
        return shown or sole
    return next((one.call for one in evidence if one.call), None)


def _status_name(code: int | None) -> str | None:
    try:
        return None if code is None else Status(code).cuda_name
    except ValueError:
        return None


def _first_words(evidence: Sequence[Observation], first: Observation | None, notes: Notes) -> str:
    """Say how the call of a line was found, where that needed the version."""
    if first is None or not first.fact("named"):
        return ""
    versions = notes.of("nccl-version")
    version = (versions[-1].fact("version") or versions[-1].fact("equal")) if versions else ""
    where = f"{first.fact('file')}:{first.fact('at')}"
    told = f"in NCCL {version} " if version else "in all NCCL versions that are known (the log tells none) "
    return f" {where} is {first.call} {told.strip()}."


def _quotes(evidence: Iterable[Observation]) -> tuple[Quote, ...]:
    """Cite each line once, in the order of the text, and not too many of a kind."""
    seen: dict[str, Observation] = {}
    taken: dict[str, int] = {}
    said: set[tuple[str, str]] = set()
    for one in evidence:
        if (one.kind, one.text) in said and one.kind.startswith(ALIKE):
            continue  # eight GPUs that say the same
        said.add((one.kind, one.text))
        taken[one.kind] = taken.get(one.kind, 0) + (str(one.place) not in seen)
        if taken[one.kind] <= OF_A_KIND and len(seen) < MOST_QUOTES:
            seen.setdefault(str(one.place), one)
    ordered = sorted(seen.values(), key=lambda one: (one.place.file, one.place.number))
    return tuple(Quote(str(one.place), one.text) for one in ordered)
