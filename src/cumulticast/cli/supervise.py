"""Run a command to its end as if it stood in our place: signals go to it, its exit code is ours."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence, Set
from contextlib import contextmanager

from cumulticast.cli.answers import UsageError, complain

FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
AWAITED = FORWARDED | {signal.SIGCHLD}


def supervise(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run ``command`` and answer its exit code; 128 + N when signal N ended it, as shells do.

    Raises
    ------
    UsageError
        It cannot be started.
    """
    with signals_held() as before:
        child = _start(command, env, before)
        while child.poll() is None:
            received = signal.sigwaitinfo(AWAITED)
            if to_be_forwarded(received):
                os.kill(child.pid, received.si_signo)
    if child.returncode < 0:
        complain(f"run: {command[0]} was ended by {signal_name(-child.returncode)}")
    return exit_code(child.returncode)


@contextmanager
def signals_held() -> Generator[Set[int]]:
    """Hold back what `sigwaitinfo` is asked for, also in threads started here; give what was held before."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored SIGCHLD, inherited, would tell us nothing
    before = signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def to_be_forwarded(received: signal.struct_siginfo) -> bool:
    """Tell whether somebody sent it to us alone; what the terminal sends (the kernel) reaches children anyway."""
    return received.si_signo != signal.SIGCHLD and received.si_code <= 0


def signal_name(number: int) -> str:
    """Answer ``SIGKILL`` for 9; a real-time signal has only its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def exit_code(returncode: int) -> int:
    """Answer what a shell would: N, or 128 + N after signal N."""
    return returncode if returncode >= 0 else 128 - returncode


def cannot_start(name: str, error: OSError) -> UsageError:
    """Say why a command cannot be started."""
    if isinstance(error, FileNotFoundError):
        return UsageError(f"there is no command {name!r} on PATH")
    return UsageError(f"{name!r} cannot be run: {error.strerror}")


def _start(command: Sequence[str], env: Mapping[str, str], mask: Set[int]) -> subprocess.Popen[bytes]:
    """Start the command with the signal mask that we had."""

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    try:
        return subprocess.Popen(command, env=dict(env), preexec_fn=unblock)
    except OSError as error:
        raise cannot_start(command[0], error) from None
