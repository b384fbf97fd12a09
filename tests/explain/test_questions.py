"""Questions that are no text: a rule, a status in its three forms, a call, a call with a status, a cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cumulticast
from cumulticast.rules import Status, all_rules, find
from cumulticast.why import hint, question
from cumulticast.why.causes import causes
from cumulticast.why.question import Question


@pytest.mark.parametrize(
    "words", ["802", "CUDA_ERROR_SYSTEM_NOT_READY", "system_not_ready", "system not yet initialized"]
)
def test_a_status_in_all_its_forms(words: str) -> None:
    assert question([words]) == Question(status=Status(802))


@pytest.mark.parametrize(
    ("words", "call", "status"),
    [
        ("cuMulticastBindMem", "cuMulticastBindMem", None),
        ("cuMulticastBindMem_v2 401", "cuMulticastBindMem", 401),
        ("multicast_bind_mem INVALID_VALUE", "cuMulticastBindMem", 1),
        ("driver.mem_create operation not permitted", "cuMemCreate", 800),
        ("CUMEMSETACCESS 101", "cuMemSetAccess", 101),
    ],
)
def test_a_call_with_or_without_a_status(words: str, call: str, status: int | None) -> None:
    expected = None if status is None else Status(status)
    assert question(words.split(" ")) == question([words]) == Question(call=call, status=expected)


@pytest.mark.parametrize(
    "words", ["", "cuFrobnicate", "cuMulticastBindMem nonsense", "train.log", "12345", "0 1", "MC30", "x" * 5000]
)
def test_other_words_are_no_question(words: str) -> None:
    assert question([words]).empty


def test_a_rule_answers_with_its_page_and_its_cause() -> None:
    answer = cumulticast.explain("mc304")
    assert answer.asked
    assert find("MC304").page in answer.why
    assert (answer.cause, answer.call, answer.code) == ("size-not-granular", "cuMulticastBindMem", 1)


def test_a_rule_that_is_none_names_the_nearest() -> None:
    with pytest.raises(KeyError, match="nearest MC001"):
        cumulticast.explain("MC000")


def test_causes_of_a_call_and_a_status_are_ranked_and_fit() -> None:
    answer = cumulticast.explain("cuMulticastBindMem 802")
    named = [answer.cause, *answer.also_possible]
    assert named[:2] == ["fm-not-running", "fm-transient-stall"]
    for slug in named:
        assert slug is not None
        assert 802 in causes()[slug].statuses
        assert "cuMulticastBindMem" in causes()[slug].calls
    assert "MC343" in answer.why


@pytest.mark.parametrize("slug", causes())
def test_a_cause_answers_with_everything_known(slug: str) -> None:
    text = str(cumulticast.explain(slug))
    cause = causes()[slug]
    for known in (cause.title, cause.mechanism, *cause.checks, *cause.remedies, *cause.shows.values()):
        assert known in text


def test_a_path_is_read_and_a_text_is_a_text(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("CUDA error 401 'the operation cannot be performed in the present state' in cuMulticastBindMem\n")
    for answer in (cumulticast.explain(str(log)), cumulticast.explain(log), cumulticast.explain([log])):
        assert (answer.cause, answer.evidence) == ("fabric-bad-state", [f"{log}:1"])
    assert cumulticast.explain(log.read_text()).evidence == ["text:1"]
    assert cumulticast.explain(log.read_bytes()).evidence == ["text:1"]


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cumulticast.explain([tmp_path / "none.log"])


def test_an_empty_text_is_about_nothing() -> None:
    answer = cumulticast.explain(b"")
    assert (answer.verdict, answer.cause, answer.evidence) == ("unrelated", "not-multicast", [])
    assert json.dumps(answer.as_dict())


# ---- hints on errors


@pytest.mark.parametrize(
    ("call", "status", "slug"),
    [
        ("multicast_bind_mem", 802, "fm-not-running"),
        ("multicast_bind_mem", 401, "fm-stale-registration"),
        ("multicast_bind_mem", 2, "multicast-slots-exhausted"),
        ("mem_create", 800, "imex-channel-missing"),
        ("multicast_add_device", 101, "clique-mismatch"),
        ("multicast_create", 801, "multicast-unsupported-topology"),
        ("mem_import_from_shareable_handle", 400, "imex-daemon-wedged"),
        ("init", 802, "fm-not-running"),
    ],
)
def test_a_hint_names_the_likely_cause_and_its_first_check(call: str, status: int, slug: str) -> None:
    said = hint(call, status)
    assert said is not None
    assert f"({slug})" in said
    assert causes()[slug].checks[0] in said
    assert said.endswith(f" {status}")


@pytest.mark.parametrize(("call", "status"), [("memcpy_htod", 1), ("stream_create", 802), ("multicast_bind_mem", 700)])
def test_without_a_cause_there_is_no_hint(call: str, status: int) -> None:
    assert hint(call, status) is None


def test_a_wrong_argument_that_a_rule_names_needs_no_hint() -> None:
    assert hint("multicast_bind_mem", 1) is not None
    assert hint("multicast_bind_mem", 1, "MC304") is None


def test_a_rule_about_the_system_gets_its_hint_and_another_does_not() -> None:
    assert "fm-not-running" in str(hint("multicast_bind_mem", 802, "MC343"))
    assert "clique-mismatch" in str(hint("multicast_add_device", 101, "MC122"))
    assert hint("multicast_add_device", 101, "MC004") is None


def test_rules_of_causes_exist_and_belong_to_one_cause() -> None:
    named = [code for cause in causes().values() for code in cause.rules]
    assert len(named) == len(set(named))
    assert set(named) <= {rule.code for rule in all_rules()}
