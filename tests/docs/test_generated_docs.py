"""The generated documents are what their sources say now, and their data is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from wheel_docs import doc_of

import generate
from cumulticast.rules import all_rules, find
from cumulticast.sim.injection import ACTIONS, STATES, VALUES, parse
from cumulticast.why.causes import causes
from pages import readme, statements
from pages.fidelity import EVIDENCE
from pages.markdown import cell, table
from pages.rules import unjudged

ROOT = Path(__file__).parents[2]
PAGES = generate.pages()
FAULTS = statements.read("faults")
DEFECTS = statements.read("defects")
QUOTES = [pytest.param(*quote, id=quote[0]) for defect in DEFECTS for quote in defect.get("quotes", [])]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_is_up_to_date(path: Path) -> None:
    assert path.exists(), "run `make docs`"
    assert path.read_text(encoding="utf-8") == PAGES[path], "run `make docs`"


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    assert generate.stale(PAGES) == []


def test_a_page_without_a_rule_would_be_noticed() -> None:
    kept = {path: text for path, text in PAGES.items() if path.name != "MC304.md"}
    assert [path.name for path in generate.stale(kept)] == ["MC304.md"]


def test_the_generated_parts_of_the_readme_are_up_to_date() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.filled(text) == text, "run `make docs`"


def test_a_readme_without_a_place_for_a_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 places for 'fidelity'"):
        readme.filled("# cumulticast")


def test_every_rule_has_a_page_and_stands_in_the_index() -> None:
    index = PAGES[generate.DOCS / "rules" / "index.md"]
    for rule in all_rules():
        assert rule.title in PAGES[generate.DOCS / "rules" / f"{rule.code}.md"]
        assert f"| [{rule.code}]({rule.code}.md) |" in index


def test_a_rule_nobody_judges_by_is_owned_up_to() -> None:
    pages = {code: PAGES[generate.DOCS / "rules" / f"{code}.md"] for code in ("MC304", *(r.code for r in unjudged()))}
    told = {code for code, text in pages.items() if "does not judge by this rule" in text}
    assert told == pages.keys() - {"MC304"}


def test_every_kind_of_evidence_is_explained() -> None:
    assert {rule.evidence for rule in all_rules()} <= EVIDENCE.keys()


def test_a_bar_inside_of_a_table_is_escaped() -> None:
    assert table(("a",), [("x | y",)]).splitlines()[-1] == "| x \\| y |"


# ---- faults


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["spec"])
def test_the_example_of_a_fault_is_one(fault: dict[str, str]) -> None:
    spec = re.match(r"[a-z-]+(=[a-z]+)?", fault["spec"])
    assert spec is not None
    assert fault["example"].startswith(spec[0])
    assert parse(fault["example"])


def test_every_fault_is_described() -> None:
    described = {parse(fault["example"]) for fault in FAULTS}
    assert {fault.kind for fault in described} == {*STATES, *ACTIONS}
    named = {(fault.kind, fault.value) for fault in described}
    assert {(kind, value) for kind, values in VALUES.items() for value in values} - named == set()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["spec"])
def test_the_status_told_of_a_fault_is_its_rules(fault: dict[str, str]) -> None:
    """“bind answers 802 (MC343)”: that rule refuses with that status."""
    for status, code in re.findall(r"\b(\d{1,3}) \((MC\d{3,4})\)", fault["effect"]):
        assert find(code).status == int(status)


# ---- defects of NVIDIA's documents


def test_there_are_ten_defects() -> None:
    assert len(DEFECTS) == 10
    assert all(defect.get("quotes") or defect["elsewhere"] for defect in DEFECTS)


@pytest.mark.parametrize(("place", "words"), QUOTES)
def test_the_defective_words_are_in_the_installed_wheel(place: str, words: str) -> None:
    assert words in doc_of(place)


def test_the_other_words_are_missing_where_a_defect_says_so() -> None:
    assert "must have beeen created on one of the devices" not in doc_of("multicast_bind_addr_v2")
    assert "currently must be zero" not in doc_of("mem_map") + doc_of("cuMemMap")
    assert "CUDA_ERROR_INVALID_VALUE" not in doc_of("multicast_bind_mem")


def test_every_cause_has_a_page_and_stands_in_the_index_by_what_one_sees() -> None:
    index = PAGES[generate.DOCS / "causes" / "index.md"]
    for cause in causes().values():
        text = PAGES[generate.DOCS / "causes" / f"{cause.slug}.md"]
        assert cause.mechanism in text
        assert f"[{cause.slug}]({cause.slug}.md)" in index
        for seen in cause.shows.values():
            assert cell(seen) in index
