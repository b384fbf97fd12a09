"""Answers to questions that are no text: a rule, a status, a call, a call with a status, a cause."""

from __future__ import annotations

from cumulticast.rules import Rule, all_rules, find
from cumulticast.rules.status import Status
from cumulticast.rules.text import python_name
from cumulticast.why.causes import Cause, causes
from cumulticast.why.diagnosis import Diagnosis
from cumulticast.why.question import Question

MOST = 5


def answer(asked: Question) -> Diagnosis:
    """Answer a question from the book and the causes; the verdict is ``uncertain``: nothing was looked at.

    Raises
    ------
    KeyError
        No such rule; the text names the nearest.
    """
    if asked.rule:
        return _of_rule(find(asked.rule))
    return _of_cause(causes()[asked.cause]) if asked.cause else _of_call(asked)


def _of_cause(cause: Cause) -> Diagnosis:
    shows = "".join(f" {tool}: {text}." for tool, text in cause.shows.items())
    return Diagnosis(
        verdict=cause.verdict,
        cause=cause.slug,
        title=cause.title,
        call=cause.calls[0] if len(cause.calls) == 1 else None,
        code=cause.statuses[0] if len(cause.statuses) == 1 else None,
        name=Status(cause.statuses[0]).cuda_name if len(cause.statuses) == 1 else None,
        first_rank=None,
        quotes=(),
        also_possible=(),
        why=f"{cause.mechanism} How it shows:{shows}",
        checks=cause.checks,
        remedies=cause.remedies,
        confidence=cause.confidence,
        would_settle=cause.settle,
        asked=True,
    )


def _of_rule(rule: Rule[...]) -> Diagnosis:
    own = [cause for cause in causes().values() if rule.code in cause.rules]
    return Diagnosis(
        verdict="uncertain",
        cause=own[0].slug if own else None,
        title=f"{rule.code}: {rule.title}",
        call=None if rule.calls == ("*",) else rule.calls[0],
        code=None if rule.status is None else int(rule.status),
        name=None if rule.status is None else rule.status.cuda_name,
        first_rank=None,
        quotes=(),
        also_possible=(),
        why=rule.page,
        checks=own[0].checks if own else (),
        remedies=own[0].remedies if own else (),
        confidence=rule.evidence,
        would_settle=(),
        asked=True,
    )


def likely(call: str | None, status: int | None) -> list[Cause]:
    """Answer the causes that have been reported with a call and a status, the likeliest first.

    Causes that name the call leave out those that name none; faults come before machines without multicast, then
    the order of the file holds.
    """
    fitting = [cause for cause in causes().values() if _fits(cause, call, status)]
    fitting = [cause for cause in fitting if call in cause.calls] or fitting
    return sorted(fitting, key=lambda cause: cause.verdict != "fault")


def _fits(cause: Cause, call: str | None, status: int | None) -> bool:
    if status is not None and status not in cause.statuses:
        return False
    if call is None:
        return status is not None
    return call in cause.calls or (status is not None and not cause.calls)


def _of_call(asked: Question) -> Diagnosis:
    status = None if asked.status is None else int(asked.status)
    found = likely(asked.call, status)
    rules = governing(asked.call, status)
    first = found[0] if found else None
    return Diagnosis(
        verdict="uncertain",
        cause=first.slug if first else None,
        title=_title(asked),
        call=asked.call,
        code=status,
        name=None if asked.status is None else asked.status.cuda_name,
        first_rank=None,
        quotes=(),
        also_possible=tuple(cause.slug for cause in found[1:MOST]),
        why=_why(found, rules),
        checks=tuple(dict.fromkeys(check for cause in found[:3] for check in cause.checks[:2])),
        remedies=first.remedies if first else (),
        confidence=first.confidence if first else "documented",
        would_settle=tuple(dict.fromkeys(item for cause in found[:3] for item in cause.settle))[:6],
        asked=True,
    )


def governing(call: str | None, status: int | None) -> list[Rule[...]]:
    """Answer the rules that make a call answer a status."""
    answering = [
        rule for rule in all_rules() if status is None or (rule.status is not None and int(rule.status) == status)
    ]
    if call is None:
        return answering if status is not None and status not in (1, 801) else []
    name = python_name(call)
    return [rule for rule in answering if name in {python_name(one.partition("_v")[0]) for one in rule.calls}]


def _title(asked: Question) -> str:
    parts = [asked.call] if asked.call else []
    if asked.status is not None:
        parts.append(f"{int(asked.status)} ({asked.status.cuda_name}, '{asked.status.text}')")
    return " ".join(parts)


def _why(found: list[Cause], rules: list[Rule[...]]) -> str:
    """Say the likely causes in their order, then the rules."""
    lines = [f"{position}. {cause.title} ({cause.slug})." for position, cause in enumerate(found[:MOST], 1)]
    lines += [f"{rule.code} {rule.title}." for rule in rules[:8]]
    return " ".join(lines) or "No cause and no rule of the book goes with this."
