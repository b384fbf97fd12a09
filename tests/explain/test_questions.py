"""Questions that are no text: a rule, a status in its three forms, a call, a call with a status, a cause."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import cumulticast
from cumulticast.rules import Rule, Status, all_rules, find
from cumulticast.why import hint, question
from cumulticast.why.causes import causes
from cumulticast.why.question import Question, nearest


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
    ("words", "status"),
    [
        ("ERROR_INVALID_VALUE (1)", 1),  # as NVIDIA's exceptions print it
        ("cuda.bindings._v2.driver.InvalidValueError: ERROR_INVALID_VALUE (1)", 1),
        ("InvalidValueError", 1),
        ("driver.SystemNotReadyError", 802),
        ("401 (CUDA_ERROR_ILLEGAL_STATE)", 401),
        ("ILLEGAL_STATE 401", 401),
        ("CUDA error 401", 401),
        ("error 802", 802),
        ("CUDA_SUCCESS", 0),
        ("0", 0),
    ],
)
def test_a_status_as_it_is_printed(words: str, status: int) -> None:
    assert question([words]) == question(words.split(" ")) == Question(status=Status(status))


@pytest.mark.parametrize(
    "words",
    ["cuMulticastBindMem(802)", "cuMulticastBindMem: 802", "cuMulticastBindMem -> 802", "cuMulticastBindMem = 802",
     "802 cuMulticastBindMem", "802 (CUDA_ERROR_SYSTEM_NOT_READY) from cuMulticastBindMem"],
)  # fmt: skip
def test_a_call_and_a_status_as_they_are_printed(words: str) -> None:
    assert question([words]) == Question(call="cuMulticastBindMem", status=Status(802))


def test_a_status_in_two_forms_that_differ_is_no_question() -> None:
    assert question(["CUDA_ERROR_ILLEGAL_STATE (401)"]) == Question(status=Status(401))
    assert question(["CUDA_ERROR_ILLEGAL_STATE (402)"]).empty
    assert question(["401 402"]).empty


@pytest.mark.parametrize("words", ["MC304", "mc304:", "[MC304]", "MC304."])
def test_a_rule_as_it_stands_in_a_line(words: str) -> None:
    assert question([words]) == Question(rule="MC304")


@pytest.mark.parametrize("words", ["fm-not-running", "FM-NOT-RUNNING", "fm not running", "fm_not_running"])
def test_a_cause_in_other_letters(words: str) -> None:
    assert question([words]) == question(words.split(" ")) == Question(cause="fm-not-running")


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_call_of_a_rule_can_be_asked_for(rule: Rule) -> None:
    for call in rule.calls:
        if call != "*":
            assert question([call]).call == call.partition("_v")[0]


def test_a_call_without_a_cause_answers_with_its_rules() -> None:
    answer = cumulticast.explain("cuStreamCreate")
    assert (answer.cause, answer.call) == (None, "cuStreamCreate")
    assert "MC9" in answer.why


@pytest.mark.parametrize(("status", "slug"), [(919, "fabric-registration-pending"), (217, "no-peer-path")])
def test_a_rare_status_finds_its_cause(status: int, slug: str) -> None:
    for asked in (status, Status(status), str(status)):
        assert cumulticast.explain(asked).cause == slug


def test_the_first_of_several_causes_is_only_the_likeliest() -> None:
    assert "\nlikeliest cause fm-stale-registration\n" in str(cumulticast.explain("cuMulticastBindMem 1"))
    assert "\ncause fm-not-running\n" in str(cumulticast.explain("fm-not-running"))


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("cuMulticastBindMen", "cuMulticastBindMem"),
        ("multicast_bind_men", "cuMulticastBindMem"),
        ("CUDA_ERROR_ILEGAL_STATE", "CUDA_ERROR_ILLEGAL_STATE"),
        ("fm-not-runing", "fm-not-running"),
        ("MCC304", "MC304"),
        ("train.log", None),
        ("", None),
    ],
)
def test_the_nearest_of_a_word(word: str, near: str | None) -> None:
    assert nearest(word) == near


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


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b"", "text is empty."),
        (b" \n\r\n", "text is empty."),
        (bytes(range(256)) * 99, "text is no text."),
        (b"\x7fELF\x02\x01\x01" + bytes(99), "text is no text."),
        (gzip.compress(b"", mtime=0), "text is empty."),
        ([], "Nothing was given."),
    ],
)
def test_without_a_text_nothing_can_be_told(given: bytes | list[str], why: str) -> None:
    """Not *unrelated*: a command that was not permitted leaves an empty file, too."""
    answer = cumulticast.explain(given)
    assert (answer.verdict, answer.cause, answer.evidence, answer.why) == ("uncertain", None, [], why)
    assert json.dumps(answer.as_dict())
    assert cumulticast.explain(b"hello").verdict == "unrelated"


def test_an_input_that_is_no_text_is_named_beside_others(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "calm.log").write_text("hello\n")
    answer = cumulticast.explain([tmp_path / "empty.log", tmp_path / "calm.log"])
    assert answer.verdict == "unrelated"
    assert f"{tmp_path / 'empty.log'} is empty." in answer.why


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
