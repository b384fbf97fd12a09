"""What follows about Fabric Manager: a start under running GPUs, a stall, used-up groups, another version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from cumulticast.why.notes import Notes
from cumulticast.why.observation import Observation
from cumulticast.why.prefixes import time_of

STALL = timedelta(seconds=3)  # Fabric Manager answers a team set-up within one second when it is well
DAY = timedelta(days=1)
LATER = timedelta(minutes=5)  # a service that starts with the machine starts sooner than this
MANY_GROUPS = 100  # of 128 on an HGX board


def _restarted(notes: Notes) -> Iterator[Observation]:
    """See a start of Fabric Manager under GPUs that were up before: told, in the journal, or by the times."""
    for one in notes.of("fm-restart"):
        yield replace(one, kind="fm-restarted")
    younger = list(_younger(notes))
    yield from younger
    if notes.has("fm-stop-asked") and notes.has("fm-start-asked"):
        yield from (replace(one, kind="fm-restarted") for one in notes.of("fm-stop-asked", "fm-start-asked"))
    for stop in [] if younger else notes.of("fm-unit-stopped"):
        started = _behind(stop, notes.of("fm-unit-started"))
        booted = _behind(stop, notes.of("boot-mark", "driver-loaded"))
        if started and not (booted and booted[0] < started[0]):
            yield replace(stop, kind="fm-restarted")
    for one in notes.of("fm-banner")[1:]:  # the log goes on over reboots, so this alone proves nothing
        yield replace(one, kind="fm-started-again")


def _behind(stop: Observation, ones: Iterable[Observation]) -> list[int]:
    """Answer the numbers of the lines behind one of the same file."""
    return sorted(
        one.place.number for one in ones if one.place.file == stop.place.file and one.place.number > stop.place.number
    )


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


STEPS = (_restarted, _slow, _groups, _versions)
