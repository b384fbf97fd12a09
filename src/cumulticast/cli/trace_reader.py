"""Read a trace as a stream: lines of any origin become records, or are counted as damaged.

A trace can be cut off (a full disk, a killed program) and can be edited; nothing in it is believed before its type is
known. Memory does not grow with the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeGuard, cast

SCHEMA = 1
LONGEST = 1 << 20  # bytes of a line; the driver's longest has some thousand
CALL = re.compile(r"cu[A-Za-z0-9_]{1,80}")
SUFFIX = re.compile(r"(_v\d+)?(_pt[sd][sz])?$")
HEAD = b'{"t": '  # how every line begins: inside of one it stands for a line that was cut off
Fields = Mapping[str, Any]
NONE: Fields = {}


class Unreadable(Exception):
    """The file is no trace, or not of this version; the text says what is wrong with its header."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a world's trace."""

    line: int
    machine: str
    world: str
    profile: str


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule and what was said: of a finding, or of a refusal (whose rule can be None)."""

    rule: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Record:
    """One call. ``t`` in seconds, durations in microseconds; ``call`` is the C symbol."""

    line: int
    t: float
    rank: int | None
    pid: int
    tid: int
    call: str
    args: Fields
    out: Fields
    status: int
    duration_us: float
    findings: tuple[Reason, ...] = ()
    refused: Reason | None = None
    objects: Fields = field(default_factory=lambda: NONE)
    waited_us: float = 0.0

    @property
    def base(self) -> str:
        """The call's name without version: both forms of a bind are binds."""
        return base_of(self.call)

    @property
    def end(self) -> float:
        """When the call was over, in seconds."""
        return self.t + self.duration_us / 1e6

    @property
    def who(self) -> str:
        """The rank, or the process where it has none."""
        return f"pid {self.pid}" if self.rank is None else f"rank {self.rank}"

    def number(self, name: str) -> int | None:
        """Answer an argument, or an output, that is a whole number."""
        for fields in (self.args, self.out):
            value = fields.get(name)
            if _whole(value):
                return value
        return None

    def identity(self, name: str) -> tuple[int, int]:
        """Answer what tells the object behind a handle from all others: its number, or the process and the handle."""
        obj = self.objects.get(name)
        return (0, obj) if _whole(obj) else (self.pid, self.number(name) or 0)


class Reader:
    """Iterate over a file's headers and records.

    Attributes
    ----------
    lines
        How many lines were read.
    damaged
        The numbers of the first damaged lines; ``damaged_count`` counts all.
    cut_off
        Whether the last line is not whole.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lines = 0
        self.damaged: list[int] = []
        self.damaged_count = 0
        self.cut_off = False

    def __iter__(self) -> Iterator[Header | Record]:
        """Read from the beginning.

        Raises
        ------
        Unreadable
            The header is missing or damaged, or of another version.
        OSError
            The file cannot be read.
        """
        with self._path.open("rb") as file:
            yield read_header(file.readline(LONGEST), 1)
            self.lines = 1
            yield from self._rest(file)

    def _rest(self, file: BinaryIO) -> Iterator[Header | Record]:
        while raw := file.readline(LONGEST):
            self.lines += 1
            if not raw.endswith(b"\n"):
                if len(raw) < LONGEST:
                    self.cut_off = True
                    return
                while raw and not raw.endswith(b"\n"):  # too long to be a line of ours
                    raw = file.readline(LONGEST)
                self._note_damage()
                continue
            yield from self._line(raw)

    def _line(self, raw: bytes) -> Iterator[Header | Record]:
        found = read_line(raw, self.lines)
        if found is None:
            self._note_damage()
            behind = raw.rfind(HEAD, 1)
            found = read_line(raw[behind:], self.lines) if behind > 0 else None
        if found is not None:
            yield found

    def _note_damage(self) -> None:
        self.damaged_count += 1
        if len(self.damaged) < 10:
            self.damaged.append(self.lines)


# ---- one line


@lru_cache(maxsize=4096)
def base_of(symbol: str) -> str:
    """Answer a C symbol without its version and its default stream's."""
    return SUFFIX.sub("", symbol)


def parsed(raw: bytes) -> Fields | None:
    """Parse one JSON object; None for everything else."""
    try:
        found = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        return None
    return cast("Fields", found) if isinstance(found, dict) else None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def read_header(raw: bytes, line: int) -> Header:
    """Read the first line."""
    fields = parsed(raw)
    if fields is None or "schema" not in fields:
        raise Unreadable("its first line is no header of a trace")
    if fields["schema"] != SCHEMA:
        raise Unreadable(f"it has schema {clean(str(fields['schema']))}, this version reads {SCHEMA}")
    values = [fields.get(name) for name in ("machine", "world", "profile")]
    if not all(isinstance(value, str) for value in values):
        raise Unreadable("its header lacks the machine, the world or the profile")
    return Header(line, *(clean(str(value)) for value in values))


def read_line(raw: bytes, line: int) -> Header | Record | None:
    """Read one line; None when it is damaged."""
    fields = parsed(raw)
    if fields is None:
        return None
    if "schema" in fields:
        try:
            return read_header(raw, line)
        except Unreadable:
            return None
    return _record(fields, line)


def _record(fields: Fields, line: int) -> Record | None:
    get = fields.get
    call, rank, t, duration = get("call"), get("rank"), get("t"), get("duration_us")
    sound = (
        isinstance(call, str)
        and CALL.fullmatch(call) is not None
        and all(_whole(get(name)) for name in ("pid", "tid", "status"))
        and (rank is None or _whole(rank))
        and _real(t)
        and _real(duration)
        and isinstance(get("args"), dict)
        and isinstance(get("out"), dict)
        and "finding" in fields
    )
    if not sound:
        return None
    more = get("more_findings")
    told = [get("finding"), *(cast("list[Any]", more) if isinstance(more, list) else [])]
    waited, objects = get("waited_us", 0.0), get("objects")
    return Record(
        line,
        cast("float", t),
        rank,
        fields["pid"],
        fields["tid"],
        cast("str", call),
        fields["args"],
        fields["out"],
        fields["status"],
        cast("float", duration),
        tuple(reason for reason in map(_reason, told) if reason),
        _reason(get("refused")),
        cast("Fields", objects) if isinstance(objects, dict) else NONE,
        waited if _real(waited) else 0.0,
    )


def _reason(value: Any) -> Reason | None:
    if not isinstance(value, dict):
        return None
    fields = cast("Fields", value)
    rule, message = fields.get("rule"), fields.get("message")
    if not isinstance(message, str) or not (rule is None or isinstance(rule, str)):
        return None
    return Reason(None if rule is None else clean(rule), clean(message))


def _whole(value: Any) -> TypeGuard[int]:
    return type(value) is int and abs(value) < 1 << 64


def _real(value: Any) -> TypeGuard[float]:
    return _whole(value) or (type(value) is float and math.isfinite(value) and abs(value) < 1e15)


def clean(text: str) -> str:
    """Make text fit to be shown: what a terminal would take for a command becomes a question mark."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
