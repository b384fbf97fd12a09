"""docs/how-others-do-it.md: no cell is empty, every row has its evidence, and what it says of this project is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_blocks import DOCS

from cumulticast import Team
from cumulticast.team.comm.client import HubComm
from cumulticast.testing import RunRanks

PAGE = (DOCS / "how-others-do-it.md").read_text(encoding="utf-8")
ROOT = Path(__file__).parents[2]


def rows(table: int) -> list[list[str]]:
    """Answer the rows of a table of the page, without its head."""
    found = re.findall(r"(?m)(?:^\|.*\n)+", PAGE)[table]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines()[2:]]


OTHERS, OURS = rows(0)[:-1], rows(0)[-1]


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: row[0].split(",")[0])
def test_a_project_has_its_source_its_mark_and_no_empty_cell(row: list[str]) -> None:
    assert len(row) == len(OURS) and all(row)
    assert re.search(r"`[\w./-]+\.\w+`.* [RI]$", row[0])


def test_what_is_known_from_issues_only_is_marked() -> None:
    for sentence in re.findall(r"[^.|(]*#\d+[^.|)]*", PAGE):
        assert re.search(r"#\d+ I", sentence), sentence


@pytest.mark.parametrize("row", rows(1), ids=lambda row: row[0])
def test_where_it_went_exists(row: list[str]) -> None:
    places = re.findall(r"`([\w./]+)`", row[2])
    assert places and all((ROOT / "src/cumulticast" / place).is_file() for place in places)


def votes_of_a_rank() -> list[str]:
    """Answer the votes of a bring-up that meets 802 once, in their order."""
    labels: list[str] = []
    exchange = HubComm.exchange

    def noted(self: HubComm, payload: bytes, label: str, timeout: float) -> list[bytes]:
        labels.append(label)
        return exchange(self, payload, label, timeout)

    HubComm.exchange = noted
    with Team.join(backoff=0) as team:
        assert team.has_multicast
    return labels


def test_the_votes_of_our_row_are_those_of_the_team_and_802_is_tried_again_by_all(run_ranks: RunRanks) -> None:
    named = re.findall(r"\*([\w, ]+)\*", OURS[1])[0].split(", ")
    tries = [*named[1:-1], "undone", *named[1:]]
    fault = "fail:cuMulticastBindMem:rank=1:status=SYSTEM_NOT_READY"
    for labels in run_ranks(votes_of_a_rank, ranks=2, timeout=40, faults=[fault]):
        steps = [label for label in labels if label in {*named, "undone"}]
        assert steps == [*[named[0]] * steps.count(named[0]), *tries]
