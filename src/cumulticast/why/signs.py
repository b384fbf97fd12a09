"""Signs: what makes a line worth a look, and what it then tells. Those of one line are data (``signs.toml``)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cumulticast.why.mentions import mentioned
from cumulticast.why.observation import Observation
from cumulticast.why.reading import Line

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what a quoted line must not do to a terminal
Reader = Callable[[Line], Iterator[Observation]]


@dataclass(frozen=True, slots=True)
class Sign:
    """A reader and when it is asked.

    Attributes
    ----------
    words
        Words (lower case) of which a line must hold one.
    every
        Whether all lines count; otherwise the first few thousand say all.
    """

    words: tuple[str, ...]
    read: Reader
    every: bool = False


def observed(line: Line, kind: str, text: str = "", **facts: str | None) -> Observation:
    """Make an observation of a line; facts that are None or empty are left out."""
    seen = line.seen
    return Observation(
        kind,
        line.place,
        _UNSEEN.sub("", text or seen.text).strip(),
        {name: value for name, value in facts.items() if value},
        seen.rank if seen.rank is not None else seen.local,
        seen.host,
        seen.time,
    )


def of_pattern(
    kind: str,
    words: tuple[str, ...],
    pattern: str,
    facts: Mapping[str, str],
    *,
    every: bool = False,
    spoken: bool = False,
) -> Sign:
    """Make the sign of one line: the named groups of the pattern become facts.

    What is also ``spoken`` of is not seen in lines that only mention it.
    """
    compiled = re.compile(pattern)

    def read(line: Line) -> Iterator[Observation]:
        found = compiled.search(line.text)
        if found and not (spoken and mentioned(line)):
            yield observed(line, kind, **{**facts, **found.groupdict()})

    return Sign(words, read, every)


@cache
def written() -> tuple[Sign, ...]:
    """Read ``signs.toml``."""
    table = tomllib.loads((files("cumulticast.why") / "signs.toml").read_text("utf-8"))
    return tuple(
        of_pattern(
            entry["kind"],
            tuple(entry["words"]),
            entry["pattern"],
            entry.get("facts", {}),
            every=entry.get("every", False),
            spoken=entry.get("spoken", False),
        )
        for entry in table["signs"]
    )
