"""Many processes on one simulated machine: where each rank sits, what it is told, and who of them still runs.

Used by ``cumulticast run --ranks`` and by the pytest fixture ``run_ranks``. The world's table ``rank`` lists the ranks
that were started: a wait for one that has not come to the driver yet is not hopeless (sim/peers.py).
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from cumulticast.sim.machine import Machine
from cumulticast.sim.shared import World


@dataclass(frozen=True, slots=True)
class Place:
    """Where one rank sits: the numbers that torchrun gives its processes, and the node.

    NCCL_HOSTID is what NCCL, and teams, tell hosts apart by: between nodes no file descriptor is passed.
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    node: int
    nodes: int = 1

    def variables(self, port: int) -> dict[str, str]:
        """Answer the rank's environment variables.

        Parameters
        ----------
        port
            MASTER_PORT, free on this host.
        """
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.world_size),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(self.local_world_size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "CUMULTICAST_NODE": str(self.node),
            **({"NCCL_HOSTID": f"node{self.node}"} if self.nodes > 1 else {}),
        }


def places(ranks: int, machine: Machine, *, spread: bool) -> tuple[Place, ...]:
    """Seat the ranks, node by node.

    Parameters
    ----------
    ranks
        How many.
    machine
        Its nodes, and how many devices each has.
    spread
        Use all nodes, each with its equal share (the user said how many nodes). Else a node gets as many ranks as it
        has devices before the next one gets any, and more only if there are more ranks than devices.

    Raises
    ------
    ValueError
        There is no rank at all.
    """
    if ranks < 1:
        raise ValueError(f"{ranks} ranks: at least 1 is needed")
    share = -(-ranks // machine.nodes)
    each = share if spread else max(share, machine.devices_per_node)
    return tuple(
        Place(rank, ranks, rank % each, min(each, ranks - rank // each * each), rank // each, machine.nodes)
        for rank in range(ranks)
    )


def free_port() -> int:
    """Answer a TCP port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Ranks:
    """The processes of one job. ``start`` each, ``wait`` until they have ended, ``close``.

    All ranks count as running from here on: a wait for one that is yet to start is not hopeless.

    Parameters
    ----------
    world
        Where the ranks are entered.
    seats
        Every rank's place.
    apart
        Each rank gets a session of its own, out of the terminal's reach, and what it started ends with it.
    """

    def __init__(self, world: World, seats: Sequence[Place], *, apart: bool = False) -> None:
        self._world = world
        self._apart = apart
        self._port = free_port()
        self._running: dict[int, tuple[int, subprocess.Popen[bytes]]] = {}  # pidfd → rank, process
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        with world.transaction() as db:
            rows = [(place.rank, place.node) for place in seats]
            db.executemany("insert into rank(rank, node, running) values(?, ?, 1)", rows)

    def start(
        self,
        place: Place,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        preexec_fn: Callable[[], object] | None = None,
    ) -> None:
        """Start one rank; the keywords are those of subprocess.Popen.

        Raises
        ------
        OSError
            The command cannot be run.
        """
        settings = {**env, **place.variables(self._port)}
        try:
            process = subprocess.Popen(
                command,
                env=settings,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=preexec_fn,
                start_new_session=self._apart,
            )
        except OSError:
            self._ended(place.rank)
            raise
        self._running[os.pidfd_open(process.pid)] = place.rank, process
        self.processes[place.rank] = process
        self._world.change("update rank set pid = ? where rank = ?", (process.pid, place.rank))

    @property
    def running(self) -> tuple[int, ...]:
        """The ranks that have not ended, as of the last wait."""
        return tuple(sorted(rank for rank, _ in self._running.values()))

    def wait(self, seconds: float | None) -> tuple[int, ...]:
        """Wait until a rank ends, or so long, and answer the ranks that ended; none: the time is over."""
        poll = select.poll()
        for descriptor in self._running:
            poll.register(descriptor, select.POLLIN)
        ready = poll.poll(None if seconds is None else max(0.0, seconds) * 1000) if self._running else []
        return tuple(self._reap(descriptor) for descriptor, _ in ready)

    def _reap(self, descriptor: int) -> int:
        rank, process = self._running.pop(descriptor)
        os.close(descriptor)
        if self._apart:
            with suppress(ProcessLookupError):  # the number cannot be another's yet: nobody has waited for it
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._ended(rank)
        return rank

    def _ended(self, rank: int) -> None:
        self._world.change("update rank set running = 0 where rank = ?", (rank,))

    def signal(self, number: int) -> None:
        """Send a signal to every rank that runs."""
        for _, process in self._running.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def kill(self, seconds: float = 0.0) -> None:
        """End every rank that runs: by SIGABRT, at which Python tells where it is, and so much later by SIGKILL."""
        if seconds:
            self.signal(signal.SIGABRT)
        end = time.monotonic() + seconds
        while self._running and time.monotonic() < end:
            self.wait(end - time.monotonic())
        self.signal(signal.SIGKILL)
        while self._running:
            self.wait(None)

    def close(self) -> None:
        """Kill what still runs."""
        self.kill()
