"""Our own recordings: trace files (JSON lines), in which every call has its status and its finding."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from cumulticast.rules.status import Status
from cumulticast.why.observation import Observation
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, observed


def _call(line: Line) -> Iterator[Observation]:
    if '"status": 0,' in line.text:
        return
    entry = _entry(line.text)
    name, status = entry.get("call"), _whole(entry.get("status"))
    if not isinstance(name, str) or status not in set(Status) - {0}:
        return
    call = name.partition("_v")[0]
    rank = _whole(entry.get("rank"))
    yield observed(
        line,
        "failure",
        text=f"{name} answered {status}",
        code=str(status),
        call=call,
        area="multicast" if call.startswith("cuMulticast") else "init" if call == "cuInit" else "memory",
        rank=str(rank) if rank is not None and rank >= 0 else None,
        pid=str(entry.get("pid", "")),
    )


def _finding(line: Line) -> Iterator[Observation]:
    finding = _entry(line.text).get("finding")
    if isinstance(finding, dict):
        rule = cast(dict[str, Any], finding).get("rule")
        if isinstance(rule, str):
            yield observed(line, "rule", rule=rule, text=str(cast(dict[str, Any], finding).get("message", "")))


def _whole(value: object) -> int | None:
    """Answer a whole number; None for anything else that JSON has."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _entry(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # cut off, or brackets without end
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


SIGNS = (Sign(('"duration_us"',), _call), Sign(('"finding": {',), _finding))
