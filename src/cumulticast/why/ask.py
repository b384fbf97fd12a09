"""The doors of the room: `explain` for texts, files and questions, `hint` for one line on an error."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from cumulticast.rules import Status, find
from cumulticast.why import page, readers
from cumulticast.why.derive import derive
from cumulticast.why.diagnosis import Diagnosis
from cumulticast.why.judge import judge
from cumulticast.why.notes import Notes
from cumulticast.why.question import question
from cumulticast.why.reading import telling_lines

What = str | bytes | bytearray | int | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def explain(what: What) -> Diagnosis:
    """Say what happened in a text, in files, or what a status, call or rule means.

    Parameters
    ----------
    what
        A path or several (read together as one story); bytes or a text of a log; or a question: a rule code
        (``"MC304"``), a status (``401``, ``"401"``, ``"system not yet initialized"``), a call, or a call and a status
        (``"cuMulticastBindMem 802"``). A string that is a question is one, then a path that exists, then a text.

    Returns
    -------
    Diagnosis
        To a question the verdict is ``uncertain``, since nothing was looked at, and the causes are ranked.

    Raises
    ------
    OSError
        A file that is given as a path cannot be read.
    KeyError
        A rule code that does not exist; the text names the nearest.
    """
    if isinstance(what, (bytes, bytearray)):
        return explain_streams([("text", io.BytesIO(what))])
    if isinstance(what, (str, int)):
        return _of_words(str(int(what)) if isinstance(what, int) else what)
    if isinstance(what, os.PathLike):
        return explain_files([what])
    return explain_files(list(what))


def _of_words(text: str) -> Diagnosis:
    asked = question([text])
    if not asked.empty:
        return page.answer(asked)
    if "\n" not in text and len(text) < 4096 and "\0" not in text and Path(text).is_file():
        return explain_files([text])
    return explain_streams([("text", io.BytesIO(text.encode("utf-8", "surrogateescape")))])


def explain_files(paths: Sequence[str | os.PathLike[str]]) -> Diagnosis:
    """Read files together as one story; each is cited by the name under which it is given."""
    with ExitStack() as opened:
        return explain_streams([(os.fspath(path), opened.enter_context(open(path, "rb"))) for path in paths])


def explain_streams(inputs: Iterable[tuple[str, BinaryIO]]) -> Diagnosis:
    """Read open inputs together: (the name to cite them by, the stream)."""
    return judge(observe(inputs))


def observe(inputs: Iterable[tuple[str, BinaryIO]]) -> Notes:
    """Answer what the readers see, completed, without a judgement."""
    notes, session = Notes(), readers.Session()
    for name, stream in inputs:
        notes.inputs += 1
        for line in telling_lines(
            stream, name, session.words, lambda why, name=name: notes.unread.append(f"{name} {why}")
        ):
            notes.add(session.read(line))
    derive(notes)
    return notes


def hint(call: str, status: int, rule: str | None = None) -> str | None:
    """Say in one line what to check first when a call answers a status; None when no cause is known for it.

    Parameters
    ----------
    call
        The C name or the name in cuda.bindings, such as ``multicast_bind_mem``.
    status
        The CUresult.
    rule
        The rule that the driver named, if it did. Then only a cause of this very rule is a likely one, or, if the
        rule is about the state of the system, any that goes with the status: misuse has no other cause.
    """
    asked = question([call])
    found = [cause for cause in page.likely(asked.call, status) if asked.call in cause.calls] if asked.call else []
    if rule is not None and find(rule).kind != "limit":
        if status == Status.INVALID_VALUE:
            return None  # a wrong argument, which the rule has told in full
        found = [cause for cause in found if rule in cause.rules]
    if not found:
        return None
    first = found[0]
    check = f" First check: {first.checks[0]}." if first.checks else ""
    return f"likely cause: {first.title} ({first.slug}).{check} More: cumulticast explain {asked.call} {status}"
