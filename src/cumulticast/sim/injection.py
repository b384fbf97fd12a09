"""Faults to inject, as data: ``fm=stopped``, ``slots=128``, ``fail:cuMulticastBindMem:rank=1:status=802``, …

The specifications live in the world, so that every process sees the same trouble at the same time.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cumulticast.rules import Refused, Status

if TYPE_CHECKING:
    from cumulticast.sim.machine import Machine
    from cumulticast.sim.shared import World

STATES = ("fm", "state", "imex", "slots", "cliques", "unaligned", "memory")
ACTIONS = ("fail", "delay", "kill-before", "kill-after")
ACTION_KEYS = {"fail": ("rank", "nth", "status"), "delay": ("rank", "nth", "seconds")}
VALUES = {
    "fm": ("stopped", "never", "starting", "stalled", "restarted"),
    "state": ("illegal",),
    "imex": ("none",),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One specification, parsed.

    Attributes
    ----------
    kind
        A state (``fm``, ``slots``, …) or an action (``fail``, ``delay``, ``kill-before``, ``kill-after``).
    value
        The state's value, or the C name of the call that an action befalls.
    argument
        What follows the value of a state after a colon.
    rank
        The rank that an action befalls, or None for any.
    nth
        Which of that call's uses since the fault was set, from 1; each process counts its own.
    status
        What ``fail`` answers.
    seconds
        How long ``delay`` takes.
    """

    kind: str
    value: str
    argument: str = ""
    rank: int | None = None
    nth: int = 1
    status: Status = Status.UNKNOWN
    seconds: float = 0.0


@lru_cache(maxsize=256)
def parse(spec: str) -> Fault:
    """Read one specification.

    Raises
    ------
    ValueError
        It is none; the text names the part and what may stand there.
    """
    head, _, rest = spec.partition(":")
    if head in ACTIONS:
        return _action(spec, head, rest)
    kind, equals, value = head.partition("=")
    if not equals or kind not in STATES:
        raise ValueError(f"fault {spec!r}: {kind!r} is none of {', '.join(STATES)}, {', '.join(ACTIONS)}")
    if kind in VALUES and value not in VALUES[kind]:
        raise ValueError(f"fault {spec!r}: {kind}={value!r}; {kind} is one of {', '.join(VALUES[kind])}")
    if kind in ("slots", "unaligned", "memory") and not value.isdecimal():
        raise ValueError(f"fault {spec!r}: {kind}= takes a whole number, not {value!r}")
    if kind == "cliques" and not all(size.isdecimal() for size in value.split(",")):
        raise ValueError(f"fault {spec!r}: cliques= takes whole numbers such as 4,4, not {value!r}")
    _check_argument(spec, value, rest)
    return Fault(kind, value, rest)


def fit(specs: Iterable[str], machine: Machine) -> None:
    """Hold specifications to the machine that they are meant for.

    Raises
    ------
    ValueError
        One is none, or the machine cannot be split so.
    """
    for spec in specs:
        fault = parse(spec)
        if fault.kind == "cliques":
            try:
                machine.with_cliques(*map(int, fault.value.split(",")))
            except ValueError as error:
                raise ValueError(f"fault {spec!r}: {error}") from None


def _check_argument(spec: str, value: str, argument: str) -> None:
    """Hold what follows the colon of a state to what that state takes."""
    if value in ("starting", "stalled"):
        if not argument.replace(".", "", 1).isdecimal():
            raise ValueError(f"fault {spec!r}: seconds are missing, such as fm={value}:2")
    elif argument and (value, argument) != ("restarted", "1"):
        raise ValueError(f"fault {spec!r}: {value} takes no {argument!r}" + ", only 1" * (value == "restarted"))


def _action(spec: str, kind: str, rest: str) -> Fault:
    call, *pairs = rest.split(":")
    if not call.startswith("cu"):
        raise ValueError(f"fault {spec!r}: {call!r} is no C name of a call, such as cuMulticastBindMem")
    values: dict[str, str] = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    allowed = ACTION_KEYS.get(kind, ("rank", "nth"))
    for key in values:
        if key not in allowed:
            raise ValueError(f"fault {spec!r}: {key!r} is none of {', '.join(allowed)}")
    if kind in ACTION_KEYS and allowed[-1] not in values:
        raise ValueError(f"fault {spec!r}: {allowed[-1]}= is missing")
    return Fault(
        kind,
        call,
        rank=_whole(spec, "rank", values["rank"], 0) if "rank" in values else None,
        nth=_whole(spec, "nth", values.get("nth", "1"), 1),
        status=_status(spec, values.get("status", "999")),
        seconds=_seconds(spec, values.get("seconds", "0")),
    )


def _whole(spec: str, key: str, text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"fault {spec!r}: {key}= takes a whole number from {least} on, not {text!r}")
    return int(text)


def _seconds(spec: str, text: str) -> float:
    if not text.replace(".", "", 1).isdecimal():
        raise ValueError(f"fault {spec!r}: seconds= takes seconds, such as 0.5, not {text!r}")
    return float(text)


def _status(spec: str, text: str) -> Status:
    try:
        return Status(int(text)) if text.isdecimal() else Status[text.removeprefix("CUDA_ERROR_")]
    except (ValueError, KeyError):
        raise ValueError(f"fault {spec!r}: {text!r} is no CUresult; a number or a CUDA_ERROR_ name is") from None


class Faults:
    """The faults in force, as this process asks for them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._counts: dict[tuple[str, float], int] = {}  # a fault and since when it is in force → calls since then

    @property
    def specs(self) -> tuple[str, ...]:
        """The specifications in force."""
        return tuple(self._world.faults)

    def set(self, *specs: str) -> None:
        """Add faults to those in force, for every process of the world; a state replaces its like."""
        fit(specs, self._world.machine)
        kinds = {parse(spec).kind for spec in specs if parse(spec).kind in STATES}
        kept = [spec for spec in self.specs if parse(spec).kind not in kinds]
        self._world.set_faults((*kept, *specs))

    def clear(self, *specs: str) -> None:
        """End these faults, or all of them."""
        self._world.set_faults(tuple(s for s in self.specs if specs and s not in specs))

    def state(self, kind: str) -> Fault | None:
        """Answer the state fault of a kind, if one is in force."""
        return next((f for f in map(parse, self.specs) if f.kind == kind), None)

    def number(self, kind: str) -> int | None:
        """Answer the number that a state fault gives, such as ``slots=128``."""
        fault = self.state(kind)
        return int(fault.value) if fault else None

    def not_ready(self) -> str:
        """Say what system software is not ready, or nothing."""
        fault = self.state("fm")
        if fault is None:
            return ""
        if fault.value in ("stopped", "never"):
            return "the Fabric Manager is not running"
        if fault.value == "starting":
            return self._still("starting", self._left(fault))
        if fault.value == "stalled":
            stalled_for = time.monotonic() - self._world.first_bind()
            return self._still("stalled", float(fault.argument) - stalled_for)
        return ""

    def starting(self) -> str:
        """Say that the fabric is still being probed, or nothing."""
        fault = self.state("fm")
        return self.not_ready() if fault is not None and fault.value == "starting" else ""

    @staticmethod
    def _still(what: str, left: float) -> str:
        return f"the Fabric Manager is still {what} ({left:.1f} s more)" if left > 0 else ""

    def _left(self, fault: Fault) -> float:
        """Answer how many of its seconds a fault still has."""
        since = next(since for spec, since in self._world.faults.items() if parse(spec) == fault)
        return float(fault.argument) - (time.monotonic() - since)

    def illegal(self) -> str:
        """Say what is in an illegal state, or nothing."""
        fault = self.state("fm")
        if fault is not None and fault.value == "restarted":
            return "the Fabric Manager was restarted while the GPUs stayed up; their registration is stale"
        return "a fault says so (state=illegal)" if self.state("state") else ""

    def status_of_illegal(self) -> Status:
        """Answer what an illegal state is answered with: 401, or what ``fm=restarted:1`` says, as older drivers do."""
        fault = self.state("fm")
        told = fault.argument if fault is not None and fault.value == "restarted" else ""
        return Status(int(told)) if told else Status.ILLEGAL_STATE

    def before(self, *names: str) -> None:
        """Let the actions happen that befall a call before it runs; ``names`` are what a specification may call it."""
        befalling = self._befalling(names)
        for key, _ in befalling:
            self._counts[key] = self._counts.get(key, 0) + 1
        for key, fault in befalling:
            if self._counts[key] == fault.nth:
                self._act(fault)

    def after(self, *names: str) -> None:
        """Let the actions happen that befall a call after it has run."""
        for key, fault in self._befalling(names):
            if fault.kind == "kill-after" and self._counts.get(key) == fault.nth:
                os.kill(os.getpid(), signal.SIGKILL)

    def _befalling(self, names: tuple[str, ...]) -> list[tuple[tuple[str, float], Fault]]:
        """Answer the actions in force that befall a call of this process, each with what it is counted by."""
        rank = os.environ.get("RANK", "")
        mine = (None, int(rank) if rank.isdecimal() else 0)
        known = [((spec, since), parse(spec)) for spec, since in self._world.faults.items()]
        return [(k, f) for k, f in known if f.kind in ACTIONS and f.value in names and f.rank in mine]

    def _act(self, fault: Fault) -> None:
        if fault.kind == "delay":
            time.sleep(fault.seconds)
        elif fault.kind == "kill-before":
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault.kind == "fail":
            raise Refused(
                fault.status, None, f"injected fault: {fault.value} was told to fail with {int(fault.status)}"
            )
