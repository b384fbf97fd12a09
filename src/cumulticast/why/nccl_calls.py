"""Which driver call stands at ``file:line`` of which NCCL version (read from the sources of 31 releases)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

Lines = Mapping[str, Mapping[str, str]]
BEHIND = 4  # of a statement over several lines compilers report the last


@cache
def line_map() -> Mapping[str, Lines]:
    """Answer version → file → line → call."""
    return json.loads((files("cumulticast.why") / "nccl_lines.json").read_text("utf-8"))


def call_at(version: str | None, file: str, line: int) -> str | None:
    """Name the call at a line; without a version only if all versions that know the line agree.

    Parameters
    ----------
    version
        Such as ``2.27.3``. One that is not in the map is read as its nearest older neighbour of the same minor.
    file, line
        As the log has them: ``transport/nvls.cc``, 254.
    """
    if version is not None:
        known = _nearest(version)
        return _within(line_map()[known], file, line) if known else None
    calls = {_within(lines, file, line, behind=0) for lines in line_map().values()} - {None}
    return calls.pop() if len(calls) == 1 else None


def _nearest(version: str) -> str | None:
    if version in line_map():
        return version
    wanted = _key(version)
    same = [known for known in line_map() if _key(known)[:2] == wanted[:2] and _key(known) <= wanted]
    return max(same, key=_key, default=None)


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _within(lines: Lines, file: str, line: int, behind: int = BEHIND) -> str | None:
    """Look at the line itself, then at the few before it, then behind it."""
    path = next((path for path in lines if path == file or path.endswith("/" + file)), None)
    if path is None:
        return None
    known = lines[path]
    for offset in (0, *range(-1, -behind - 1, -1), *range(1, behind + 1)):
        if str(line + offset) in known:
            return known[str(line + offset)]
    return None
