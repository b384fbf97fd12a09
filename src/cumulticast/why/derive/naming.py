"""Which call a failure is of, which rank it happened on, and which rule goes with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cumulticast.rules import all_rules
from cumulticast.why.calls import snake_call
from cumulticast.why.nccl_calls import call_at
from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation, Place

_NCCL_THREAD = re.compile(r"([\w.-]+):(\d+):\d+ \[(\d+)\]")
#: Kinds in which a rank itself says what is wrong, without a failing call.
COMPLAINTS = ("imex-channel-asked", "imex-config-asked", "multimem-refused", "va-space-full", "pidfd-eperm")


def named(notes: Notes) -> Iterator[Observation]:
    """Name the calls of NCCL's lines by the version that the log told last before them; add ranks."""
    ranks, several = _ranks(notes)
    told = {str(one.place): call for one in notes.of("rule") if (call := snake_call(one.fact("python")))}
    for one in notes.of("failure"):
        facts = dict(one.facts)
        if "call" not in facts and (call := _told_below(one, told)):
            facts |= {"call": call}
        if "call" not in facts and one.fact("file"):
            call = call_at(_version_before(notes, one), one.fact("file"), int(one.fact("at")))
            facts |= {"call": call, "named": "yes"} if call else {}
        if facts.get("area") in ("fabric", "other") and facts.get("call", "").startswith("cuMulticast"):
            facts["area"] = "multicast"
        rank = one.rank if one.fact("rank") == "" else int(one.fact("rank"))
        by_pid = ranks.get(_thread(one))
        device = int(one.fact("dev")) if one.fact("dev") and not several else None
        known = next((value for value in (by_pid, rank, device) if value is not None), None)
        yield replace(one, facts=facts, rank=known)


def _told_below(one: Observation, calls: dict[str, str]) -> str | None:
    """Name the call by the rule that stands below, as in the notes of an exception."""
    below = (str(Place(one.place.file, one.place.number + ahead)) for ahead in range(1, 4))
    return next((calls[place] for place in below if place in calls), None)


def refused(notes: Notes) -> Iterator[Observation]:
    """See a failure in a rule that stands alone: the driver's reason for a refusal, without the line of the status."""
    rules = {rule.code: rule for rule in all_rules()} if notes.has("rule") else {}
    for one in notes.of("rule"):
        rule = rules.get(one.fact("rule"))
        if rule is None or rule.kind not in ("error", "limit") or not rule.status or one.fact("code"):
            continue
        call = snake_call(one.fact("python")) or ""
        area = "multicast" if call.startswith("cuMulticast") else _AREAS.get(call, "other")
        facts = {"code": str(int(rule.status)), "area": area, **({"call": call} if call else {})}
        yield replace(one, kind="failure", facts=facts)


_AREAS = {"cuInit": "init", "cuMemCreate": "fabric"}
Thread = tuple[str, str, str]  # host, pid, device: a process may drive several devices


def _ranks(notes: Notes) -> tuple[dict[Thread, int], bool]:
    """Answer thread → rank in the largest communicator, and whether there are several hosts."""
    best: dict[Thread, tuple[int, int]] = {}
    for one in notes.of("init-start", "init-complete"):
        key, found = _thread(one), (int(one.fact("nranks")), int(one.fact("rank")))
        if key not in best or found[0] > best[key][0]:
            best[key] = found
    return {key: rank for key, (_, rank) in best.items()}, len({key[0] for key in best}) > 1


def _thread(one: Observation) -> Thread:
    return one.fact("host"), one.fact("pid"), one.fact("dev")


def rank_complaints(notes: Notes) -> None:
    """Give NCCL's own complaints, which are no failing calls, their ranks."""
    ranks, _ = _ranks(notes)
    for kind in COMPLAINTS:
        notes.put(kind, [replace(one, rank=_rank_of(one, ranks)) for one in notes.of(kind)])


def _rank_of(one: Observation, ranks: dict[Thread, int]) -> int | None:
    found = _NCCL_THREAD.match(one.text)
    return ranks.get((found[1], found[2], found[3]), one.rank) if found else one.rank


def _version_before(notes: Notes, one: Observation) -> str | None:
    versions = notes.of("nccl-version")
    before = [v for v in versions if v.place.file == one.place.file and v.place.number <= one.place.number]
    chosen = before[-1] if before else versions[0] if versions else None
    return (chosen.fact("version") or chosen.fact("equal")) if chosen else None


def without_echoes(notes: Notes) -> list[Observation]:
    """Leave out failures without a call that repeat the status of one with a call (``Last error:``)."""
    failures = notes.of("failure")
    known = {one.code for one in failures if one.call and one.fact("file")}
    return [
        one for one in failures if one.call or one.fact("file") or one.code not in known or one.fact("area") == "init"
    ]


def ruled(notes: Notes) -> list[Observation]:
    """Give a rule its kind, and the call and status of the failure that stands with it; unknown codes are dropped."""
    kinds = {rule.code: rule.kind for rule in all_rules()} if notes.has("rule") else {}
    failures = {str(one.place): one for one in notes.of("failure")}
    answer: list[Observation] = []
    for one in notes.of("rule"):
        near = [Place(one.place.file, one.place.number + ahead) for ahead in range(4)]
        failure = next((failures[str(place)] for place in near if str(place) in failures), None)
        told = {name: failure.fact(name) for name in ("code", "call") if failure and failure.fact(name)}
        if "call" not in told and (call := snake_call(one.fact("python"))):
            told["call"] = call
        if one.fact("rule") in kinds:
            answer.append(replace(one, facts={**one.facts, **told, "kind": kinds[one.fact("rule")]}))
    return answer
