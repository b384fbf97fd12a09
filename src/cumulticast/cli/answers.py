"""What commands have in common: exit codes, usage errors, JSON, and a console of a fixed shape."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

GOOD, FOUND, USAGE, UNCERTAIN = 0, 1, 2, 3
INTERRUPTED = 130  # as shells say that Ctrl-C ended a command
SCHEMA = 1
WIDTH = 80


class UsageError(Exception):
    """The command cannot be meant so. The text says what is wrong and what would do; exit code 2."""


def complain(message: str) -> None:
    """Say on stderr what is wrong."""
    print(f"cumulticast {message}", file=sys.stderr)


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document with its schema number."""
    print(json.dumps({"schema": SCHEMA, **document}, indent=2))


def console() -> Console:
    """Make the console for results: at most 80 columns wide, 80 in a pipe; rich heeds NO_COLOR."""
    from rich.console import Console

    if reconfigure := getattr(sys.stdout, "reconfigure", None):  # what the terminal has no letters for is escaped
        reconfigure(errors="backslashreplace")
    made = Console(highlight=False, soft_wrap=False, emoji=False, markup=False)
    made.width = min(made.width, WIDTH) if made.is_terminal else WIDTH
    made.on_broken_pipe = _reader_left  # rich would exit with 1, which is an answer
    return made


def _reader_left() -> None:
    """Leave it to `main` what a reader means that has gone away."""
    raise BrokenPipeError
