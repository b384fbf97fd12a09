"""Ranks that a test drives step by step: real processes on one world, each doing what it is told, when it is told."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rank_steps
from zygote import Sent, receive, send

from cumulticast import launch
from cumulticast.sim.driver import Options
from cumulticast.sim.injection import Faults
from cumulticast.sim.picture import Picture, take
from cumulticast.sim.shared import World

ZYGOTE = Path(__file__).with_name("zygote.py")
LIMIT = 20.0  # seconds that a step may take before the test fails


class RankFailed(AssertionError):
    """A step raised; the text is the rank's traceback."""


class RankDied(AssertionError):
    """The rank went while it was asked for something."""


class Zygote:
    """See zygote.py.

    Parameters
    ----------
    program
        Zygote.py, or one that imports more and runs its ``main``.
    """

    def __init__(self, program: Path = ZYGOTE) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, str(program), str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()

    def spawn(self, environment: dict[str, str], theirs: socket.socket) -> int:
        """Start a rank and answer its pid."""
        send(self._requests, ("spawn", environment, Sent(0)), (theirs.fileno(),))
        return int(receive(self._requests)[0])

    def wait(self, pid: int) -> int:
        """Wait for a rank to end and answer how it did: its exit status, or -N for a signal."""
        send(self._requests, ("wait", pid))
        return int(receive(self._requests)[0])

    def close(self) -> None:
        """End it."""
        self._requests.close()
        self._process.wait(10)


class Rank:
    """One process. ``rank(function, *arguments)`` runs a function in it and answers what it returned."""

    def __init__(self, zygote: Zygote, number: int, environment: dict[str, str]) -> None:
        self.number = number
        self._zygote = zygote
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = zygote.spawn(environment | {"RANK": str(number)}, theirs)
        theirs.close()
        self._pidfd = os.pidfd_open(self.pid)
        self.ended: int | None = None
        self.doomed = False

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function in the rank."""
        self.begin(function, *arguments)
        return self.result()

    def descriptor(self, function: Callable[..., Any], *arguments: Any) -> int:
        """Run a function that answers a descriptor; the rank sends that by SCM_RIGHTS and closes its own."""
        self._ask(True, function, arguments, ())
        return int(self.result())

    def with_descriptor(self, fd: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function whose first argument is a descriptor that is sent along."""
        self._ask(False, function, (Sent(0), *arguments), (fd,))
        return self.result()

    def begin_with_descriptor(self, fd: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin a function whose last argument is a descriptor that is sent along."""
        self._ask(False, function, (*arguments, Sent(0)), (fd,))

    def begin(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Let the rank begin; `result` waits for the end."""
        self._ask(False, function, arguments, ())

    def _ask(self, gives: bool, function: Callable[..., Any], arguments: tuple[Any, ...], fds: tuple[int, ...]) -> None:
        try:
            send(self._channel, (function, gives, *arguments), fds)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise RankDied(f"rank {self.number} has gone") from error

    def done(self, seconds: float = 0.0) -> bool:
        """Tell whether the step is over, or the rank gone."""
        return bool(select.select([self._channel], [], [], seconds)[0])

    def result(self, limit: float = LIMIT) -> Any:
        """Answer what the step returned.

        Raises
        ------
        RankFailed, RankDied
            It raised; the rank died.
        TimeoutError
            It takes longer than ``limit`` seconds.
        """
        if not self.done(limit):
            raise TimeoutError(f"rank {self.number} is not done after {limit} s")
        try:
            answer = receive(self._channel)
        except ConnectionResetError:
            answer = None
        if answer is None:
            raise RankDied(f"rank {self.number} has gone")
        if answer[0] == "raised":
            raise RankFailed(f"rank {self.number}: {answer[1]}")
        if answer[0] == "interrupted":
            raise KeyboardInterrupt
        return answer[1]

    def signal(self, number: int) -> None:
        """Send it a signal."""
        signal.pidfd_send_signal(self._pidfd, number)

    def kill_now(self) -> None:
        """Send SIGKILL, if it still lives, and do not wait."""
        if self.ended is None:
            self.doomed = True
            self.signal(signal.SIGKILL)

    def kill(self) -> None:
        """End it by SIGKILL, and wait until the kernel is through with it."""
        if self.ended is None:
            self.signal(signal.SIGKILL)
            self.wait()

    def leave(self) -> None:
        """Let it end by itself."""
        self._channel.shutdown(socket.SHUT_RDWR)
        self.wait()

    def wait(self, limit: float = LIMIT) -> int:
        """Wait until it has ended and answer how."""
        if self.ended is None:
            if not select.select([self._pidfd], [], [], limit)[0]:
                raise TimeoutError(f"rank {self.number} (pid {self.pid}) has not ended after {limit} s")
            self.ended = self._zygote.wait(self.pid)
            os.close(self._pidfd)
            self._channel.close()
        return self.ended


class Job:
    """A world and the ranks on it. The test itself looks on: it opens the world, and enters no process."""

    def __init__(self, zygote: Zygote, world: World, options: Options) -> None:
        self.world = world
        self.faults = Faults(world)
        self._zygote = zygote
        self._environment = launch.environment(options, world.path, {}) | {"LIBCUDA": str(launch.library())}
        self.ranks: list[Rank] = []

    def start(self, number: int, node: int = 0, **environment: str) -> Rank:
        """Start a rank; it has not come to the driver yet."""
        rank = Rank(self._zygote, number, self._environment | {"CUMULTICAST_NODE": str(node)} | environment)
        self.ranks.append(rank)
        return rank

    def all(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Run the same in all ranks that live, at the same time."""
        living = [rank for rank in self.ranks if rank.ended is None]
        for rank in living:
            rank.begin(function, *arguments)
        return [rank.result() for rank in living]

    def picture(self) -> Picture:
        """What the world holds, after cleaning up what the dead and closed descriptors left."""
        self.world.reap()
        self.world.sweep()
        return take(self.world)

    def left(self) -> dict[str, int]:
        """Count what is in the world: rows by table, files, bytes of devices, and who is said to live."""
        self.world.reap()
        self.world.sweep()
        tables = ("process", "waiting", "reference", "allocation", "multicast", "team", "binding")
        count = {table: self.world.rows(f"select count(*) from {table}")[0][0] for table in tables}
        count["bytes"] = self.world.rows("select sum(used) + sum(unaligned) from device")[0][0]
        count["files"] = sum(len(os.listdir(self.world.path / kind)) for kind in ("memory", "multicast"))
        return {name: number for name, number in count.items() if number}

    def close(self) -> None:
        """End all ranks."""
        for rank in self.ranks:
            rank.kill()


@contextmanager
def job(zygote: Zygote, options: Options) -> Iterator[Job]:
    """Make a world for ranks; at the end nothing may be left in it once they have gone."""
    with launch.machine(options) as world:
        made = Job(zygote, world, options)
        try:
            yield made
        finally:
            made.close()
        left = made.left()
        assert not left, f"the dead left {left}"


def handed_over(giver: Rank, taker: Rank, handle: int) -> int:
    """Share an object by a descriptor, and answer the taker's handle; nobody keeps the descriptor."""
    fd = giver.descriptor(rank_steps.export, handle)
    try:
        return int(taker.with_descriptor(fd, rank_steps.take_descriptor))
    finally:
        os.close(fd)


def eventually(condition: Callable[[], bool], limit: float = 5.0) -> bool:
    """Wait until something holds."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return condition()
