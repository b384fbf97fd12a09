"""Every numbered statement of the specification is a rule or is listed as not enforced."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from cumulticast.rules import UNENFORCED, Rule, all_rules, find, rule, unenforced

IDS = (Path(__file__).parents[1] / "data" / "spec_ids.txt").read_text().split()
SYMBOLS = Path(unenforced.__file__).parents[1] / "libcuda" / "calls.txt"
RULES = [pytest.param(rule, id=rule.code) for rule in all_rules()]
COVERED = {spec for rule in all_rules() for spec in rule.spec}


def test_no_statement_is_listed_twice() -> None:
    assert [spec for spec, times in Counter(IDS).items() if times > 1] == []


@pytest.mark.parametrize("spec", IDS)
def test_every_statement_is_a_rule_or_stands_in_the_other_list(spec: str) -> None:
    assert (spec in COVERED) != (spec in UNENFORCED)


def test_rules_and_list_name_only_statements_that_exist() -> None:
    assert (COVERED | UNENFORCED.keys()) - set(IDS) == set()


@pytest.mark.parametrize(("spec", "reason"), UNENFORCED.items())
def test_a_reason_is_one_sentence(spec: str, reason: str) -> None:
    assert reason.endswith(".")
    assert len(reason) > 20


@pytest.mark.parametrize("spec", UNENFORCED)
def test_a_reason_refers_only_to_rules_that_exist(spec: str) -> None:
    for code in re.findall(r"MC\d{3,4}", UNENFORCED[spec]):
        assert find(code).code == code


@pytest.mark.parametrize("rule", RULES)
def test_a_page_explains_and_names_a_fix(rule: Rule) -> None:
    lines = rule.page.splitlines()
    assert 5 <= len(lines) <= 20
    assert rule.page.count("\nFix: ") == 1
    assert lines[0].endswith(".")
    assert not rule.title.endswith(".")


@pytest.mark.parametrize("rule", RULES)
def test_a_page_refers_only_to_rules_that_exist(rule: Rule) -> None:
    for code in re.findall(r"MC\d{3,4}", rule.page):
        assert find(code).code == code


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_governs_entries_of_the_call_table(rule: Rule) -> None:
    symbols = {line.split()[0] for line in SYMBOLS.read_text().splitlines() if line and line[0] != "#"}
    assert rule.calls
    assert set(rule.calls) - symbols - {"*"} == set()
    assert len(set(rule.calls)) == len(rule.calls)


@pytest.mark.parametrize("rule", RULES)
def test_codes_are_filed_by_subject(rule: Rule) -> None:
    first = {
        "general": "0", "devices": "1", "multicast_object": "2", "multicast_team": "2",
        "binding": "3", "bound_memory": "3", "team_waits": "3", "rubin": "3",
        "unbinding": "4", "granularity": "4", "multicast_mapping": "5", "multicast_access": "5",
        "sharing": "6", "memory": "7", "address_space": "8", "mapping": "8", "access": "8",
        "lifetime": "8", "range_handles": "8", "contexts": "9", "peer_access": "9",
        "host_memory": "9", "pointers": "9", "copies": "9",
        "streams": "9", "pools": "9", "modules": "10", "module_functions": "10",
        "libraries": "10", "linking": "10", "launch": "11", "launch_parameters": "11",
        "launch_options": "11", "occupancies": "11", "graphs": "12", "graph_edges": "12",
        "graph_nodes": "12", "graph_updates": "12", "user_objects": "12", "captures": "12", "memory_order": "13",
    }  # fmt: skip
    assert re.fullmatch(r"MC\d{3,4}", rule.code)
    assert str(int(rule.code[2:]) // 100) == first[rule.check.__module__.rpartition(".")[2]]


def test_rules_are_ordered_by_code_and_names_are_unique() -> None:
    codes = [rule.code for rule in all_rules()]
    assert codes == sorted(set(codes), key=lambda code: int(code[2:]))
    assert [name for name, times in Counter(rule.name for rule in all_rules()).items() if times > 1] == []


def test_importing_the_book_loads_neither_cuda_nor_numpy_nor_other_rooms() -> None:
    program = "import sys, cumulticast.rules; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "cumulticast.rules.binding" in loaded
    assert not {"cuda", "numpy", "cffi", "rich", "cumulticast.sim", "cumulticast.libcuda"} & set(loaded)


def test_a_code_cannot_be_given_twice() -> None:
    enter = dict(calls=("cuInit",), evidence="assumed", source=find("MC304").sources, kind="advice")
    with pytest.raises(ValueError, match="MC304 is already size_granularity"):
        rule("MC304", "another", **enter)(lambda: None)


@pytest.mark.parametrize(("kind", "status"), [("error", None), ("limit", None), ("advice", 1), ("blocks", 1)])
def test_kind_and_status_go_together(kind: str, status: int | None) -> None:
    with pytest.raises(ValueError, match="MC399: kind"):
        rule("MC399", "x", calls=("cuInit",), evidence="assumed", source=(), kind=kind, status=status)
