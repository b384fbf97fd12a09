"""docs/causes/: a page for each cause, and the index by what one sees, by status and by call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from cumulticast.rules import Status
from cumulticast.why.causes import Cause, Reason, causes
from cumulticast.why.judge import ESTABLISHED
from pages.markdown import bullets, linked, page, table

CONFIDENCE = {
    "established": "established: source code, vendor documentation or a reproduction says so",
    "thread claim": "thread claim: a maintainer or reporter says so, not checked independently",
    "inferred": "inferred from reports or from driver source; nobody says it outright",
}


def pages() -> Iterator[tuple[str, str]]:
    """Make the path and the text of every page about causes."""
    yield "causes/index.md", index()
    for cause in causes().values():
        yield f"causes/{cause.slug}.md", cause_page(cause)


def cause_page(cause: Cause) -> str:
    """Show everything that is known of one cause."""
    facts = [
        ("verdict", cause.verdict),
        ("statuses", ", ".join(_status(code) for code in cause.statuses) or "none"),
        ("calls", ", ".join(f"`{call}`" for call in cause.calls) or "none in particular"),
        ("how well it is known", CONFIDENCE[cause.confidence]),
        ("rules of the software driver", linked(", ".join(cause.rules), "../rules/") or "none"),
    ]
    return page(
        cause.title,
        f"`cumulticast explain {cause.slug}`",
        cause.mechanism,
        table(("", ""), facts),
        "## How it shows\n\n" + table(("where", "what one sees"), cause.shows.items()),
        _list("## Check", cause.checks),
        _list("## Do", cause.remedies),
        _list("## What would settle it", cause.settle),
        "## What `explain` goes by\n\n" + _reasons(cause.reasons),
        _list("## Sources", cause.sources),
        "[All causes](index.md)",
    )


def _reasons(reasons: Iterable[Reason]) -> str:
    """Show the reasons as the data has them, the heaviest first."""
    rows = [(reason.weight, _conditions(reason.every), _conditions(reason.no)) for reason in reasons]
    note = f"A weight of {ESTABLISHED} and more makes it the answer if no other weighs more; below it is possible."
    return note + "\n\n" + table(("weight", "all of", "none of"), sorted(rows, key=lambda row: -row[0]))


def _conditions(conditions: Iterable[object]) -> str:
    return "; ".join(f"`{condition}`" for condition in conditions)


def _list(head: str, items: Iterable[str]) -> str:
    text = bullets(items)
    return f"{head}\n\n{text}" if text else ""


def _status(code: int) -> str:
    return f"{code} {Status(code).cuda_name}"


def index() -> str:
    """List the causes by what one sees, by status and by call."""
    by_status, by_call = defaultdict[int, list[str]](list), defaultdict[str, list[str]](list)
    for cause in causes().values():
        for code in cause.statuses:
            by_status[code].append(_link(cause))
        for call in cause.calls:
            by_call[call].append(_link(cause))
    seen = [(tool, text, _link(cause)) for cause in causes().values() for tool, text in cause.shows.items()]
    return page(
        "Why multicast fails: what you see, and what it is",
        f"{len(causes())} causes. `cumulticast explain FILE...` weighs them by what stands in your logs.",
        "## By what one sees\n\n" + table(("where", "what one sees", "cause"), sorted(seen)),
        "## By status\n\n"
        + table(("status", "causes"), [(_status(code), ", ".join(by_status[code])) for code in sorted(by_status)]),
        "## By call\n\n"
        + table(("call", "causes"), [(f"`{call}`", ", ".join(by_call[call])) for call in sorted(by_call)]),
        "## All\n\n" + table(("cause", "verdict", "title"), [_row(cause) for cause in causes().values()]),
    )


def _link(cause: Cause) -> str:
    return f"[{cause.slug}]({cause.slug}.md)"


def _row(cause: Cause) -> tuple[str, str, str]:
    return _link(cause), cause.verdict, cause.title
