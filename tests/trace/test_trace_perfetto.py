"""The Chrome trace format: what its description asks of events, and that who waited for whom is an arrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_trace_check import CREATE, IMPORT, ONE, RELEASE, RELEASE_1, add, waiting
from traced import line, write

from cumulticast.cli import trace_perfetto
from cumulticast.cli.trace_reader import Reader


def drawn(place: Path, *lines: Any) -> list[dict[str, Any]]:
    out = place / "out.json"
    count = trace_perfetto.write(Reader(write(place / "t", *lines)), out)
    document = json.loads(out.read_text())
    assert set(document) == {"displayTimeUnit", "traceEvents"} and document["displayTimeUnit"] in ("ms", "ns")
    assert len(document["traceEvents"]) == count
    validate(document["traceEvents"])
    return document["traceEvents"]


def validate(events: list[dict[str, Any]]) -> None:
    """Hold events to the format: required keys and types, flows in pairs, each end inside of a slice of its thread."""
    flows: dict[int, dict[str, dict[str, Any]]] = {}
    slices = [event for event in events if event["ph"] == "X"]
    for event in events:
        assert event["ph"] in ("X", "M", "s", "f")
        assert isinstance(event["name"], str) and event["name"]
        assert type(event["pid"]) is int and type(event["tid"]) is int
        assert isinstance(event["ts"], int | float) and event["ts"] >= 0
        if event["ph"] == "X":
            assert isinstance(event["dur"], int | float) and event["dur"] >= 0
            assert isinstance(event["args"], dict)
        elif event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name")
            assert list(event["args"]) == [{"process_sort_index": "sort_index"}.get(event["name"], "name")]
        else:
            assert event["ph"] not in flows.setdefault(event["id"], {})
            flows[event["id"]][event["ph"]] = event
            around = [s for s in slices if (s["pid"], s["tid"]) == (event["pid"], event["tid"])]
            assert any(s["ts"] <= event["ts"] <= s["ts"] + s["dur"] for s in around)
    for ends in flows.values():
        assert set(ends) == {"s", "f"}
        assert ends["s"]["ts"] <= ends["f"]["ts"]
        assert ends["f"]["bp"] == "e"
        assert (ends["s"]["name"], ends["s"]["cat"]) == (ends["f"]["name"], ends["f"]["cat"])


def test_a_call_is_a_complete_event_of_its_rank(tmp_path: Path) -> None:
    one = line("cuMemMap", {"ptr": 0x7F00_0000_0000, "size": 4096}, {"x": 1 << 60}, rank=3, t=0.25, duration_us=12.5)
    (event,) = [event for event in drawn(tmp_path, one) if event["ph"] == "X"]
    assert (event["pid"], event["tid"], event["ts"], event["dur"]) == (3, 100, 250000.0, 12.5)
    assert event["args"]["args"] == {"ptr": "0x7f0000000000", "size": 4096}
    assert event["args"]["out"] == {"x": "0x1000000000000000"}  # a browser would round it
    names = {event["args"].get("name") for event in drawn(tmp_path, one) if event["ph"] == "M"}
    assert {"rank 3 (pid 100)", "thread 100"} <= names


def test_a_process_without_a_rank_stands_for_itself(tmp_path: Path) -> None:
    events = drawn(tmp_path, line("cuInit", rank=None))
    assert {event["pid"] for event in events} == {100}


def test_failures_and_findings_show(tmp_path: Path) -> None:
    said = {"rule": "MC308", "message": "beyond"}
    failed, found = [
        event
        for event in drawn(tmp_path, line("cuA", status=1, refused=said), line("cuB", finding=said))
        if event["ph"] == "X"
    ]
    assert (failed["cat"], failed["name"], failed["args"]["refused"]) == ("failed", "cuA → 1", "MC308 beyond")
    assert (found["cat"], found["args"]["findings"]) == ("finding", ["MC308 beyond"])


@pytest.mark.parametrize("end", [[], [RELEASE_1, RELEASE]], ids=["held", "released"])
def test_the_last_device_leads_to_every_wait_it_ended(tmp_path: Path, end: list[Any]) -> None:
    last = {**add(1, **ONE), "t": 5.0, "duration_us": 900.0}
    two = {"pid": 300, "tid": 300, "rank": 2}
    trace = [CREATE, IMPORT, {**add(0), "t": 0.5}, waiting(4.0, 1.0002), last, waiting(2.0, 3.0004, **two), *end]
    arrows = [event for event in drawn(tmp_path, *trace) if event["ph"] in "sf"]
    assert [(event["ph"], event["pid"]) for event in arrows] == [("s", 1), ("f", 0), ("s", 1), ("f", 2)]
    assert len({event["id"] for event in arrows}) == 2


def test_a_wait_that_nobody_ended_has_no_arrow(tmp_path: Path) -> None:
    events = drawn(tmp_path, CREATE, add(0), waiting(1.2, 1.0, status=909))
    assert not [event for event in events if event["ph"] in "sf"]


def test_no_time_is_before_the_beginning(tmp_path: Path) -> None:
    """A clock that is set back while the world runs."""
    assert drawn(tmp_path, line("cuInit", t=-3.0))[-1]["ts"] == 0
