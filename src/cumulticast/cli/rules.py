"""``cumulticast rules``: the book as a table, or the page of one rule."""

from __future__ import annotations

import argparse
from typing import Any

from cumulticast.cli.answers import GOOD, UsageError, console, print_json
from cumulticast.rules import UNENFORCED, Rule, all_rules, find


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="the rule to explain, such as MC304")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    """Show all rules or one."""
    chosen = (_found(args.code),) if args.code else all_rules()
    if args.json:
        print_json(document(chosen, whole=args.code is None))
    elif args.code:
        show_page(chosen[0])
    else:
        show_list(chosen)
    return GOOD


def _found(code: str) -> Rule[Any]:
    try:
        return find(code)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None


def as_dict(rule: Rule[Any]) -> dict[str, Any]:
    """Answer a rule as JSON has it. Breaking one that is not ``enforced`` is only reported."""
    return {
        "code": rule.code,
        "title": rule.title,
        "kind": rule.kind,
        "calls": list(rule.calls),
        "status": None if rule.status is None else int(rule.status),
        "status_name": None if rule.status is None else rule.status.cuda_name,
        "evidence": rule.evidence,
        "source": rule.source,
        "held": rule.held,
        "page": rule.page,
        "enforced": rule.status is not None or rule.kind == "blocks",
    }


def document(chosen: tuple[Rule[Any], ...], *, whole: bool) -> dict[str, Any]:
    """Answer rules as a JSON document; the whole book has the statements that no rule enforces, and why."""
    answer: dict[str, Any] = {"rules": [as_dict(rule) for rule in chosen]}
    if whole:
        answer["unenforced"] = [{"statement": key, "reason": why} for key, why in UNENFORCED.items()]
    return answer


def answer_text(rule: Rule[Any]) -> str:
    """Say what a broken rule leads to: a status, a wait, or a finding."""
    if rule.status is not None:
        return str(int(rule.status))
    return "waits" if rule.kind == "blocks" else "finding"


def show_list(chosen: tuple[Rule[Any], ...]) -> None:
    """Print one line for each rule."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rule", style="cyan", no_wrap=True)
    table.add_column("answer", no_wrap=True)
    table.add_column("evidence", no_wrap=True)
    table.add_column("title")
    for rule in chosen:
        table.add_row(rule.code, answer_text(rule), rule.evidence, rule.title)
    out = console()
    out.print(table)
    out.print(f"\n{len(chosen)} rules. `cumulticast rules MC304` explains one.")


def show_page(rule: Rule[Any]) -> None:
    """Print everything about one rule."""
    from rich.table import Table

    out = console()
    out.print(f"{rule.code}  {rule.title}\n", style="bold")
    for block in rule.page.split("\n\n"):
        code = block.startswith("    ")
        out.print(block if code else " ".join(block.split()), "", sep="\n", soft_wrap=code)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    for name, value in facts(rule):
        grid.add_row(name, value)
    out.print(grid)


def facts(rule: Rule[Any]) -> list[tuple[str, str]]:
    """Answer what the book knows of a rule beside its page: name and value."""
    status = "none" if rule.status is None else f"{int(rule.status)} ({rule.status.cuda_name})"
    held = {"always": "in both profiles", "strict": "in profile strict", "hardware": "in profile hardware"}[rule.held]
    calls = "every call" if rule.calls == ("*",) else ", ".join(rule.calls)
    return [
        ("kind", rule.kind),
        ("status", status),
        ("held", held),
        ("evidence", rule.evidence),
        ("calls", calls),
        ("source", rule.source),
    ]
