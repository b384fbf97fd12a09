"""The data behind the answers: kinds that something makes, statuses that exist, texts of our own."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pytest
from explain_cases import CASES

import cumulticast.why
from cumulticast.rules import Status
from cumulticast.why import readers
from cumulticast.why.ask import observe
from cumulticast.why.causes import Cause, causes
from cumulticast.why.judge import ESTABLISHED
from cumulticast.why.nccl_calls import call_at, line_map
from cumulticast.why.signs import written

ROOM = Path(cumulticast.why.__file__).parent
SOURCES = "\n".join(path.read_text() for path in [*ROOM.rglob("*.py"), ROOM / "signs.toml"])
#: Kinds whose names are put together in the code.
MADE = {"stack-bind", "stack-window", "stack-fd", "stack-collective", "gpu-card", "gpu-switched"}
CAUSE = pytest.mark.parametrize("cause", causes().values(), ids=causes())


@CAUSE
def test_a_cause_is_whole(cause: Cause) -> None:
    assert cause.title
    assert cause.mechanism
    assert cause.sources
    assert cause.shows
    assert cause.confidence in ("established", "thread claim", "inferred")
    assert any(reason.weight >= ESTABLISHED for reason in cause.reasons)
    assert all(status in list(Status) for status in cause.statuses)
    assert cause.checks or cause.verdict == "unrelated"


@CAUSE
def test_conditions_ask_for_kinds_that_something_makes(cause: Cause) -> None:
    for reason in cause.reasons:
        for condition in (*reason.every, *reason.no, *reason.cite):
            for kind in condition.kinds:
                assert f'"{kind}"' in SOURCES or kind in MADE, kind


@CAUSE
def test_a_status_that_alone_makes_the_cause_is_among_its_statuses(cause: Cause) -> None:
    """Otherwise the question about this status would not find it."""
    alone = [r.every[0] for r in cause.reasons if r.weight >= ESTABLISHED and len(r.every) == 1]
    for condition in alone:
        codes = condition.facts.get("code", ()) if condition.kinds == ("failure",) else ()
        if set(condition.facts) == {"code"}:
            assert set(map(int, codes)) <= set(cause.statuses)


def test_words_of_signs_are_in_lower_case_and_found_by_a_shorter_one_or_themselves() -> None:
    needles = readers.words()
    for sign in readers.signs():
        for word in sign.words:
            assert word == word.lower()
            assert any(needle in word for needle in needles)


def test_every_sign_of_the_table_is_asked_for_by_a_cause_or_by_what_follows() -> None:
    asked = {
        kind
        for cause in causes().values()
        for r in cause.reasons
        for c in (*r.every, *r.no, *r.cite)
        for kind in c.kinds
    }
    derived = "".join(path.read_text() for path in (ROOM / "derive").glob("*.py"))
    kinds = set(re.findall(r'^kind = "([\w-]+)"', (ROOM / "signs.toml").read_text(), re.MULTILINE))
    assert {kind for kind in kinds if kind not in asked and f'"{kind}"' not in derived} == set()
    assert len(written()) >= len(kinds)


#: Kinds that no case has: a line that shows one, and a neighbour that does not.
SAMPLES = {
    "boot-mark": ("-- Boot 3fa1c2d4e5f6478899aabbccddeeff00 --", "-- Logs begin at Mon 2026-03-02 08:30:12 UTC. --"),
    "fm-degraded": ("fabric manager is operating in degraded mode", "model runs in degraded mode: no"),
    "fm-out-of-groups": ("no more multicast groups are available", "multicast group 3 is allocated."),
    "fm-response-failed": ("request Id:1 status:3 type:3 length:24", "request Id:1 status:0 type:3 length:24"),
    "fm-since": ("ActiveEnterTimestamp=Tue 2025-05-20 11:27:40 UTC", "ActiveEnterTimestamp="),
    "fm-stalled": ("the Fabric Manager is still stalled (3.0 s more)", "the Fabric Manager is active"),
    "fm-start-asked": ("$ sudo systemctl start nvidia-fabricmanager", "$ systemctl status nvidia-fabricmanager"),
    "fm-stop-asked": ("$ systemctl stop nvidia-fabricmanager.service", "$ systemctl is-active nvidia-fabricmanager"),
    "fork": ("RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "fork of the repository"),
    "granularity-recommended": ("multicast recommended granularity 536870912", "allocation granularity 2097152"),
    "imex-json-broken": ('"status": "NEVER_CONNECTED"', '"status": "CONNECTED"'),
    "ucx": ("ucp_context.c:1981 UCX  WARN  UCP API version is incompatible", "ucx_info -v"),
    "uds-failed": ("UDS: Sending data over socket @nccl failed : Broken pipe (32)", "UDS: Creating service thread"),
    "uptime": (" 14:40:01 up 21 days,  8:37,  1 user", " 14:40:01 up  8:37,  1 user"),
}


def kinds_of(*texts: bytes) -> set[str]:
    return {one.kind for one in observe([(str(number), BytesIO(text)) for number, text in enumerate(texts)])}


def test_every_kind_is_seen_in_a_case_or_has_a_sample() -> None:
    seen = {kind for case in CASES for kind in kinds_of(*(path.read_bytes() for path in case.inputs))}
    kinds = set(re.findall(r'^kind = "([\w-]+)"', (ROOM / "signs.toml").read_text(), re.MULTILINE))
    assert kinds - seen == set(SAMPLES)


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_line_shows_the_kind_and_its_neighbour_does_not(kind: str) -> None:
    shown, not_shown = SAMPLES[kind]
    assert kind in kinds_of(shown.encode())
    assert kind not in kinds_of(not_shown.encode())


# ---- lines of NCCL


@pytest.mark.parametrize(
    ("version", "line", "call"),
    [
        ("2.26.2", 254, "cuMulticastBindMem"),
        ("2.28.3", 254, "cuMulticastAddDevice"),  # the same line, another call
        ("2.18.5", 165, "cuMulticastBindMem"),
        ("2.30.7", 379, "cuMulticastBindMem"),  # compilers report the last line of the statement
        ("2.26.4", 254, "cuMulticastBindMem"),  # not in the map: as the release before it
        ("3.1.0", 254, None),
        ("2.26.2", 5, None),
    ],
)
def test_a_line_is_a_call_of_its_version(version: str, line: int, call: str | None) -> None:
    assert call_at(version, "transport/nvls.cc", line) == call


def test_without_a_version_only_agreement_counts() -> None:
    assert call_at(None, "transport/nvls.cc", 254) is None
    alone = {line for lines in line_map().values() for line in lines["transport/nvls.cc"]}
    agreed = [line for line in alone if call_at(None, "transport/nvls.cc", int(line))]
    assert agreed
    assert call_at(None, "elsewhere.cc", 254) is None
