"""Every case is answered right: the given ones and our own for every reader and cause."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from explain_cases import CASES, GIVEN, OWN, Case
from scoring import score, table

from cumulticast.why import explain
from cumulticast.why.causes import causes

CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@CASE
def test_verdict_cause_status_and_lines(case: Case) -> None:
    answer = explain(case.inputs)
    got = score(case, answer)
    assert got.main, f"{got}\n{answer}"
    assert not got.alarm


@CASE
def test_the_failing_call(case: Case) -> None:
    assert explain(case.inputs).call == case.expected["call"]


@CASE
def test_what_must_be_said_is_said(case: Case) -> None:
    assert score(case, explain(case.inputs)).missing == ()


@pytest.mark.parametrize("cases", [GIVEN, OWN], ids=["given", "own"])
def test_the_whole_set(cases: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    scores = {case.id: score(case, explain(case.inputs)) for case in cases}
    print(table(scores))
    assert sum(one.main for one in scores.values()) >= 0.95 * len(scores)
    assert not any(one.alarm or one.claimed for one in scores.values())
    assert sum(one.near for one in scores.values()) >= 0.9 * sum(one.cited for one in scores.values())
    assert "false alarms 0" in capsys.readouterr().out


def test_names_of_files_and_folders_do_not_matter(tmp_path: Path) -> None:
    case = next(case for case in GIVEN if len(case.inputs) == 3)
    copies = [shutil.copy(path, tmp_path / f"{position}.txt") for position, path in enumerate(case.inputs)]
    assert explain(copies).cause == explain(case.inputs).cause == case.expected["cause"]


@pytest.mark.parametrize("case", [case for case in GIVEN if len(case.inputs) > 1], ids=lambda case: case.id)
def test_the_order_of_files_does_not_matter(case: Case) -> None:
    answer = explain(list(reversed(case.inputs)))
    assert (answer.verdict, answer.cause, answer.code) == (
        case.expected["verdict"],
        case.expected["cause"],
        case.expected["status"]["code"],
    )


def test_every_cause_has_a_case_of_its_own() -> None:
    assert {case.expected["cause"] for case in OWN} == set(causes())


@pytest.mark.parametrize("case", OWN, ids=lambda case: case.id)
def test_our_cases_are_well_formed(case: Case) -> None:
    assert list(case.expected) == list(GIVEN[0].expected)[:-1]  # without source_class
    known = causes()
    slugs = [case.expected["cause"], *case.expected["also_possible"], *case.expected["must_not_claim"]]
    assert set(slugs) <= set(known)
    assert case.expected["verdict"] == known[case.expected["cause"]].verdict
    lines = {
        f"{path.name}:{n}" for path in case.inputs for n, text in enumerate(path.read_text().split("\n"), 1) if text
    }
    assert set(case.expected["evidence"]) <= lines
    assert json.dumps(case.expected)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("001-nccl2185-four-gpus", 2),  # one process with four devices
        ("002-nccl2297-smi-fmlog", 5),
        ("009-b200-eight-ranks", 6),
        ("011-ray-eight-workers", 4),
        ("025-gb200-two-trays", 5),  # device 1 of the second tray
        ("026-nvbandwidth-two-hosts", 8),
        ("029-vllm-tp2-desktop", 1),
        ("034-cvm-tp8-serving", 0),
        ("045-symm-pool-setup", 5),
        ("047-docker-bench", 1),
        ("018-hosted-job-h200x8", None),
        ("066-team-bind-refused", 2),  # every rank tells of it
    ],
)
def test_the_first_failing_rank(name: str, rank: int | None) -> None:
    case = next(case for case in CASES if case.id == name)
    assert explain(case.inputs).first_rank == rank
