"""``cumulticast explain``: from logs, a status, a call, a rule or a cause to what it means and what to do.

Exit codes: 0 the text is healthy or about something else, or a question was answered; 1 a fault, or a machine without
multicast; 2 usage; 3 the text does not decide.
"""

from __future__ import annotations

import argparse
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO

from cumulticast.cli.answers import FOUND, GOOD, INTERRUPTED, UNCERTAIN, UsageError, complain, console, print_json
from cumulticast.why import Diagnosis, Question, answer, explain_streams, question
from cumulticast.why.question import nearest

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
    if not asked.empty and not any(os.path.exists(word) for word in args.what):
        return _say(_answered(asked), as_json=args.json, code=GOOD)
    try:
        diagnosis = _pasted(args.what) or _read(args.what)
    except KeyboardInterrupt:
        complain("explain: interrupted")
        return INTERRUPTED
    return _say(diagnosis, as_json=args.json, code=EXIT[diagnosis.verdict])


def _pasted(words: Sequence[str]) -> Diagnosis | None:
    """Read words that are no files as a text, if they tell anything: a line of a log, pasted."""
    text = " ".join(words)
    if not re.search(r"\s", text) or any(word == "-" or os.path.exists(word) for word in words):
        return None
    found = explain_streams([("text", io.BytesIO(text.encode("utf-8", "surrogateescape")))])
    return found if found.evidence else None


def _read(words: Sequence[str]) -> Diagnosis:
    """Read inputs together."""
    with ExitStack() as opened:
        return explain_streams([(_name(word), opened.enter_context(_open(word))) for word in words])


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
    try:
        return open(0, "rb", closefd=False) if word == "-" else open(word, "rb")
    except FileNotFoundError:
        raise UsageError(_no_file(word)) from None
    except (OSError, ValueError) as error:
        shown = _name(word) if len(word) < 100 else f"{word[:100]}..."
        raise UsageError(f"{shown}: {getattr(error, 'strerror', None) or error}") from None


def _no_file(word: str) -> str:
    """Say what a word that is no file might have been meant to be."""
    if not question([word]).empty:
        return f"{word!r} is a question and no file; questions and files are not read together"
    near = nearest(word)
    return f"{word!r} is no file, rule, status, call or cause{f'; nearest {near}' if near else ''}; - reads stdin"


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
