"""Run checks: each is guarded, so that a crash or a hang is a result like any other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import cumulticast
from cumulticast.doctor.register import Check, checks
from cumulticast.doctor.result import Report, Result
from cumulticast.doctor.verdict import judge

TIME_LIMIT = 30.0  # seconds for one check; cuInit alone takes several on a machine with eight GPUs


def examine(
    names: Sequence[str] = (), *, time_limit: float = TIME_LIMIT, heard: Callable[[Result], None] | None = None
) -> Report:
    """Run checks and judge what they found.

    Parameters
    ----------
    names
        Which; all of them when empty.
    time_limit
        Seconds that one check may take.
    heard
        Called with each result as it comes.

    Raises
    ------
    KeyError
        There is no check of that name.
    """
    wanted = [checks()[name] for name in dict.fromkeys(names)] or list(checks().values())
    results: list[Result] = []
    for check in wanted:
        results.append(run(check, time_limit))
        if heard is not None:
            heard(results[-1])
    return Report(tuple(results), *judge(results))


def run(check: Check, time_limit: float = TIME_LIMIT) -> Result:
    """Run one check, apart if it wants to be."""
    return _apart(check, time_limit) if check.apart else guarded(check)


def guarded(check: Check) -> Result:
    """Run a check here; what it raises is its result."""
    try:
        return check.function()
    except Exception as error:
        where = traceback.format_exception_only(error)[-1].strip()
        return Result(check.name, "crashed", f"the check failed: {where}", {"traceback": traceback.format_exc()})


def _apart(check: Check, time_limit: float) -> Result:
    """Run a check in a process of its own and read its result from there."""
    command = [sys.executable, "-m", "cumulticast.doctor.child", check.name, str(os.getpid())]
    process = subprocess.Popen(
        command, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=time_limit)
    except subprocess.TimeoutExpired:
        _end(process)
        summary = f"no answer within {time_limit:g} s: the call hangs"
        return Result(check.name, "crashed", summary, {"limit": time_limit})
    except BaseException:  # Ctrl-C: the caller may live on
        _end(process)
        raise
    return _read(check, process.returncode, out, err)


def _end(process: subprocess.Popen[str]) -> None:
    """End a check and what it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _environment() -> dict[str, str]:
    """Let the child find this package; what it is told about multicast by the environment stays."""
    here = str(Path(cumulticast.__file__).parents[1])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def _read(check: Check, code: int, out: str, err: str) -> Result:
    lines = out.strip().splitlines()
    try:
        return Result.from_dict(json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError, KeyError):
        ended = f"was ended by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
        return Result(check.name, "crashed", f"the check {ended}", {"stderr": err[-2000:]})
