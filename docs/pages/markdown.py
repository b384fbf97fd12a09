"""The few pieces of Markdown that the pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NOTICE = "<!-- Written by docs/generate.py (make docs); edit what it reads, not this file. -->"
CODE = re.compile(r"\bMC\d{3}\b")


def page(title: str, *blocks: str) -> str:
    """Join a title and blocks into a page."""
    return "\n\n".join([f"# {title}", NOTICE, *filter(None, blocks)]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Make a table; numbers and text are shown as they print."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


def cell(value: object) -> str:
    """Show a value inside of a table."""
    return " ".join(str(value).split()).replace("|", "\\|")


def bullets(items: Iterable[str]) -> str:
    """Make a list."""
    return "\n".join(f"- {item}" for item in items)


def linked(text: str, to: str = "", but: str = "") -> str:
    """Link every rule code in a text to its page, except ``but`` and what stands in indented code.

    Parameters
    ----------
    to
        Where the rules lie, seen from the page: ``rules/`` or nothing.
    """

    def link(found: re.Match[str]) -> str:
        return found[0] if found[0] == but else f"[{found[0]}]({to}{found[0]}.md)"

    return "\n".join(line if line.startswith("    ") else CODE.sub(link, line) for line in text.split("\n"))
