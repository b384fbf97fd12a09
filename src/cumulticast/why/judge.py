"""Weigh the causes by the observations and write the diagnosis.

Every cause has reasons, each with a weight and the conditions under which it holds. The best reason of a cause is its
score. From ``ESTABLISHED`` on a cause can be the answer; below it is only possible. When none is established the
verdict is ``uncertain`` if the text is about multicast, else ``unrelated``: a false alarm is the worst answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cumulticast.why.causes import Cause, causes
from cumulticast.why.diagnosis import Diagnosis
from cumulticast.why.findings import (
    call_of,
    earliest,
    elsewhere,
    first_failure,
    first_rank,
    how_named,
    quotes_of,
    status_name,
)
from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation

ESTABLISHED, POSSIBLE = 50, 20
MOST_OTHERS = 3
#: Verdicts that say that nothing is wrong here; other causes beside them would only alarm.
CALM = ("healthy", "unrelated")
OURS = (401, 800, 802, 919)  # CUresults of illegal state, permission, system not ready, fabric not ready
ABOUT = ("multicast", "fabric")  # areas of failures that may concern this house


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
    about = [one for one in notes.of("failure") if _concerns(one)] or notes.of("multicast-error", "mention")
    return _undecided(order, notes) if possible or about else _nothing(notes)


#: What is said of a text that has lines of code, of documents or of tests, and no report of a failure.
ONLY_SPOKEN = "It names failures of multicast as code, documents and tests do; no line reports that one happened."


def _concerns(failure: Observation) -> bool:
    """Whether a failure may concern this house: by what it was for, or by a status that little else answers."""
    return failure.fact("area") in ABOUT or failure.code in OURS


def _established(best: Ranked, others: Sequence[Ranked], notes: Notes) -> Diagnosis:
    cause = best.cause
    first = first_failure(cause, best.evidence, notes)
    proven = any(one.kind == "rule" for one in best.evidence)
    more = [] if proven or (cause.verdict in CALM and not any(one.code for one in best.evidence)) else _others(others)
    return Diagnosis(
        verdict=cause.verdict,
        cause=cause.slug,
        title=cause.title,
        call=None if elsewhere(cause) else call_of(cause, best.evidence, first),
        code=first.code if first else None,
        name=status_name(first.code) if first else None,
        first_rank=first_rank(best.evidence, first),
        quotes=quotes_of(best.evidence),
        also_possible=tuple(more),
        why=cause.mechanism + how_named(best.evidence, first, notes),
        checks=cause.checks,
        remedies=cause.remedies,
        confidence=cause.confidence,
        would_settle=cause.settle,
    )


def _others(others: Iterable[Ranked]) -> list[str]:
    """Name the other causes that the text allows."""
    slugs = [one.cause.slug for one in others if one.score >= POSSIBLE and one.cause.verdict not in CALM]
    return slugs[:MOST_OTHERS]


def _nothing(notes: Notes) -> Diagnosis:
    """Say that the text is about something else, without a line to show for it, or that there was none to read."""
    cause = causes()["not-multicast"]
    unread = len(notes.unread) == notes.inputs
    return Diagnosis(
        verdict="uncertain" if unread else "unrelated",
        cause=None if unread else cause.slug,
        title="there is no text to read" if unread else cause.title,
        call=None,
        code=None,
        name=None,
        first_rank=None,
        quotes=(),
        also_possible=(),
        why=_why_nothing(notes),
        checks=(),
        remedies=(),
        confidence=cause.confidence,
        would_settle=("the log from its first line, with NCCL_DEBUG=INFO", "nvidia-smi -q; dmesg; fabricmanager.log"),
    )


def _why_nothing(notes: Notes) -> str:
    """Say what was read; an input that is no text is named."""
    unread = "".join(f" {one}." for one in notes.unread)
    if len(notes.unread) == notes.inputs:
        return unread.strip() or "Nothing was given."
    return f"No line of the text tells anything of multicast, NVLS, fabric handles or the fabric.{unread}"


def _undecided(order: Sequence[Ranked], notes: Notes) -> Diagnosis:
    """Say that the text does not decide, and what would."""
    possible = [one for one in order if one.score >= POSSIBLE and one.cause.verdict not in CALM]
    evidence = [one for ranked_one in possible[:2] for one in ranked_one.evidence]
    failures = [one for one in notes.of("failure") if _concerns(one)]
    first = earliest(failures) if failures else None
    heard = not (possible or failures or notes.has("multicast-error"))
    settle = [item for one in possible for item in (one.cause.settle or one.cause.checks[:1])]
    return Diagnosis(
        verdict="uncertain",
        cause=None,
        title="the text only speaks of multicast"
        if heard
        else "this may concern multicast, but nothing decides the cause",
        call=first.call if first else None,
        code=first.code if first else None,
        name=status_name(first.code) if first else None,
        first_rank=first.rank if first else None,
        quotes=quotes_of(evidence or failures or notes.of("multicast-error", "mention")),
        also_possible=tuple(one.cause.slug for one in possible[:MOST_OTHERS]),
        why=ONLY_SPOKEN if heard else "Several causes fit what is there, or none does well.",
        checks=tuple(dict.fromkeys(check for one in possible for check in one.cause.checks[:1])),
        remedies=(),
        confidence="inferred",
        would_settle=tuple(dict.fromkeys(settle))[:6],
    )
