"""``cumulticast doctor``: whether multicast can work on this machine, real or simulated, and if not, why."""

from __future__ import annotations

import argparse
import difflib
import math

from cumulticast.cli.answers import FOUND, GOOD, INTERRUPTED, UNCERTAIN, UsageError, complain, console, print_json
from cumulticast.doctor.examine import TIME_LIMIT, examine
from cumulticast.doctor.register import checks
from cumulticast.doctor.result import Answer, Outcome, Report, Result
from cumulticast.doctor.share import shareable
from cumulticast.why.causes import causes

MARKS: dict[Outcome, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "partial": ("partial", "yellow"),
    "missing": ("missing", "red"),
    "not-available": ("n/a", "dim"),
    "crashed": ("crashed", "magenta"),
}
COLOURS: dict[Answer, str] = {"works": "bold green", "cannot": "bold red", "unknown": "bold yellow"}


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("checks", nargs="*", metavar="CHECK", help="the checks to run; all of them without a name")
    add("--list", action="store_true", help="list the checks")
    add("--json", action="store_true", help="print JSON")
    add("--share", action="store_true", help="leave out UUIDs, host and user names, home directories and addresses")
    add("--limit", type=_seconds, default=TIME_LIMIT, metavar="S", help=f"seconds for one check ({TIME_LIMIT:g})")


def _seconds(text: str) -> float:
    """Read a time limit."""
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no time limit: a number of seconds above 0")
    return value


def execute(args: argparse.Namespace) -> int:
    """Run the checks, show what they found, and answer: 0 works, 1 it cannot or something is wrong, 3 unknown."""
    for name in args.checks:
        if name not in checks():
            near = difflib.get_close_matches(name.lower().replace("_", "-"), list(checks()), n=1)
            told = f"; nearest {near[0]}" if near else ""
            raise UsageError(f"there is no check {name!r}{told}; all: {', '.join(checks())}")
    if args.list:
        return _list(args.json)
    try:
        report = examine(args.checks, time_limit=args.limit)
    except KeyboardInterrupt:
        complain("doctor: interrupted")
        return INTERRUPTED
    shown = shareable(report) if args.share else report
    if args.json:
        print_json(shown.as_dict())
    else:
        show(shown)
    return exit_code(report)


def exit_code(report: Report) -> int:
    """Answer what the report means to a script."""
    if report.multicast == "cannot" or report.found:
        return FOUND
    return GOOD if report.multicast == "works" else UNCERTAIN


def _list(as_json: bool) -> int:
    if as_json:
        print_json({"checks": [{"check": check.name, "title": check.title} for check in checks().values()]})
        return GOOD
    for check in checks().values():
        print(f"{check.name:24}{check.title}")
    return GOOD


def show(report: Report) -> None:
    """Print a line for each check, then the causes with what to do, then the answer."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for result in report.results:
        mark, style = MARKS[result.outcome]
        table.add_row(f"[{mark}]", result.check, _line(result), style=None if style == "dim" else "")
    out = console()
    out.print(table)
    for slug in report.causes:
        _show_cause(slug)
    out.print(f"\nmulticast: {report.multicast}", style=COLOURS[report.multicast])
    out.print(report.why)


def _line(result: Result) -> str:
    return f"{result.summary} ({result.rule})" if result.rule else result.summary


def _show_cause(slug: str) -> None:
    """Print a cause and its remedies, and where more stands."""
    cause, out = causes()[slug], console()
    out.print(f"\n{cause.title} [{slug}]", style="bold")
    for remedy in cause.remedies:
        out.print(f"  - {remedy}")
