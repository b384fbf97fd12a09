"""Every rule's sources are what they claim: sentences in the wheel, steps in the recording."""

import json
from pathlib import Path

import pytest
from wheel_docs import doc_of, plain

from cumulticast.rules import Document, Note, Rule, Transcript, all_rules

RECORDINGS = Path(__file__).parents[1] / "data" / "transcripts"

SOURCES = [
    pytest.param(rule, source, id=f"{rule.code}-{n}") for rule in all_rules() for n, source in enumerate(rule.sources)
]
DOCUMENTS = [case for case in SOURCES if isinstance(case.values[1], Document)]
STEPS = [case for case in SOURCES if isinstance(case.values[1], Transcript)]
RULES = [pytest.param(rule, id=rule.code) for rule in all_rules()]


@pytest.fixture(scope="module")
def recording() -> dict:
    files = {source.values[1].file for source in STEPS}
    return {name: json.loads((RECORDINGS / name).read_text())["groups"] for name in files}


@pytest.mark.parametrize(("rule", "source"), DOCUMENTS)
def test_the_sentence_is_in_the_installed_documentation(rule: Rule, source: Document) -> None:
    assert plain(source.sentence) in doc_of(source.place)


@pytest.mark.parametrize("sentence", ["must be a multiple of seven", "flags for future use, must be one"])
def test_the_comparison_with_the_documentation_can_fail(sentence: str) -> None:
    assert doc_of("multicast_bind_mem")
    assert plain(sentence) not in doc_of("multicast_bind_mem")


@pytest.mark.parametrize(("rule", "source"), STEPS)
def test_the_recorded_step_answered_the_rules_status(rule: Rule, source: Transcript, recording: dict) -> None:
    steps = [step for step in recording[source.file][source.group] if step[0] == source.step]
    assert steps, f"{source} is not in the recording"
    for _, status, output in steps:
        if source.output:
            assert source.output in output
        else:
            assert status == rule.status


@pytest.mark.parametrize("rule", RULES)
def test_the_evidence_has_a_source_of_its_kind(rule: Rule) -> None:
    if rule.evidence == "documented":
        documents = [source for source in rule.sources if isinstance(source, Document)]
        assert documents
        assert rule.status is None or any(_names(source, rule.status.cuda_name) for source in documents)
    elif rule.evidence == "recorded":
        assert any(isinstance(source, Transcript) for source in rule.sources)
    elif rule.evidence == "kernel-module":
        assert any(isinstance(source, Note) and source.origin == "kernel driver" for source in rule.sources)


@pytest.mark.parametrize("rule", RULES)
def test_a_status_that_is_merely_assumed_contradicts_no_recording(rule: Rule) -> None:
    if rule.evidence == "assumed":
        assert not any(isinstance(source, Transcript) for source in rule.sources)


def _names(source: Document, cuda_name: str) -> bool:
    """Whether the place names the status, or is its own description."""
    return source.place == f"CUresult.{cuda_name}" or cuda_name in doc_of(source.place)
