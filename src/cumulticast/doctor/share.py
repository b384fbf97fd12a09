"""Make a report fit to be shown to strangers: no UUIDs, serial numbers, hosts, users, home paths, addresses."""

from __future__ import annotations

import getpass
import os
import re
import socket
from dataclasses import replace
from typing import Any, cast

from cumulticast.doctor.result import Report, Result

_HEX = r"[\da-fA-F]{1,4}"
_FULL, _SHORT = rf"{_HEX}(?::{_HEX}){{7}}", rf"(?:{_HEX}(?::{_HEX})*)?::(?:{_HEX}(?::{_HEX})*)?"  # of IPv6
_PATTERNS = (
    (re.compile(r"\b(?:GPU-|MIG-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "UUID"),
    (re.compile(r"(?<![\w/])/(?:home|Users)/[^/\s:'\"]+"), "~"),
    (re.compile(r"(?<![\w/])/root(?=/|\b)"), "~"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b(?!\.\d)"), "ADDRESS"),
    (re.compile(rf"(?<![\w:.])(?=[\da-fA-F:]*[\da-fA-F])(?:{_FULL}|{_SHORT})(?![\w:])"), "ADDRESS"),
    (re.compile(r"(?<![\w:])(?:[\da-fA-F]{2}:){5}[\da-fA-F]{2}(?![\w:])"), "ADDRESS"),  # of a network card
)


def shareable(report: Report) -> Report:
    """Answer the report without what names this machine or its people."""
    names = _names()
    results = tuple(_result(result, names) for result in report.results)
    return replace(report, results=results, why=_text(report.why, names))


def _result(result: Result, names: tuple[tuple[str, str], ...]) -> Result:
    details = {key: _value(value, names) for key, value in result.details.items()}
    return replace(result, summary=_text(result.summary, names), details=details)


def _names() -> tuple[tuple[str, str], ...]:
    """Answer the words of this machine and what stands in their place; longer ones first."""
    words = {os.path.expanduser("~"): "~", socket.gethostname(): "HOST", socket.getfqdn(): "HOST"}
    words[socket.gethostname().partition(".")[0]] = "HOST"
    try:
        words.setdefault(getpass.getuser(), "USER")
    except (OSError, KeyError):  # a user id without a name
        words.setdefault(str(os.getuid()), "USER")
    kept = {word: shown for word, shown in words.items() if len(word) > 2 and word not in ("root", "localhost")}
    return tuple(sorted(kept.items(), key=lambda item: -len(item[0])))


def _value(value: Any, names: tuple[tuple[str, str], ...]) -> Any:
    if isinstance(value, str):
        return _text(value, names)
    if isinstance(value, (list, tuple)):
        return [_value(item, names) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        return {_text(key, names): _value(item, names) for key, item in found.items()}
    return value


def _text(text: str, names: tuple[tuple[str, str], ...]) -> str:
    for word, shown in names:
        edge = r"" if word.startswith("/") else r"(?<![A-Za-z0-9])"
        text = re.sub(edge + re.escape(word) + r"(?![A-Za-z0-9])", shown, text)
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text
