"""``cumulticast run --ranks``: many copies of a command on one machine, as torchrun starts them.

Every line of theirs is printed behind its rank. A rank that ends badly is reported, and the others keep running; their
waits for it end, because the world knows (sim/peers.py). Ranks do not outlive us: the kernel ends them when we are
killed, and the world that stays is for ``cumulticast ps --prune``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence, Set

from cumulticast.cli.relay import STDERR, STDOUT, Relay
from cumulticast.cli.supervise import AWAITED, cannot_start, exit_code, signal_name, signals_held, to_be_forwarded
from cumulticast.ranks import Place, Ranks
from cumulticast.sim.shared import World

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def run_many(command: Sequence[str], env: Mapping[str, str], seats: Sequence[Place], world: World) -> int:
    """Run a copy of ``command`` for each seat and answer the exit code of the lowest rank whose code is not 0.

    Raises
    ------
    UsageError
        It cannot be started.
    """
    # Python holds lines back that it writes to a pipe; of a rank that hangs or is killed we want to see the last one.
    env = {"PYTHONUNBUFFERED": "1", **env}
    relay = Relay()
    with signals_held() as before:
        ranks = Ranks(world, seats)
        try:
            for place in seats:
                _start(ranks, relay, place, command, env, before)
            relay.start()
            _watch(ranks, relay, world)
        finally:
            ranks.close()
    relay.finish()
    codes = [exit_code(ranks.processes[place.rank].returncode) for place in seats]
    return next(filter(None, codes), 0)


def _start(
    ranks: Ranks, relay: Relay, place: Place, command: Sequence[str], env: Mapping[str, str], mask: Set[int]
) -> None:
    """Start one rank; the first one gets our stdin, as with mpirun, the others an empty one."""
    stdin, prepare = subprocess.DEVNULL if place.rank else None, _in_the_child(mask, os.getpid())
    try:
        ranks.start(
            place, command, env, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=prepare
        )
    except OSError as error:
        raise cannot_start(command[0], error) from None
    process = ranks.processes[place.rank]
    for stream, target in ((process.stdout, STDOUT), (process.stderr, STDERR)):
        assert stream is not None
        relay.add(place.rank, os.dup(stream.fileno()), target)
        stream.close()


def _in_the_child(mask: Set[int], parent: int) -> Callable[[], None]:
    """Make what a rank does before its command: take back the signal mask, and die with us."""
    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before we asked
            os._exit(128 + signal.SIGKILL)

    return prepare


def _watch(ranks: Ranks, relay: Relay, world: World) -> None:
    """Forward signals, report ranks and clean up after them until the last one has ended."""
    while ranks.running:
        received = signal.sigwaitinfo(AWAITED)
        if to_be_forwarded(received):
            ranks.signal(received.si_signo)
        ended = ranks.wait(0)
        if ended:
            world.reap()
        for rank in ended:
            said = _ending(ranks.processes[rank].returncode)
            if said:
                relay.say(rank, f"cumulticast run: rank {rank} {said}")


def _ending(returncode: int) -> str:
    if returncode < 0:
        return f"was ended by {signal_name(-returncode)}"
    return f"ended with exit code {returncode}" if returncode else ""
