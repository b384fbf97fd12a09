"""Our own recordings: trace files (JSON lines), in which every call has its status and its finding."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from cumulticast.why.observation import Observation
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, observed


def _call(line: Line) -> Iterator[Observation]:
    if '"status": 0,' in line.text:
        return
    entry = _entry(line.text)
    name, status = entry.get("call"), entry.get("status")
    if not isinstance(name, str) or not isinstance(status, int) or status <= 0:
        return
    call = name.partition("_v")[0]
    rank = entry.get("rank")
    yield observed(
        line,
        "failure",
        text=f"{name} answered {status}",
        code=str(status),
        call=call,
        area="multicast" if call.startswith("cuMulticast") else "init" if call == "cuInit" else "memory",
        rank=str(rank) if isinstance(rank, int) else None,
        pid=str(entry.get("pid", "")),
    )


def _finding(line: Line) -> Iterator[Observation]:
    finding = _entry(line.text).get("finding")
    if isinstance(finding, dict):
        rule = cast(dict[str, Any], finding).get("rule")
        if isinstance(rule, str):
            yield observed(line, "rule", rule=rule, text=str(cast(dict[str, Any], finding).get("message", "")))


def _entry(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


SIGNS = (Sign(('"duration_us"',), _call), Sign(('"finding": {',), _finding))
