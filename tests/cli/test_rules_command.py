"""`cumulticast rules`: the whole book, one page, JSON, and a code that nobody gave."""

import pytest
from command_line import answered_json, cumulticast

from cumulticast.rules import UNENFORCED, all_rules, find


def test_the_list_names_every_rule_once_with_its_answer() -> None:
    lines = cumulticast("rules").stdout.splitlines()
    codes = [line.split()[0] for line in lines if line.startswith("MC")]
    assert codes == [rule.code for rule in all_rules()]
    answers = {line.split()[0]: line.split()[1] for line in lines if line.startswith("MC")}
    assert answers["MC304"] == "1"
    assert answers["MC340"] == "waits"
    assert answers["MC203"] == "finding"


def test_a_page_says_what_why_and_how() -> None:
    done = cumulticast("rules", "mc304")  # the case of letters does not matter
    words = " ".join(done.stdout.split())
    assert done.stdout.startswith("MC304  the size of a bind is a multiple of the minimum granularity\n")
    assert "A bind joins whole physical pages to the multicast object" in words
    assert "1 (CUDA_ERROR_INVALID_VALUE)" in words
    assert "cuMulticastBindMem, cuMulticastBindMem_v2" in words


def test_examples_keep_their_lines() -> None:
    page = cumulticast("rules", "MC304").stdout.splitlines()
    assert "    multicast_bind_mem(mc, 0, mem, 0, 4 << 20, 0)   # good, if the memory has 4 MiB" in page


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_page_can_be_printed(rule, capsys: pytest.CaptureFixture[str]) -> None:
    from cumulticast.cli import main

    assert main(["rules", rule.code]) == 0
    words = capsys.readouterr().out.split()
    assert words[0] == rule.code
    assert "".join(rule.page.split()) in "".join(words)


def test_an_unknown_code_is_a_usage_error_with_the_nearest_ones() -> None:
    done = cumulticast("rules", "MC299")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("cumulticast rules: no rule MC299; nearest MC301 and MC302")
    assert "codes look like MC304" in cumulticast("rules", "granularity").stderr


def test_json_has_every_rule_and_what_no_rule_enforces() -> None:
    document = answered_json("rules", "--json")
    assert document["schema"] == 1
    assert [rule["code"] for rule in document["rules"]] == [rule.code for rule in all_rules()]
    assert {item["statement"]: item["reason"] for item in document["unenforced"]} == UNENFORCED
    wanted = {"code", "title", "kind", "calls", "status", "evidence", "source", "page", "enforced"}
    assert all(wanted <= rule.keys() for rule in document["rules"])


def test_json_of_one_rule() -> None:
    document = answered_json("rules", "MC304", "--json")
    (rule,) = document["rules"]
    assert (rule["code"], rule["status"], rule["status_name"]) == ("MC304", 1, "CUDA_ERROR_INVALID_VALUE")
    assert rule["page"] == find("MC304").page
    assert rule["enforced"] is True
    (advice,) = answered_json("rules", "MC203", "--json")["rules"]
    assert (advice["status"], advice["enforced"]) == (None, False)
