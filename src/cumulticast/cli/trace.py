"""``cumulticast trace``: what a recorded run did, what is wrong with it, and a picture of who waited for whom."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cumulticast.cli import trace_perfetto
from cumulticast.cli.answers import FOUND, GOOD, UNCERTAIN, UsageError, complain, console, print_json
from cumulticast.cli.trace_check import Check, Problem
from cumulticast.cli.trace_reader import Header, Reader, Unreadable
from cumulticast.cli.trace_summary import Summary, Total

if TYPE_CHECKING:
    from rich.table import Table


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="what `cumulticast run --trace FILE` wrote")
    add(
        "--check",
        action="store_true",
        help="report findings, leaks, lasting failures and long waits; exit code 1 if any",
    )
    add("--perfetto", metavar="OUT", type=Path, help="write the Chrome trace format, for ui.perfetto.dev")
    add("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    """Read the trace for what was asked; a summary, when nothing was."""
    try:
        if args.perfetto is not None:
            _perfetto(args.file, args.perfetto)
            if not args.check:
                return GOOD
        return _check(args.file, json=args.json) if args.check else _summary(args.file, json=args.json)
    except Unreadable as error:
        complain(f"trace: {args.file}: {error}")
        return UNCERTAIN
    except OSError as error:
        raise UsageError(f"{error.filename or args.file}: {error.strerror}") from None


def _perfetto(source: Path, out: Path) -> None:
    if out.exists() and out.samefile(source):
        raise UsageError(f"{out} is the trace itself; --perfetto takes another file")
    reader = Reader(source)
    next(iter(reader))  # a file that is no trace leaves OUT as it was
    reader = Reader(source)
    count = trace_perfetto.write(reader, out)
    complain(f"trace: {count} events in {out}; open it in https://ui.perfetto.dev")
    _tell_damage(reader)


def _tell_damage(reader: Reader) -> None:
    """Say on stderr what could not be read."""
    if reader.damaged_count:
        lines = ", ".join(map(str, reader.damaged)) + ", ..." * (reader.damaged_count > len(reader.damaged))
        complain(f"trace: {reader.damaged_count} damaged lines were left out ({lines})")
    if reader.cut_off:
        complain(f"trace: line {reader.lines} is cut off and was left out")


def facts(reader: Reader, worlds: list[Header]) -> dict[str, Any]:
    """Answer what JSON says of every trace."""
    return {
        "lines": reader.lines,
        "damaged": reader.damaged_count,
        "cut_off": reader.cut_off,
        "worlds": [{"world": w.world, "machine": w.machine, "profile": w.profile, "line": w.line} for w in worlds],
    }


# ---- --check


def _check(path: Path, *, json: bool) -> int:
    reader, check = Reader(path), Check()
    problems = check.run(reader)
    if json:
        document = {**facts(reader, check.worlds), "calls": check.calls, "processes": check.processes}
        print_json({**document, "findings": [problem.as_dict() for problem in problems]})
    else:
        _show_problems(problems, check)
    _tell_damage(reader)
    if problems:
        return FOUND
    return UNCERTAIN if reader.damaged_count else GOOD


def _show_problems(problems: list[Problem], check: Check) -> None:
    out = console()
    for problem in problems:
        times = f" ×{problem.count}" * (problem.count > 1)
        ranks = f", rank {_ranks(problem.ranks)}" if problem.ranks else ""
        head = f"{problem.kind}  {problem.rule + ' ' if problem.rule else ''}{problem.call}{times}"
        out.print(head, style="bold")
        out.print(f"  {problem.message}")
        out.print(f"  first in line {problem.line}{ranks}", style="dim")
    out.print(f"{check.calls} calls of {check.processes} processes: {len(problems) or 'no'} findings")


def _ranks(ranks: set[int]) -> str:
    shown = sorted(ranks)
    return ", ".join(map(str, shown[:8])) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")


# ---- the summary


def _summary(path: Path, *, json: bool) -> int:
    reader = Reader(path)
    summary = Summary.of(reader)
    if json:
        calls = [{"call": name, **total.as_dict()} for name, total in summary.by_time()]
        ranks = [{"rank": name, **total.as_dict()} for name, total in summary.by_rank()]
        print_json({**facts(reader, summary.worlds), "calls": calls, "ranks": ranks})
    else:
        out = console()
        for world in summary.worlds:
            out.print(f"{world.machine}, profile {world.profile} ({world.world})", style="bold")
        out.print(_table("call", summary.by_time()), "", _table("rank", summary.by_rank()), sep="\n")
    _tell_damage(reader)
    return GOOD


def _table(what: str, totals: list[tuple[str, Total]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(what, style="cyan", overflow="fold")
    for name in ("calls", "failed", "total ms", "mean µs", "longest ms", "waited ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, t in totals:
        numbers = (t.total_us / 1e3, t.total_us / t.count, t.longest_us / 1e3, t.waited_us / 1e3)
        table.add_row(name, str(t.count), str(t.failures), *(f"{number:.1f}" for number in numbers))
    return table
