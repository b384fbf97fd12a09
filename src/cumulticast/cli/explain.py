"""``cumulticast explain``: from logs, a status, a call, a rule or a cause to what it means and what to do.

Exit codes: 0 the text is healthy or about something else, or a question was answered; 1 a fault, or a machine without
multicast; 2 usage; 3 the text does not decide.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from cumulticast.cli.answers import FOUND, GOOD, UNCERTAIN, UsageError, console, print_json
from cumulticast.why import Diagnosis, Question, answer, explain_streams, question

EXIT = {"healthy": GOOD, "unrelated": GOOD, "fault": FOUND, "unsupported": FOUND, "uncertain": UNCERTAIN}


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = (
        "exit codes: 0 healthy, unrelated, or a question answered; 1 a fault, or no multicast here; 2 usage; "
        "3 the text does not decide"
    )
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help="files that are read together, - for stdin; or a rule (MC304), a status (401, CUDA_ERROR_ILLEGAL_STATE, "
        "'system not yet initialized'), a call, a call and a status (cuMulticastBindMem 802), a cause",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    """Answer a question or read inputs."""
    asked = question(args.what)
    if not asked.empty and not any(Path(word).is_file() for word in args.what):
        return _say(_answered(asked), as_json=args.json, code=GOOD)
    with ExitStack() as opened:
        diagnosis = explain_streams([(_name(word), opened.enter_context(_open(word))) for word in args.what])
    return _say(diagnosis, as_json=args.json, code=EXIT[diagnosis.verdict])


def _answered(asked: Question) -> Diagnosis:
    try:
        return answer(asked)
    except KeyError as error:  # a rule that does not exist
        raise UsageError(str(error.args[0])) from None


def _name(word: str) -> str:
    return "stdin" if word == "-" else word


def _open(word: str) -> BinaryIO:
    """Open an input.

    Raises
    ------
    UsageError
        It is neither a file that can be read nor part of a question.
    """
    if word == "-":
        return open(sys.stdin.fileno(), "rb", closefd=False)
    try:
        return open(word, "rb")
    except FileNotFoundError:
        raise UsageError(f"{word!r} is no file, rule, status, call or cause; - reads stdin") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{word}: {getattr(error, 'strerror', None) or error}") from None


def _say(diagnosis: Diagnosis, *, as_json: bool, code: int) -> int:
    if as_json:
        print_json(diagnosis.as_dict())
    else:
        _show(diagnosis)
    return code


def _show(diagnosis: Diagnosis) -> None:
    """Print it: a headline, what failed, why, then lists; a paragraph is one line, which terminals wrap."""
    out = console()
    head, *rest = str(diagnosis).split("\n")
    out.print(head, style="bold", soft_wrap=True)
    for line, style in _styled(rest):
        out.print(line, style=style, soft_wrap=True)


def _styled(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give the heads of lists a colour."""
    for before, line in zip(["", *lines], lines, strict=False):
        is_head = not before and line.endswith(":")
        yield line, "cyan" if is_head else ""
