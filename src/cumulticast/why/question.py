"""Find out what the words of a question are: a rule code, a status, a call, a call with a status, or inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cumulticast.rules.status import Status
from cumulticast.why.calls import CALLS, call_in, snake_call
from cumulticast.why.causes import causes
from cumulticast.why.statuses import names, status_in, wordings

_RULE = re.compile(r"(?i)^MC\d{3}$")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked when it is no text: any of these, or none.

    Attributes
    ----------
    rule
        A rule code in capitals, such as ``MC304``; it need not exist.
    call
        The C name of a driver function.
    status
        A CUresult.
    cause
        The slug of a cause.
    """

    rule: str | None = None
    call: str | None = None
    status: Status | None = None
    cause: str | None = None

    @property
    def empty(self) -> bool:
        """Whether the words are no question."""
        return self == Question()


def question(words: Sequence[str]) -> Question:
    """Read words; one that fits nothing makes an empty question."""
    text = " ".join(words).strip()
    if _RULE.match(text):
        return Question(rule=text.upper())
    if text in causes():
        return Question(cause=text)
    if len(text) > 200 or "\n" in text:
        return Question()
    status = _status(text)
    if status is not None:
        return Question(status=status)
    head, _, rest = text.partition(" ")
    call = _call(head)
    if call is None:
        return Question()
    rest = rest.strip()
    return Question(call=call, status=_status(rest)) if not rest or _status(rest) is not None else Question()


def _status(text: str) -> Status | None:
    """Read a status: ``401``, ``CUDA_ERROR_SYSTEM_NOT_READY``, ``ILLEGAL_STATE``, its wording."""
    bare = text.strip().strip("'\"").rstrip(".")
    if bare.isdecimal():
        return Status(int(bare)) if int(bare) in list(map(int, Status)) else None
    upper = bare.upper().replace(" ", "_")
    for name in (upper, f"CUDA_ERROR_{upper}"):
        if name in names():
            return Status(names()[name])
    for wording, code in wordings():
        if bare.lower() == wording:
            return Status(code)
    return Status(found) if re.fullmatch(r"cudaError\w+", bare) and (found := status_in(bare)) else None


def _call(word: str) -> str | None:
    bare = word.rstrip("(),:")
    folded = {call.lower(): call for call in CALLS}
    return folded.get(re.sub(r"_v\d$", "", bare.lower())) or snake_call(bare.rpartition(".")[2]) or call_in(bare)
