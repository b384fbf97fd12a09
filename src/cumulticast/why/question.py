"""Find out what the words of a question are: a rule code, a status, a call, a call with a status, or inputs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from cumulticast.rules import all_rules
from cumulticast.rules.status import Status
from cumulticast.rules.text import python_name
from cumulticast.why.calls import CALLS
from cumulticast.why.causes import causes
from cumulticast.why.statuses import names, status_in, wordings

LONGEST = 200  # characters of a question
_RULE = re.compile(r"(?i)^\W*(?P<code>MC\d{3,4})\W*$")
_LEAD = re.compile(r"(?i)^(?:cuda )?(?:error|status|code|curesult)[ :=]+(?=\w+$)")
#: ``ERROR_INVALID_VALUE (1)``, ``401 (CUDA_ERROR_ILLEGAL_STATE)``, ``InvalidValueError: ERROR_INVALID_VALUE (1)``.
_PAIR = re.compile(r"^(?:[\w.]+Error: )?(?P<first>[\w.]+)[ :,]+\(?(?P<second>[^()]+)\)?$")
_EXCEPTION = re.compile(r"(?:[\w.]+\.)?(?P<name>[A-Z][A-Za-z]+)Error")
_SAID = r"(?:->|=>|[=:])"
_WITH_CALL = (
    re.compile(rf"^(?P<call>[\w.]+)(?:\(\))?,?:?(?:\s+(?:{_SAID}\s+)?(?P<status>.+))?$"),
    re.compile(r"^(?P<call>[\w.]+)\((?P<status>[^()]*)\)$"),
    re.compile(r"^(?P<status>.+?)\s+(?:from)?\s*(?P<call>[\w.]+)(?:\(\))?$"),
)


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
    if len(text) > LONGEST or "\n" in text:
        return Question()
    if rule := _RULE.match(text):
        return Question(rule=rule["code"].upper())
    slug = re.sub(r"[ _]+", "-", text.lower())
    if slug in causes():
        return Question(cause=slug)
    status = _status(text)
    return _of_call(text) if status is None else Question(status=status)


def nearest(word: str) -> str | None:
    """Name the rule, status, call or cause that a word is nearest to; None when it is like none."""
    known = [
        *(rule.code for rule in all_rules()),
        *(status.cuda_name for status in Status),
        *_calls().values(),
        *causes(),
    ]
    by_fold = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), list(by_fold), n=1, cutoff=0.75)
    return by_fold[near[0]] if near else None


def _of_call(text: str) -> Question:
    """Read a call, or a call and a status in either order."""
    for pattern in _WITH_CALL:
        found = pattern.match(text)
        call = _call(found["call"]) if found else None
        if found is None or call is None:
            continue
        if not (rest := found["status"]):
            return Question(call=call)
        status = _status(rest)
        if status is not None:
            return Question(call=call, status=status)
    return Question()


def _status(text: str) -> Status | None:
    """Read a status: ``401``, ``CUDA_ERROR_SYSTEM_NOT_READY``, ``ILLEGAL_STATE``, its wording, or two of them."""
    bare = _LEAD.sub("", text.strip())
    if one := _single(bare):
        return one
    pair = _PAIR.match(bare)
    if pair is None:
        return _zero(bare)
    first, second = _single(pair["first"]), _single(pair["second"])
    return first if first is not None and first == second else None


def _zero(text: str) -> Status | None:
    """Read the status that is no failure."""
    return Status(0) if text.upper() in ("0", "SUCCESS", "CUDA_SUCCESS") else None


def _single(text: str) -> Status | None:
    """Read a failing status in one of its forms."""
    bare = text.strip().strip("'\"").rstrip(".")
    if bare.isdecimal() and bare.isascii():
        code = int(bare)
        return Status(code) if code and code in list(map(int, Status)) else None
    upper = bare.upper().replace(" ", "_")
    for name in (upper, f"CUDA_ERROR_{upper}"):
        if name in names():
            return Status(names()[name])
    for wording, code in wordings():
        if bare.lower() == wording:
            return Status(code)
    if named := _EXCEPTION.fullmatch(bare):
        return _single(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", named["name"]))
    return Status(found) if re.fullmatch(r"cudaError\w+", bare) and (found := status_in(bare)) else None


@cache
def _calls() -> dict[str, str]:
    """Answer folded name → C name without its version, of the calls of causes and rules."""
    ruled = {call.partition("_v")[0] for rule in all_rules() for call in rule.calls if call.startswith("cu")}
    known = sorted({*CALLS, *ruled})
    return {**{python_name(call): call for call in known}, **{call.lower(): call for call in known}}


def _call(word: str) -> str | None:
    bare = re.sub(r"_v\d$", "", word.rstrip("(),:"))
    return _calls().get(bare.rpartition(".")[2].lower())
