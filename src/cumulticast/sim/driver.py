"""The driver of one operating-system process: which machine, which world, which profile, and what was noticed.

It exists from `sim.start` (or the first call of a program under `cumulticast run`) on; what cuInit sets up is
`Driver.process`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

from cumulticast.rules import Refused, Rule, Status, lifetime
from cumulticast.sim.choices import seed_of
from cumulticast.sim.injection import Faults, fit
from cumulticast.sim.log import ErrorLog
from cumulticast.sim.machine import Machine, load
from cumulticast.sim.process import Process
from cumulticast.sim.shared import World
from cumulticast.sim.waiting import Waiting

P = ParamSpec("P")
Profile = Literal["strict", "hardware"]
PROFILES: tuple[Profile, ...] = ("strict", "hardware")
DEFAULT_MACHINE = "hgx-h100-8"


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose; every field has an environment variable of its name (CUMULTICAST_MACHINE, …).

    Attributes
    ----------
    machine, devices, nodes
        The preset and, if fewer than the preset's are wanted, how many devices a node and how many nodes.
    profile
        ``hardware`` accepts what real machines accept and reports it; ``strict`` holds to the documents.
    faults
        Fault specifications (docs/faults.md: ``fm=stopped``, ``slots=128``, …).
    block_limit
        Seconds after which a blocked bind or map ends with 909; None: no limit.
    kernel_limit
        Seconds after which a kernel that still runs is ended with 702; None: no limit.
    hopeless
        ``fail``: a wait that cannot end is ended with 909; ``wait``: it waits for ever, as hardware does.
    node
        The node this process runs on.
    rank
        The rank of this process (RANK), where it has one.
    world
        The directory of an existing world; None: a private one.
    memory
        ``plain``, or ``adversarial[:SEED]``: kernels meet what the PTX memory model allows, and findings say so.
    """

    machine: str = DEFAULT_MACHINE
    devices: int | None = None
    nodes: int | None = None
    profile: Profile = "hardware"
    faults: tuple[str, ...] = ()
    block_limit: float | None = None
    kernel_limit: float | None = None
    hopeless: Literal["fail", "wait"] = "fail"
    node: int = 0
    rank: int | None = None
    world: Path | None = None
    memory: str = "plain"

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"profile {self.profile!r} is none of {', '.join(PROFILES)}")
        if self.hopeless not in ("fail", "wait"):
            raise ValueError(f"hopeless {self.hopeless!r} is none of fail, wait")
        if self.kernel_limit is not None and not self.kernel_limit > 0:
            raise ValueError(f"kernel_limit {self.kernel_limit!r} is no time; a number of seconds above 0 is")
        seed_of(self.memory)

    @classmethod
    def from_environment(cls) -> Options:
        """Read the CUMULTICAST_ variables."""
        get = os.environ.get
        world, rank = get("CUMULTICAST_WORLD"), get("RANK", "")
        return cls(
            machine=get("CUMULTICAST_MACHINE", DEFAULT_MACHINE),
            devices=_number("CUMULTICAST_DEVICES", int),
            profile=get("CUMULTICAST_PROFILE", "hardware"),  # pyright: ignore[reportArgumentType]
            faults=tuple(filter(None, get("CUMULTICAST_FAULTS", "").split(";"))),
            block_limit=_number("CUMULTICAST_BLOCK_LIMIT", float),
            kernel_limit=_number("CUMULTICAST_KERNEL_LIMIT", float),
            hopeless=get("CUMULTICAST_HOPELESS", "fail"),  # pyright: ignore[reportArgumentType]
            node=_number("CUMULTICAST_NODE", int) or 0,
            rank=int(rank) if rank.isdecimal() else None,
            world=Path(world) if world else None,
            memory=get("CUMULTICAST_MEMORY") or "plain",
        )


N = TypeVar("N", int, float)


def _number(variable: str, kind: Callable[[str], N]) -> N | None:
    """Read a number from the environment; None when it is not set."""
    text = os.environ.get(variable)
    try:
        return kind(text) if text else None
    except ValueError:
        raise ValueError(f"{variable}={text!r} is no number") from None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something legal for this driver that the documents do not promise, or advise against."""

    rule: str
    call: str
    message: str
    at: float


class Driver:
    """See the module. All calls of a process go through one lock, so handlers need not think of threads."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.world = self._world(options)
        self.machine: Machine = self.world.machine
        if not 0 <= options.node < self.machine.nodes:
            self.world.close()
            nodes = self.machine.nodes
            raise ValueError(f"CUMULTICAST_NODE={options.node}: {self.machine.name} has nodes 0 to {nodes - 1} here")
        self.profile = str(self.world.value("profile"))
        self.log = ErrorLog.from_environment()
        self.faults = Faults(self.world)
        self.waiting = Waiting(self)
        self.findings: list[Finding] = []
        self.listeners: list[Callable[[Finding], None]] = []
        self.lock = threading.RLock()
        self.now = threading.local()
        self.collector: AbstractContextManager[object] = nullcontext()
        self.process: Process | None = None
        self.started = time.monotonic()
        self.closed = False
        self.pid = os.getpid()

    @staticmethod
    def _world(options: Options) -> World:
        if options.world is not None:
            return World.open(options.world)
        from cumulticast.sim import worlds  # only who makes a world needs to know of others

        machine = load(options.machine, devices=options.devices, nodes=options.nodes)
        fit(options.faults, machine)
        return World.create(machine, profile=options.profile, faults=options.faults, path=worlds.place())

    def initialise(self) -> None:
        """Set up what this process owns (cuInit); repeated calls have no effect."""
        if self.process is None:
            self.process = Process(self)

    @property
    def age(self) -> float:
        """Seconds since this driver began."""
        return time.monotonic() - self.started

    def close(self) -> None:
        """Give back what the process holds and leave the world. A forked child leaves its parent's alone."""
        if os.getpid() != self.pid or self.closed:
            return
        with self.lock:
            self.closed = True
            try:
                if self.process is not None:
                    self._look_back(self.process)
                    self.process.close()
            except sqlite3.Error as error:  # its books are damaged: nothing can be given back
                self.log.write("W", f"{self.world.path} is left as it is: {error}")
            finally:
                self.process = None
                self.world.close()

    def _look_back(self, process: Process) -> None:
        """Report the handles that nobody released: the memory of an import lives on in the exporter's process, too."""
        self.now.call = "cuMemRelease"
        for handle in process.handles.held():
            made = "cuMulticastCreate" if handle.kind == "multicast" else "cuMemCreate"
            made_by = "an import" if handle.imported else made
            self.judge(lifetime.references_released, handle.value, handle.references, made_by)

    def undisturbed(self) -> AbstractContextManager[object]:
        """Hold the collector back, as during calls: destructors of garbage may call the driver."""
        return self.collector

    @property
    def call(self) -> str:
        """The C name of the call that this thread is in."""
        return getattr(self.now, "call", "")

    # ---- judging

    def judge(self, rule: Rule[P], *facts: P.args, **named: P.kwargs) -> None:
        """Hold a call to a rule: refuse it, or report a finding, or neither, as rule and profile say.

        Raises
        ------
        Refused
            The rule is broken and refuses calls in this profile.
        """
        reason = rule.check(*facts, **named)
        if reason is None:
            return
        if rule.reports(self.profile) or (rule.kind == "undefined" and rule.refuses(self.profile)):
            self.report(rule, reason)
        if rule.refuses(self.profile):
            assert rule.status is not None
            raise Refused(rule.status, rule, reason)

    def report(self, rule: Rule[...], reason: str) -> None:
        """Record a finding of the call that runs, and log it."""
        finding = Finding(rule.code, self.call, reason, self.age)
        self.findings.append(finding)
        for listener in self.listeners:
            listener(finding)
        self.log.write("W", rule.describe(self.call, reason))

    @contextmanager
    def on_behalf_of(self, call: str) -> Generator[None]:
        """Judge what a call has begun and this thread has met later."""
        before = self.call
        self.now.call = before or call
        try:
            yield
        finally:
            self.now.call = before

    def refuse(self, call: str, refused: Refused) -> Status:
        """Log why a call is refused, in the real driver's form, and answer its status."""
        status = refused.status
        message = refused.rule.describe(call, refused.reason) if refused.rule else refused.reason
        self.log.write("E", message)
        self.log.write("E", f"Returning {int(status)} ({status.cuda_name}) from {call}")
        return status
