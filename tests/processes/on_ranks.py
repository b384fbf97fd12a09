"""Run a snippet of Python in each rank of `cumulticast run --ranks`, and collect what the ranks tell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "cli"))

from command_line import clean_environment  # noqa: E402

LIMIT = 50.0
COMMAND = (sys.executable, "-m", "cumulticast.cli")
PRELUDE = f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom prelude import *\n"


@dataclass(frozen=True, slots=True)
class Done:
    """How a job ended: exit code, both outputs, and what each rank told, in order."""

    code: int
    out: str
    err: str
    told: dict[int, list[dict[str, Any]]] = field(default_factory=dict[int, list[dict[str, Any]]])

    def each(self, name: str) -> list[Any]:
        """Answer what every rank told under a name, by rank."""
        return [facts[name] for rank in sorted(self.told) for facts in self.told[rank] if name in facts]


def words(snippet: str, ranks: int, *options: str) -> list[str]:
    """Answer the command line that runs a snippet on ranks."""
    code = PRELUDE + textwrap.dedent(snippet)
    return [*COMMAND, "run", "--ranks", str(ranks), *options, "--", sys.executable, "-c", code]


def on_ranks(
    snippet: str, ranks: int, *options: str, meeting: Path | None = None, limit: float = LIMIT, **env: str
) -> Done:
    """Run a snippet on ranks to its end."""
    return finished(words(snippet, ranks, *options), environment(meeting, **env), limit)


def environment(meeting: Path | None, **env: str) -> dict[str, str]:
    return clean_environment(**env, **({} if meeting is None else {"MEETING": str(meeting)}))


def finished(command: list[str], env: dict[str, str], limit: float = LIMIT) -> Done:
    """Run a command to its end; when it takes too long it is ended with all its ranks, and the test fails."""
    with started(command, env) as process:
        out, err = process.communicate(timeout=limit)
    return Done(process.returncode, out, err, told_in(out))


@contextmanager
def started(command: list[str], env: dict[str, str], **popen: Any) -> Generator[subprocess.Popen[str]]:
    """Run a command in a session of its own; whatever is left of it at the end is killed."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **popen}
    process = subprocess.Popen(command, env=env, text=True, errors="surrogateescape", start_new_session=True, **pipes)
    try:
        yield process
    finally:
        with_group_killed(process)


def with_group_killed(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):  # nothing is left: the good case
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait(10)


def told_in(output: str) -> dict[int, list[dict[str, Any]]]:
    """Read the lines of `prelude.tell` out of an output."""
    told: dict[int, list[dict[str, Any]]] = {}
    for line in output.splitlines():
        prefix, mark, document = line.partition("] @")
        if mark:
            told.setdefault(int(prefix.removeprefix("[rank ")), []).append(json.loads(document))
    return told


def eventually(holds: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Ask again and again until the answer is true; fail after a while."""
    end = time.monotonic() + seconds
    while not (answer := holds()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return answer


def lives(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
