"""The fixture ``run_ranks``: a function in many processes on one simulated machine, with a hard time limit."""

from __future__ import annotations

import os
import pickle
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from cumulticast import launch
from cumulticast.ranks import Place, Ranks, places
from cumulticast.sim.driver import Options
from cumulticast.sim.injection import parse
from cumulticast.sim.shared import World
from cumulticast.testing.job import Work, prepare
from cumulticast.testing.report import Outcome, RanksFailed, Waiting

LAST_WORDS = 2.0  # seconds that a stopped rank has to tell where it is

WAITS = """
select process.rank, waiting.call, waiting.object, num_devices - (select count(*) from team where multicast = object),
    waiting.since
from waiting join process on process.id = waiting.process join multicast on multicast.id = waiting.object
"""


class RunRanks:
    """Callable; see `__call__`."""

    def __init__(self, directory: Callable[[], Path]) -> None:
        self._directory = directory

    def __call__(
        self,
        what: Callable[..., Any] | str | Path,
        ranks: int = 8,
        machine: str = "hgx-h100-8",
        timeout: float = 30.0,
        *,
        devices: int | None = None,
        nodes: int | None = None,
        profile: Literal["strict", "hardware"] = "hardware",
        faults: Iterable[str] = (),
        block_limit: float | None = None,
        kernel_limit: float | None = None,
        hopeless: Literal["fail", "wait"] = "fail",
        memory: str = "plain",
        env: Mapping[str, str] | None = None,
        arguments: Mapping[str, Any] | Sequence[str] | None = None,
        grace: float = 5.0,
    ) -> list[Any]:
        """Run a function, or a program, once for each rank, all at once, and answer what they returned, by rank.

        Parameters
        ----------
        what
            A function; it gets ``rank`` and ``world_size`` if it has parameters of these names. Or the path of a Python
            file or another program; its value is what it writes to stdout.
        ranks
            How many processes.
        machine, devices, nodes, profile, faults, block_limit, kernel_limit, hopeless, memory
            As of `cumulticast.sim.start`. With ``nodes`` every node has an equal share of the ranks; without, a node
            gets as many ranks as it has devices before the next one gets any.
        timeout
            Seconds for all of it; then every rank is stopped, and the report says where each was.
        env
            More environment variables for the ranks.
        arguments
            Keyword arguments of the function, or words for the program.
        grace
            Seconds that the other ranks have after one has failed.

        Raises
        ------
        RanksFailed
            A rank raised, exited with a status, died, or did not end in time. It says what each wrote and waited for.
        TypeError, ValueError
            The function cannot be sent to another process; the machine is not possible.
        """
        __tracebackhide__ = True
        specs = tuple(faults)
        for spec in specs:
            parse(spec)
        options = Options(machine, devices, nodes, profile, specs, block_limit, kernel_limit, hopeless, memory=memory)
        directory = self._directory()
        work = prepare(what, arguments, directory)
        with launch.machine(options) as world:
            seats = places(ranks, world.machine, spread=nodes is not None)
            settings = launch.environment(options, world.path, os.environ | dict(env or {}))
            job = _Job(work, world, seats, directory, settings | {"PYTHONFAULTHANDLER": "1"})
            why = job.run(timeout, grace)
            outcomes = job.outcomes()
        if any(outcome.failed for outcome in outcomes):
            raise RanksFailed(work.name, why, outcomes)
        for outcome in outcomes:
            _repeat(outcome)
        return [outcome.value for outcome in outcomes]


def _repeat(outcome: Outcome) -> None:
    """Print what a rank wrote, for pytest to show if the test fails later on."""
    for line in (outcome.stdout + outcome.stderr).splitlines():
        print(f"[rank {outcome.rank}] {line}")


class _Job:
    """One run: the processes, their output in files, and what they waited for."""

    def __init__(
        self, work: Work, world: World, seats: Sequence[Place], directory: Path, env: Mapping[str, str]
    ) -> None:
        self._work, self._world, self._seats = work, world, seats
        self._directory, self._env = directory, env
        self._waiting: dict[int, list[Waiting]] = {}
        self._stopped: set[int] = set()
        self._ranks = Ranks(world, seats, apart=True)

    def run(self, timeout: float, grace: float) -> str:
        """Run to the end, one way or another, and say why it was ended early, or nothing."""
        end, why = time.monotonic() + timeout, f": the time limit of {timeout:g} s is over"
        try:
            self._start()
            while self._ranks.running:
                ended = self._ranks.wait(end - time.monotonic())
                if not ended:
                    self._stop()
                    return why
                if any(self._ranks.processes[rank].returncode for rank in ended) and time.monotonic() + grace < end:
                    end = time.monotonic() + grace
                    why = f": stopped {grace:g} s after rank {ended[0]} failed"
            return ""
        finally:
            self._ranks.close()

    def _start(self) -> None:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        for place in self._seats:
            out, err, log = (self._file(place.rank, name) for name in ("out", "err", "log"))
            with open(out, "wb") as stdout, open(err, "wb") as stderr:
                env = {"CUDA_LOG_FILE": str(log), **self._env}
                self._ranks.start(place, self._work.command, env, stdout=stdout, stderr=stderr)
            resource.prlimit(self._ranks.processes[place.rank].pid, resource.RLIMIT_CORE, (0, hard))

    def _file(self, rank: int, name: str) -> Path:
        return self._directory / f"{name}-{rank}"

    def _text(self, rank: int, name: str) -> str:
        file = self._file(rank, name)
        return file.read_text(errors="replace") if file.exists() else ""

    def _stop(self) -> None:
        """Note what each rank is waiting for, then end it."""
        now = time.time()
        for rank, call, obj, missing, since in self._world.rows(WAITS):
            self._waiting.setdefault(rank, []).append(Waiting(str(call), obj, missing, now - since))
        self._stopped.update(self._ranks.running)
        self._ranks.kill(LAST_WORDS)

    def outcomes(self) -> list[Outcome]:
        """Answer how each rank ended."""
        return [self._outcome(place) for place in self._seats]

    def _outcome(self, place: Place) -> Outcome:
        rank, process = place.rank, self._ranks.processes[place.rank]
        stdout, stderr, log = (self._text(rank, name) for name in ("out", "err", "log"))
        value, problem = self._value(rank, stdout) if process.returncode == 0 else (None, "")
        return Outcome(
            rank,
            place.node,
            process.pid,
            process.returncode,
            value,
            stdout,
            stderr,
            log,
            tuple(self._waiting.get(rank, ())),
            rank in self._stopped,
            problem,
        )

    def _value(self, rank: int, stdout: str) -> tuple[Any, str]:
        """Answer what a rank returned, and why there is nothing."""
        if not self._work.answers:
            return stdout, ""
        try:
            return pickle.loads(Path(self._work.answers.format(rank)).read_bytes()), ""
        except FileNotFoundError:
            return None, "ended with exit status 0 before the function returned"
        except Exception as error:
            return None, f"returned something that cannot be read here: {error}"
