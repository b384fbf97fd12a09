"""docs/rules/: a page for each rule, and the index by hundred, by call and by status."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import cumulticast.rules
from cumulticast.cli.rules import answer_text, facts
from cumulticast.rules import UNENFORCED, Rule, all_rules
from pages.markdown import bullets, linked, page, table

PACKAGE = Path(cumulticast.rules.__file__).parents[1]
#: Held by door.c, which answers before any Python runs.
IN_C = ("MC009", "MC010")


def pages() -> Iterator[tuple[str, str]]:
    """Make the path and the text of every page about rules."""
    yield "rules/index.md", index()
    yield "unenforced.md", unenforced()
    for rule in all_rules():
        yield f"rules/{rule.code}.md", rule_page(rule)


def subjects() -> Mapping[str, str]:
    """Return what each hundred is about, as the book's own docstring says: ``MC3`` is binding."""
    text = " ".join((cumulticast.rules.__doc__ or "").split())
    return dict(re.findall(r"(MC\d+) (.*?)(?=, MC\d|\.)", text))


def hundred_of(rule: Rule[...]) -> str:
    """Return the hundred that a rule is filed under: ``MC3`` of MC304, ``MC10`` of MC1001."""
    return rule.code[:-2]


@cache
def unjudged() -> tuple[Rule[...], ...]:
    """Return the rules that stand in the book and that nothing in the simulator judges by, as their names show."""
    files = [path for room in ("sim", "libcuda") for path in (PACKAGE / room).rglob("*.py")]
    words = {word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    return tuple(rule for rule in all_rules() if rule.name not in words and rule.code not in IN_C)


def rule_page(rule: Rule[...]) -> str:
    """Show everything that the book knows about one rule."""
    known = [(name, value) for name, value in facts(rule) if name != "source"]
    sources = "Sources:\n\n" + bullets(map(str, rule.sources))
    spec = f"Statements of the specification: {', '.join(rule.spec)}." if rule.spec else ""
    name = f"In Python: `cumulticast.rules.{rule.check.__module__.rpartition('.')[2]}.{rule.name}`."
    text, title = linked(rule.page, but=rule.code), f"{rule.code}: {rule.title}"
    note = "**The simulator does not judge by this rule yet.**" if rule in unjudged() else ""
    return page(title, text, note, table(("", ""), known), sources, spec, name, "[All rules](index.md)")


def index() -> str:
    """List the rules by hundred, by call and by status."""
    hundreds = [f"### {hundred}: {subject}\n\n{_listed(hundred)}" for hundred, subject in subjects().items()]
    by_call, by_status = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for rule in all_rules():
        for call in rule.calls:
            by_call["every call" if call == "*" else f"`{call}`"].append(rule.code)
        by_status[_status(rule)].append(rule.code)
    return page(
        "The rules of the driver",
        f"{len(all_rules())} rules. `cumulticast rules CODE` prints these pages, too.",
        "\n\n".join(["## By subject", *hundreds]),
        "## By call\n\n" + _codes(("call", "rules"), sorted(by_call.items())),
        "## By answer\n\n" + _codes(("answer", "rules"), sorted(by_status.items(), key=_number)),
    )


def _listed(hundred: str) -> str:
    rules = [rule for rule in all_rules() if hundred_of(rule) == hundred]
    rows = [(f"[{rule.code}]({rule.code}.md)", answer_text(rule), rule.evidence, rule.title) for rule in rules]
    return table(("rule", "answer", "evidence", "title"), rows)


def _status(rule: Rule[...]) -> str:
    return answer_text(rule) if rule.status is None else f"{int(rule.status)} {rule.status.cuda_name}"


def _number(item: tuple[str, list[str]]) -> tuple[int, str]:
    number = item[0].partition(" ")[0]
    return (int(number), "") if number.isdecimal() else (10_000, number)


def _codes(header: tuple[str, str], items: Iterable[tuple[str, list[str]]]) -> str:
    return table(header, [(name, linked(", ".join(codes))) for name, codes in items])


def unenforced() -> str:
    """List the statements of the specification that no rule enforces."""
    rows = [(key, linked(reason, "rules/")) for key, reason in UNENFORCED.items()]
    return page(
        "Statements that no rule enforces",
        f"The specification behind the book has numbered statements. {len(rows)} of them are no rule, each for a "
        "reason. A test holds that every statement is either a rule or stands here.",
        table(("statement", "why no rule enforces it"), rows),
        "## Rules that the simulator does not judge by yet",
        table(("rule", "title"), [(linked(rule.code, "rules/"), rule.title) for rule in unjudged()]),
    )
