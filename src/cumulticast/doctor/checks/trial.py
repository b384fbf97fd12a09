"""A trial on a simulated machine: make an object over all devices, bind, map, and ask for a fabric handle.

On a real driver nothing is tried: a multicast object that fails half-way can take a machine's GPUs out of service, and
the doctor only queries there.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from cumulticast.doctor import ask
from cumulticast.doctor.checks import fabric
from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result
from cumulticast.doctor.steps import Steps

RETRIES, PAUSE = 3, 0.5  # a stall of some seconds is seen as one when a later try succeeds, or the fabric is complete
NOT_READY = (802, 919)
RULE = re.compile(r"\bMC\d{3,4}\b")
STALE = "their registration is stale"


@check("trial", "a multicast object over all devices, on simulated machines only", apart=True)
def trial() -> Result:
    """Bring a team up, and take it down again."""
    with tempfile.TemporaryDirectory() as directory:
        os.environ["CUDA_LOG_FILE"] = log = os.path.join(directory, "cuda.log")
        try:
            cuda = ask.driver()
            if ask.ours() is None:
                summary = "a real driver: the doctor only queries, and makes no multicast object there"
                return Result("trial", "not-available", summary)
            return _tried(Steps(cuda), Path(log))
        except ask.Unavailable as error:
            return Result("trial", "not-available", str(error))


def _tried(steps: Steps, log: Path) -> Result:
    try:
        if not steps.has_multicast():
            return Result("trial", "not-available", "the devices have no multicast")
    except ask.Status as error:
        return Result("trial", "not-available", f"nothing was tried: {error}")
    first = _attempt(steps)
    if first is None:
        return _further(steps, log)
    passed = any(_attempt(steps) is None for _ in range(RETRIES))
    return _failed(first, passed, log)


def _attempt(steps: Steps) -> ask.Status | None:
    """Try once; after a failure that may pass, pause."""
    try:
        steps.team()
    except ask.Status as error:
        if error.code in NOT_READY:
            time.sleep(PAUSE)
        return error
    return None


def _failed(first: ask.Status, passed: bool, log: Path) -> Result:
    """Say what the first failure means, by its status, the fabric, whether it passed, and the driver's log."""
    lines = _lines(log)
    details: dict[str, Any] = {"call": first.call, "status": first.code, "log": lines[-6:]}
    outcome = "partial" if passed else "missing"
    summary = f"{first}{'; a later try succeeded' if passed else ''}"
    return Result("trial", outcome, summary, details, _causes(first, lines), _rule(lines))


def _causes(failure: ask.Status, lines: list[str]) -> tuple[str, ...]:
    """Answer the causes that a status speaks for, at a call whose arguments are right."""
    multicast = failure.call.startswith("cuMulticast") or failure.call == "cuMemMap"
    if failure.code in NOT_READY:
        return _not_ready()
    if failure.code in (1, 401) and multicast:
        return ("fm-stale-registration",) if any(STALE in line for line in lines) else ("fabric-bad-state",)
    if failure.code in (2, 47):
        return ("multicast-slots-exhausted",) if multicast else ("device-memory-exhausted",)
    if failure.code == 101 and multicast:
        return ("clique-mismatch",)
    return {800: ("imex-channel-missing",), 801: ("multicast-unsupported-topology",)}.get(failure.code, ())


def _not_ready() -> tuple[str, ...]:
    """Let the registration of the devices say what is not ready: complete, it is a stall."""
    states = {one.state for one in fabric.read()}
    if fabric.NOT_STARTED in states:
        return ("fm-not-running",)
    return ("fabric-registration-pending",) if fabric.IN_PROGRESS in states else ("fm-transient-stall",)


def _further(steps: Steps, log: Path) -> Result:
    """After a team came up: try what only some machines have."""
    count = len(steps.devices)
    done = f"{count} device{'s' * (count != 1)} bound and mapped"
    for what, step, causes in (
        ("memory with a fabric handle", steps.fabric_memory, ("imex-channel-missing",)),
        ("a bind that is not aligned", steps.unaligned_bind, ()),
    ):
        try:
            step()
        except ask.Status as error:
            lines = _lines(log)
            details = {"call": error.call, "status": error.code, "log": lines[-6:]}
            return Result("trial", "partial", f"{done}, but {what}: {error}", details, causes, _rule(lines))
    return Result("trial", "ok", done, {"devices": len(steps.devices)})


def _lines(log: Path) -> list[str]:
    try:
        return log.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _rule(lines: list[str]) -> str | None:
    """Answer the first rule that the driver named in an error."""
    found = (RULE.search(line) for line in lines if "][E]" in line)
    return next((match[0] for match in found if match), None)
