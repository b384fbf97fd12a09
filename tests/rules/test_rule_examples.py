"""Every check fires on facts that break its rule, and is silent one step inside the limit."""

import inspect

import pytest
from rule_examples import EXAMPLES, MORE, SAYS, Facts

from cumulticast.rules import all_rules, find

CASES = [(code, bad, good) for code, (bad, good) in EXAMPLES.items()] + list(MORE)
IDS = [f"{code}-{n}" for n, (code, _, _) in enumerate(CASES)]


def test_every_rule_has_an_example() -> None:
    assert set(EXAMPLES) == {rule.code for rule in all_rules()}


@pytest.mark.parametrize(("code", "bad", "good"), CASES, ids=IDS)
def test_a_check_fires_only_on_what_breaks_its_rule(code: str, bad: Facts, good: Facts) -> None:
    check = find(code).check
    reason = check(*bad)
    assert reason
    assert check(*good) is None


@pytest.mark.parametrize(("code", "bad", "good"), CASES, ids=IDS)
def test_a_reason_is_one_line_and_no_sentence_of_its_own(code: str, bad: Facts, good: Facts) -> None:
    reason = find(code).check(*bad)
    assert reason is not None
    assert "\n" not in reason
    assert not reason.endswith((".", "; ", " "))
    assert "None" not in reason


@pytest.mark.parametrize("code", SAYS)
def test_a_reason_names_the_value_and_the_nearest_legal_one(code: str) -> None:
    reason = find(code).check(*EXAMPLES[code][0])
    for words in SAYS[code]:
        assert words in (reason or "")


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_check_takes_plain_named_facts(rule) -> None:
    allowed = {"int", "bool", "str", "float", "int | None", "tuple[int, ...]"}
    signature = inspect.signature(rule.check)
    annotations = {inspect.formatannotation(each.annotation) for each in signature.parameters.values()}
    assert annotations <= allowed
    assert signature.parameters
