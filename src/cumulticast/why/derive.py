"""What follows from several observations together: names of calls, ranks, a restart, a stall, a wait, a mismatch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from cumulticast.rules import all_rules
from cumulticast.why.nccl_calls import call_at
from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation, Place
from cumulticast.why.prefixes import time_of

STALL = timedelta(seconds=3)  # Fabric Manager answers a team set-up within one second when it is well
DAY = timedelta(days=1)
LATER = timedelta(minutes=5)  # a service that starts with the machine starts sooner than this
MANY_GROUPS = 100  # of 128 on an HGX board
MINIMUM = 2 << 20  # bytes; the smallest multicast granularity that any log shows


def derive(notes: Notes) -> None:
    """Complete the notes in place."""
    notes.put("failure", _named(notes))
    notes.put("failure", _without_echoes(notes))
    notes.put("rule", _ruled(notes))
    for step in _STEPS:
        notes.add(list(step(notes)))


# ---- failures: which call, which rank


def _named(notes: Notes) -> Iterator[Observation]:
    """Name the calls of NCCL's lines by the version that the log told last before them; add ranks."""
    ranks, several = _ranks(notes)
    for one in notes.of("failure"):
        facts = dict(one.facts)
        if "call" not in facts and one.fact("file"):
            call = call_at(_version_before(notes, one), one.fact("file"), int(one.fact("at")))
            facts |= {"call": call, "named": "yes"} if call else {}
        if facts.get("area") in ("fabric", "other") and facts.get("call", "").startswith("cuMulticast"):
            facts["area"] = "multicast"
        rank = one.rank if one.fact("rank") == "" else int(one.fact("rank"))
        by_pid = ranks.get((one.fact("host"), one.fact("pid")))
        device = int(one.fact("dev")) if one.fact("dev") and not several else None
        known = next((value for value in (by_pid, rank, device) if value is not None), None)
        yield replace(one, facts=facts, rank=known)


def _ranks(notes: Notes) -> tuple[dict[tuple[str, str], int], bool]:
    """Answer (host, pid) → rank in the largest communicator, and whether there are several hosts."""
    best: dict[tuple[str, str], tuple[int, int]] = {}
    for one in notes.of("init-start", "init-complete"):
        key, found = (one.fact("host"), one.fact("pid")), (int(one.fact("nranks")), int(one.fact("rank")))
        if key not in best or found[0] > best[key][0]:
            best[key] = found
    return {key: rank for key, (_, rank) in best.items()}, len({host for host, _ in best}) > 1


def _version_before(notes: Notes, one: Observation) -> str | None:
    versions = notes.of("nccl-version")
    before = [v for v in versions if v.place.file == one.place.file and v.place.number <= one.place.number]
    chosen = before[-1] if before else versions[0] if versions else None
    return (chosen.fact("version") or chosen.fact("equal")) if chosen else None


def _without_echoes(notes: Notes) -> list[Observation]:
    """Leave out failures without a call that repeat the status of one with a call (``Last error:``)."""
    failures = notes.of("failure")
    known = {one.code for one in failures if one.call and one.fact("file")}
    return [
        one for one in failures if one.call or one.fact("file") or one.code not in known or one.fact("area") == "init"
    ]


def _ruled(notes: Notes) -> list[Observation]:
    """Give a rule its kind, and the call and status of the failure that stands with it; unknown codes are dropped."""
    kinds = {rule.code: rule.kind for rule in all_rules()} if notes.has("rule") else {}
    failures = {str(one.place): one for one in notes.of("failure")}
    answer: list[Observation] = []
    for one in notes.of("rule"):
        near = [Place(one.place.file, one.place.number + ahead) for ahead in range(4)]
        failure = next((failures[str(place)] for place in near if str(place) in failures), None)
        told = {name: failure.fact(name) for name in ("code", "call") if failure and failure.fact(name)}
        if one.fact("rule") in kinds:
            answer.append(replace(one, facts={**one.facts, **told, "kind": kinds[one.fact("rule")]}))
    return answer


# ---- Fabric Manager


def _restarted(notes: Notes) -> Iterator[Observation]:
    """See a start of Fabric Manager under GPUs that were up before: told, in the journal, or by the times."""
    for one in notes.of("fm-restart"):
        yield replace(one, kind="fm-restarted")
    younger = list(_younger(notes))
    yield from younger
    if notes.has("fm-stop-asked") and notes.has("fm-start-asked"):
        yield from (replace(one, kind="fm-restarted") for one in notes.of("fm-stop-asked", "fm-start-asked"))
    for stop in [] if younger else notes.of("fm-unit-stopped"):
        started = [
            s
            for s in notes.of("fm-unit-started")
            if s.place.file == stop.place.file and s.place.number > stop.place.number
        ]
        if started:
            yield replace(stop, kind="fm-restarted")
    banners = notes.of("fm-banner")
    for one in banners[1:]:
        yield replace(one, kind="fm-restarted")


def _younger(notes: Notes) -> Iterator[Observation]:
    """Compare the start of the service with the boot or the loading of the driver."""
    up = [(one, time_of(one.fact("when"))) for one in notes.of("boot-time")]
    up += [(one, one.time) for one in notes.of("driver-loaded")]
    days = max((int(one.fact("days") or 7 * int(one.fact("weeks"))) for one in notes.of("uptime")), default=0)
    for active in notes.of("fm-active", "fm-since", "fm-unit-started", "fm-banner"):
        since = time_of(active.fact("since")) or (active.time if active.kind != "fm-active" else None)
        if days and _ago(active.fact("ago")) and timedelta(days=days) - _ago(active.fact("ago")) > DAY:
            yield replace(active, kind="fm-restarted")
            yield replace(notes.of("uptime")[0], kind="fm-restarted")
        for one, when in up:
            if since and when and _apart(when, since) > LATER:
                yield replace(active, kind="fm-restarted")
                yield replace(one, kind="fm-restarted")


def _ago(text: str) -> timedelta:
    """Read systemd's age: ``3h 12min``, ``2 weeks 1 day``; nothing is no time."""
    parts = re.findall(r"(\d+) ?(weeks?|days?|h|min|s)\b", text)
    units = {"w": 7 * 86400, "d": 86400, "h": 3600, "m": 60, "s": 1}
    return timedelta(seconds=sum(int(number) * units[unit[0]] for number, unit in parts))


def _apart(earlier: datetime, later: datetime) -> timedelta:
    """Subtract, with the year of the one that has it."""
    if 1900 in (earlier.year, later.year):
        year = max(earlier.year, later.year)
        earlier, later = earlier.replace(year=year), later.replace(year=year)
    return later - earlier


def _slow(notes: Notes) -> Iterator[Observation]:
    """See a team set-up that took Fabric Manager seconds."""
    requests = {int(one.fact("id"), 16): one for one in notes.of("fm-request")}
    for done in notes.of("fm-success"):
        asked = requests.get(int(done.fact("id")))
        if asked and asked.time and done.time and done.time - asked.time >= STALL:
            yield replace(asked, kind="fm-slow")
            yield replace(done, kind="fm-slow")


def _groups(notes: Notes) -> Iterator[Observation]:
    """Count the groups in use; say so when they are nearly all."""
    used = notes.counts.get("fm-allocated", 0) - notes.counts.get("fm-freed", 0)
    highest = max((int(one.fact("group")) for one in notes.of("fm-allocated")), default=0)
    if max(used, highest + 1 if highest else 0) >= MANY_GROUPS:
        yield replace(notes.of("fm-allocated")[-1], kind="fm-groups-full")


def _versions(notes: Notes) -> Iterator[Observation]:
    """Compare the versions of driver and Fabric Manager where both are told."""
    drivers = [
        (one, one.fact("version") or one.fact("kernel") or one.fact("smi")) for one in notes.of("driver-package")
    ]
    managers = [(one, one.fact("version")) for one in notes.of("fm-banner", "fm-package")]
    bare = {version.partition("-")[0] for _, version in drivers}
    if drivers and managers and not bare & {version.partition("-")[0] for _, version in managers}:
        yield replace(managers[-1][0], kind="fm-version-differs")
        yield replace(drivers[-1][0], kind="fm-version-differs")


# ---- fabric and topology


def _states(notes: Notes) -> Iterator[Observation]:
    for one in notes.of("fabric"):
        state, status = one.fact("state"), one.fact("status")
        if state in ("In Progress", "Not Started"):
            yield replace(one, kind="fabric-pending")
        elif state == "Completed":
            good = status in ("", "Success", "N/A")
            yield replace(one, kind="fabric-good" if good else "fabric-bad")
        if state == "Completed" and _zero(one.fact("uuid")):
            yield replace(one, kind="uuid-zero")


def _zero(uuid: str) -> bool:
    return bool(uuid) and not uuid.strip("0.-")


def _cliques(notes: Notes) -> Iterator[Observation]:
    """See different cliques (or clusters) among GPUs: one line of each."""
    first: dict[str, Observation] = {}
    for one in notes.of("fabric"):
        if one.fact("clique") not in ("", "N/A"):
            key = one.fact("clique").removeprefix("0x") + (one.fact("uuid") if one.fact("by") == "nccl" else "")
            first.setdefault(key, one)
    kinds = {one.fact("by") for one in first.values()}
    if len(first) > 1 and len(kinds) == 1:
        yield from (replace(one, kind="cliques-differ") for one in first.values())


def _odd_count(notes: Notes) -> Iterator[Observation]:
    yield from (replace(one, kind="gpus-missing") for one in notes.of("gpu-count") if one.fact("count") in "3567")


def _no_switch(notes: Notes) -> Iterator[Observation]:
    """See that the machine has no NVSwitch: counted, or by how its GPUs are joined, or by their kind."""
    counts = [one for one in notes.of("switch-count") if int(one.fact("count")) == 0]
    strong = [*counts, *notes.of("topo-pcie", "gpu-card")]
    if strong and not notes.has("gpu-switched", "topo-nvlink"):
        yield from (replace(one, kind="no-switch") for one in [*strong[:6], *notes.of("fm-absent")])


def _several_hosts(notes: Notes) -> Iterator[Observation]:
    """See a job over several machines."""
    hosts: dict[str, Observation] = {}
    for one in notes.of("init-start", "mnnvl-gpu", "failure", "process-at"):
        if one.fact("host"):
            hosts.setdefault(one.fact("host"), one)
    if len(hosts) > 1:
        yield from (replace(one, kind="several-hosts") for one in list(hosts.values())[:2])
    if notes.has("multi-node"):
        yield replace(notes.of("multi-node")[0], kind="several-hosts")


# ---- hangs


def _waits(notes: Notes) -> Iterator[Observation]:
    """See processes inside of the bind, and whether all that are shown are."""
    inside = notes.of("stack-bind")
    if not inside:
        return
    in_bind = {one.fact("process") for one in inside}
    shown = {one.fact("process") for one in notes.of("stack")}
    all_in = len(in_bind) > 2 and in_bind >= shown
    yield from (replace(one, kind="bind-waits-all" if all_in else "bind-waits") for one in inside)


def _divergence(notes: Notes) -> Iterator[Observation]:
    """See some processes in a window registration and others in another collective."""
    window = notes.of("stack-window")
    registering = {one.fact("process") for one in window}
    other = [one for one in notes.of("stack-collective") if one.fact("process") not in registering]
    if window and other:
        shown: dict[str, Observation] = {}
        for one in window:
            if one.fact("frame") == "ncclCommWindowRegister" or one.fact("process") not in shown:
                shown[one.fact("process")] = one
        yield from (replace(one, kind="registration-diverges") for one in [*shown.values(), *other])


def _unfinished(notes: Notes) -> Iterator[Observation]:
    """See a multicast set-up that the log leaves in the middle: created or imported, nothing behind it."""
    begun = notes.of("nvls-creating", "nvls-importing")
    if begun and not notes.has("init-complete", "nvls-working", "failure", "nvls-fallback"):
        yield from (replace(one, kind="nvls-unfinished") for one in (notes.of("nvls-creating") or begun)[:8])


def _partly(notes: Notes) -> Iterator[Observation]:
    """See failing binds of some ranks only, where the log shows the others."""
    failed = {one.rank for one in notes.of("failure") if one.fact("area") == "multicast" and one.rank is not None}
    everyone = {int(one.fact("rank")) for one in notes.of("init-start")}
    if failed and len(everyone) > len(failed):
        first = next(one for one in notes.of("failure") if one.rank in failed)
        yield replace(first, kind="some-ranks-only")


# ---- sizes


def _odd_sizes(notes: Notes) -> Iterator[Observation]:
    """See a size that is no multiple of the multicast granularity, beside a bind that was refused with 1."""
    if not any(one.code == 1 and one.fact("area") == "multicast" for one in notes.of("failure")):
        return
    minimum = [int(one.fact("bytes")) for one in notes.of("granularity")]
    recommended = [int(one.fact("bytes") or one.fact("more")) for one in notes.of("granularity-recommended")]
    told = minimum or recommended
    step = max(MINIMUM, min(told, default=0))
    for one in notes.of("size"):
        if int(one.fact("bytes")) % step:
            yield replace(one, kind="size-odd")


_STEPS: tuple[Callable[[Notes], Iterator[Observation]], ...] = (
    _restarted, _slow, _groups, _versions, _states, _cliques, _odd_count, _no_switch, _several_hosts, _waits,
    _divergence, _unfinished, _partly, _odd_sizes,
)  # fmt: skip
