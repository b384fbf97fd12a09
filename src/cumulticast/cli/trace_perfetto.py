"""A trace in the Chrome trace format, for https://ui.perfetto.dev: who waited for whom is an arrow.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. A call is a complete event
(``X``) of a rank; from the cuMulticastAddDevice that made a team whole a flow (``s`` to ``f``) leads to each wait that
it ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from cumulticast.cli.trace_reader import Header, Reader, Record
from cumulticast.cli.trace_teams import Team, Teams

Event = dict[str, Any]
EXACT = 1 << 53  # larger integers are not exact in a browser
ADDRESSES = ("ptr", "addr", "dptr", "memptr", "handle", "mcHandle", "memHandle", "pfn", "pctx", "ctx", "hStream")


def write(reader: Reader, path: Path) -> int:
    """Write the events of a trace and answer how many there are; one event a line, as they come."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        count = _write_all(events(reader), file)
        file.write("\n]}\n")
    return count


def _write_all(made: Iterable[Event], file: TextIO) -> int:
    count = 0
    for event in made:
        file.write((",\n" if count else "") + json.dumps(event))
        count += 1
    return count


def events(reader: Iterable[Header | Record]) -> Iterator[Event]:
    """Make the events of a trace."""
    teams, named, flows = Teams(), set[tuple[int, int]](), iter(range(1, 1 << 60))
    for item in reader:
        if isinstance(item, Header):
            yield from _all_flows(teams, flows)
            teams = Teams()
            continue
        yield from _names(item, named)
        yield complete(item)
        gone = teams.see(item)
        if gone is not None:
            yield from team_flows(gone, flows)
    yield from _all_flows(teams, flows)


def track(record: Record) -> dict[str, int]:
    """Answer where a call's events belong: the rank stands in the place of the process."""
    return {"pid": record.pid if record.rank is None else record.rank, "tid": record.tid}


def _names(record: Record, named: set[tuple[int, int]]) -> Iterator[Event]:
    """Name a rank and a thread when they come for the first time."""
    place = track(record)
    if (place["pid"], -1) not in named:
        named.add((place["pid"], -1))
        name = f"pid {record.pid}" if record.rank is None else f"rank {record.rank} (pid {record.pid})"
        yield {"ph": "M", "name": "process_name", **place, "ts": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", **place, "ts": 0, "args": {"sort_index": place["pid"]}}
    if (place["pid"], record.tid) not in named:
        named.add((place["pid"], record.tid))
        yield {"ph": "M", "name": "thread_name", **place, "ts": 0, "args": {"name": f"thread {record.tid}"}}


def complete(record: Record) -> Event:
    """Make the event of one call."""
    details: Event = {
        "args": {name: shown(name, value) for name, value in record.args.items()},
        "out": {name: shown(name, value) for name, value in record.out.items()},
        "status": record.status,
        "line": record.line,
    }
    if record.findings:
        details["findings"] = [f"{reason.rule} {reason.message}" for reason in record.findings]
    if record.refused:
        details["refused"] = f"{record.refused.rule or ''} {record.refused.message}".strip()
    if record.waited_us:
        details["waited_us"] = record.waited_us
    category = "failed" if record.status else "finding" if record.findings else "call"
    duration = round(max(0.0, record.duration_us), 3)
    name = f"{record.call} → {record.status}" if record.status else record.call
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        **track(record),
        "ts": start(record),
        "dur": duration,
        "args": details,
    }


def start(record: Record) -> float:
    """Answer when a call began: microseconds of the world, never before it began."""
    return round(max(0.0, record.t * 1e6), 3)


def shown(name: str, value: Any) -> Any:
    """Show addresses and handles in hex; a browser would round the large ones."""
    if type(value) is int and (name in ADDRESSES or abs(value) >= EXACT):
        return f"{value:#x}"
    if isinstance(value, list):
        return [shown(name, item) for item in cast("list[Any]", value)]
    return value


# ---- who waited for whom


def _all_flows(teams: Teams, flows: Iterator[int]) -> Iterator[Event]:
    for team in teams.rest():
        yield from team_flows(team, flows)


def team_flows(team: Team, flows: Iterator[int]) -> Iterator[Event]:
    """Lead from the call that made a team whole to each call that waited for it."""
    for wait in team.waits:
        by = team.released_by(wait)
        if by is not None:
            common = {"name": "added the last device", "cat": "wait", "id": next(flows)}
            begin = start(by)
            # The arrow ends inside the wait's own slice ("bp": "e"), a nanosecond before its end.
            end = max(begin, round(start(wait) + wait.duration_us - 0.001, 3))
            yield {"ph": "s", **common, **track(by), "ts": begin}
            yield {"ph": "f", "bp": "e", **common, **track(wait), "ts": end}
