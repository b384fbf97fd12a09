"""Run a command to its end as if it stood in our place: signals go to it, its exit code is ours."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence, Set

from cumulticast.cli.answers import UsageError, complain

FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}


def supervise(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run ``command`` and answer its exit code; 128 + N when signal N ended it, as shells do.

    Raises
    ------
    UsageError
        It cannot be started.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored SIGCHLD, inherited, would tell us nothing
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED | {signal.SIGCHLD})
    try:
        child = _start(command, env, before)
        while child.poll() is None:
            _pass_on(signal.sigwaitinfo(FORWARDED | {signal.SIGCHLD}), child.pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _exit_code(command[0], child.returncode)


def _start(command: Sequence[str], env: Mapping[str, str], mask: Set[int]) -> subprocess.Popen[bytes]:
    """Start the command with the signal mask that we had."""

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    try:
        return subprocess.Popen(command, env=dict(env), preexec_fn=unblock)
    except FileNotFoundError:
        raise UsageError(f"there is no command {command[0]!r} on PATH") from None
    except OSError as error:
        raise UsageError(f"{command[0]!r} cannot be run: {error.strerror}") from None


def _pass_on(received: signal.struct_siginfo, child: int) -> None:
    """Forward what somebody sent to us; what the terminal sends (the kernel) reaches the child anyway."""
    if received.si_signo != signal.SIGCHLD and received.si_code <= 0:
        os.kill(child, received.si_signo)


def _exit_code(name: str, returncode: int) -> int:
    if returncode >= 0:
        return returncode
    complain(f"run: {name} was ended by {signal.Signals(-returncode).name}")
    return 128 - returncode
