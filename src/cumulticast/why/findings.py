"""What the evidence says: the first failure, its call, status and rank, and the lines to cite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cumulticast.rules.status import Status
from cumulticast.why.causes import Cause
from cumulticast.why.derive import COMPLAINTS
from cumulticast.why.diagnosis import Quote
from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation

MOST_QUOTES, OF_A_KIND = 24, 12
ALIKE = ("fabric-", "health-", "uuid-", "gpu", "no-switch")  # kinds of which one line says what all say


def first_failure(cause: Cause, evidence: Iterable[Observation], notes: Notes) -> Observation | None:
    """Pick the failure whose status is the cause's: the earliest among the evidence, else among all that fit.

    A failure of another origin has no status here.
    """
    if elsewhere(cause):
        return None
    cited = [one for one in evidence if one.code is not None]
    if cited:
        return earliest(cited)
    fitting = [one for one in notes.of("failure") if one.code in cause.statuses]
    return earliest(fitting) if fitting else None


def earliest(ones: Sequence[Observation]) -> Observation:
    """Pick the first in time if all have one, else the first in the text."""
    if all(one.time for one in ones):
        return min(ones, key=lambda one: (one.time, one.place.file, one.place.number))
    return ones[0]


def elsewhere(cause: Cause) -> bool:
    """Whether the cause is of another origin and has no status that is worth to be told here."""
    return cause.verdict == "unrelated" and not cause.statuses


def first_rank(evidence: Iterable[Observation], first: Observation | None) -> int | None:
    """Name the rank of the first failure, or of the first complaint where no call failed."""
    if first is not None:
        return first.rank
    return next((one.rank for one in evidence if one.kind in COMPLAINTS and one.rank is not None), None)


def call_of(cause: Cause, evidence: Sequence[Observation], first: Observation | None) -> str | None:
    if first:
        shown = first.call or next((one.call for one in evidence if one.code == first.code and one.call), None)
        sole = cause.calls[0] if first.fact("file") and len(cause.calls) == 1 else None
        return shown or sole
    return next((one.call for one in evidence if one.call), None)


def status_name(code: int | None) -> str | None:
    try:
        return None if code is None else Status(code).cuda_name
    except ValueError:
        return None


def how_named(evidence: Sequence[Observation], first: Observation | None, notes: Notes) -> str:
    """Say how the call of a line was found, where that needed the version."""
    if first is None or not first.fact("named"):
        return ""
    versions = notes.of("nccl-version")
    version = (versions[-1].fact("version") or versions[-1].fact("equal")) if versions else ""
    where = f"{first.fact('file')}:{first.fact('at')}"
    told = f"in NCCL {version} " if version else "in all NCCL versions that are known (the log tells none) "
    return f" {where} is {first.call} {told.strip()}."


def quotes_of(evidence: Iterable[Observation]) -> tuple[Quote, ...]:
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
