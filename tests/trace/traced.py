"""Run programs with a trace, read it back, and write small traces by hand."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import clean_environment, cumulticast

Line = dict[str, Any]
HEADER = {"schema": 1, "machine": "hgx-h100-8", "world": "/dev/shm/w", "profile": "hardware"}
KEYS = ["t", "rank", "pid", "tid", "call", "args", "out", "status", "duration_us", "finding"]


@dataclass(frozen=True, slots=True)
class Traced:
    """A program that has run, and what its trace says."""

    done: subprocess.CompletedProcess[str]
    path: Path
    header: Line
    lines: list[Line]

    def of(self, call: str) -> list[Line]:
        """Answer the lines of one call, whichever version."""
        return [line for line in self.lines if line["call"].startswith(call)]


def read(path: Path) -> tuple[Line, list[Line]]:
    header, *lines = map(json.loads, path.read_text().splitlines())
    return header, lines


def run_traced(place: Path, *command: str, options: tuple[str, ...] = (), env: dict[str, str] | None = None) -> Traced:
    path = place / "trace.jsonl"
    done = cumulticast("run", "--trace", str(path), *options, "--", *command, env=env)
    return Traced(done, path, *read(path))


def python_traced(
    place: Path, code: str, *options: str, env: dict[str, str] | None = None, code_of_exit: int = 0
) -> Traced:
    traced = run_traced(place, sys.executable, "-c", textwrap.dedent(code), options=options, env=env)
    assert traced.done.returncode == code_of_exit, traced.done.stderr
    return traced


def line(call: str, args: Line | None = None, out: Line | None = None, status: int = 0, **more: Any) -> Line:
    """Make one line of a trace as the driver writes it."""
    made = {"t": 0.0, "rank": 0, "pid": 100, "tid": 100, "call": call, "args": args or {}, "out": out or {}}
    return {**made, "status": status, "duration_us": 10.0, "finding": None, **more}


def write(path: Path, *lines: Line | str, header: Any = HEADER) -> Path:
    """Write a trace; the time of a line without one is its number in milliseconds."""
    texts = []
    for number, one in enumerate(lines, 2):
        if isinstance(one, dict) and one.get("t") == 0.0:
            one = {**one, "t": number / 1000}
        texts.append(one if isinstance(one, str) else json.dumps(one))
    path.write_text("".join(text + "\n" for text in [json.dumps(header), *texts]))
    return path


def environment(path: Path) -> dict[str, str]:
    return clean_environment(CUMULTICAST_TRACE=str(path))
