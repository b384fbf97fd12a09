"""What a trace tells against a program: findings, leaks, lasting failures, long waits, devices that never came."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cumulticast.cli.trace_ledger import NEVER, Held, Ledger
from cumulticast.cli.trace_reader import Header, Reader, Reason, Record
from cumulticast.cli.trace_teams import Team, Teams
from cumulticast.rules import find

LONG_WAIT = 1e6  # microseconds
NOT_READY = 600  # cuStreamQuery and cuEventQuery: an answer, no failure
ORDER = ("undefined", "departure", "advice", "missing-device", "wait", "failure", "leak")
SHOWN = 3  # things named in one message


@dataclass(slots=True)
class Problem:
    """One kind of trouble, however often it came.

    Attributes
    ----------
    kind
        ``undefined``, ``departure``: what the documents leave undefined, or do not allow; ``advice``: legal and slow;
        ``leak``, ``failure``, ``wait``, ``missing-device``.
    rule, call
        The rule, where there is one, and the C name.
    line
        The first line of the trace that shows it.
    """

    kind: str
    call: str
    line: int
    message: str
    rule: str | None = None
    count: int = 0
    ranks: set[int] = field(default_factory=set[int])
    pids: set[int] = field(default_factory=set[int])

    def add(self, record: Record) -> None:
        """Count a call that shows it."""
        self.count += 1
        self.line = min(self.line, record.line)
        self.pids.add(record.pid)
        if record.rank is not None:
            self.ranks.add(record.rank)

    def as_dict(self) -> dict[str, Any]:
        """Answer it as JSON has it."""
        return {
            "kind": self.kind,
            "rule": self.rule,
            "call": self.call,
            "count": self.count,
            "ranks": sorted(self.ranks),
            "pids": sorted(self.pids),
            "line": self.line,
            "message": self.message,
        }


@dataclass(slots=True)
class Failures:
    """A process's failures of one call since it last succeeded."""

    first: Record
    last: Record
    count: int = 0


class Check:
    """One pass over a trace."""

    def __init__(self) -> None:
        self.problems: dict[tuple[object, ...], Problem] = {}
        self.worlds: list[Header] = []
        self.calls = 0
        self.processes = 0
        self._begin()

    def _begin(self) -> None:
        self._ledgers: dict[int, Ledger] = {}
        self._teams = Teams()
        self._failures: dict[tuple[int, str], Failures] = {}

    def run(self, reader: Reader) -> list[Problem]:
        """Read everything and answer what was found, worst first."""
        for item in reader:
            if isinstance(item, Header):
                self._end_world()
                self.worlds.append(item)
            else:
                self._see(item)
        self._end_world()
        return sorted(self.problems.values(), key=lambda p: (ORDER.index(p.kind), p.line))

    def _see(self, record: Record) -> None:
        self.calls += 1
        for reason in record.findings:
            self._finding(record, reason)
        ledger = self._ledgers.setdefault(record.pid, Ledger())
        key = (record.pid, record.base)
        if record.status == 0:
            ledger.see(record)
            self._failures.pop(key, None)
        elif record.status != NOT_READY:
            failures = self._failures.setdefault(key, Failures(record, record))
            failures.last = record
            failures.count += 1
        gone = self._teams.see(record)
        if gone is not None:
            self._end_team(gone, released=record)

    def _end_world(self) -> None:
        for team in self._teams.rest():
            self._end_team(team, released=None)
        for failures in self._failures.values():
            self._failure(failures.first, failures.last, failures.count)
        for ledger in self._ledgers.values():
            for what, held in ledger.left().items():
                self._leak(what, held)
        self.processes += len(self._ledgers)
        self._begin()

    def _problem(self, kind: str, call: str, record: Record, message: str, *key: object) -> Problem:
        made = Problem(kind, call, record.line, message)
        return self.problems.setdefault((len(self.worlds), kind, call, *key), made)

    # ---- kinds of trouble

    def _finding(self, record: Record, reason: Reason) -> None:
        problem = self._problem(kind_of(reason.rule), record.call, record, reason.message, reason.rule)
        problem.rule = reason.rule
        problem.add(record)

    def _failure(self, first: Record, last: Record, count: int) -> None:
        why = f": {last.refused.message}" if last.refused else ""
        message = f"failed with {last.status} and never succeeded after that{why}"
        problem = self._problem("failure", last.call, first, message, last.status)
        problem.rule = last.refused.rule if last.refused else None
        problem.add(first)
        problem.count += count - 1

    def _leak(self, what: str, held: list[Held]) -> None:
        first = held[0].record
        message = f"{sum(h.count for h in held)} {what} {NEVER[what]}: {_named(h.record for h in held)}"
        problem = self._problem("leak", first.call, first, message, what, first.pid)
        for one in held:
            problem.add(one.record)

    def _end_team(self, team: Team, released: Record | None) -> None:
        for wait in team.waits:
            if wait.waited_us >= LONG_WAIT:
                self._wait(team, wait)
        if team.missing and team.used and team.created is not None:
            self._missing(team, team.created)
        left = [bind for binds in team.binds.values() for bind in binds]
        if released is not None and left:
            text = f"multicast object released (line {released.line}) with {len(left)} binds in place: {_named(left)}"
            problem = self._problem("leak", left[0].call, left[0], text, "binds", left[0].identity("mcHandle"))
            for bind in left:
                problem.add(bind)

    def _wait(self, team: Team, wait: Record) -> None:
        by = team.released_by(wait)
        if by is not None:
            ended = f"until {by.who} added device {by.number('dev')} (line {by.line})"
        else:
            ended = f"and ended with {wait.status}: {wait.refused.message if wait.refused else 'no reason recorded'}"
        text = f"{wait.who} waited {wait.waited_us / 1e6:.1f} s {ended}"
        problem = self._problem("wait", wait.call, wait, text, by.line if by else wait.line)
        problem.add(wait)

    def _missing(self, team: Team, created: Record) -> None:
        idle = team.idle()
        size = f"{team.missing} of {team.wanted} devices were never added to the multicast object"
        who = ", ".join(sorted({record.who for record in idle}))
        text = f"{size} that {created.who} created (line {created.line})" + (f"; {who} added none" if who else "")
        problem = self._problem("missing-device", "cuMulticastAddDevice", created, text, created.line)
        for record in idle or [created]:
            problem.add(record)


def kind_of(code: str | None) -> str:
    """Say what kind of finding a rule's is; one that this version does not know departs from its documents."""
    try:
        kind = find(code or "").kind
    except KeyError:
        return "departure"
    return kind if kind in ("undefined", "advice") else "departure"


def _named(records: Iterable[Record]) -> str:
    """Name the first few calls and count the others."""
    every = list(records)
    shown = ", ".join(f"{record.call} (line {record.line})" for record in every[:SHOWN])
    return shown + (f" and {len(every) - SHOWN} more" if len(every) > SHOWN else "")
