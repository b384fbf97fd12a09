"""Descriptors straight out of another process: pidfd_getfd(2), for whoever may trace that process (ptrace(2))."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from cumulticast.team.comm.who import start_time

PIDFD_GETFD = 438  # the number of the system call on every architecture
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)  # linux/prctl.h
CAP_SYS_PTRACE = 19  # linux/capability.h
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
SCOPES = {1: "its own children alone may be traced", 2: "only CAP_SYS_PTRACE may trace", 3: "nobody may trace"}

_libc = ctypes.CDLL(None, use_errno=True)


def take(pid: int, started: int, descriptor: int) -> int:
    """Fetch a descriptor of a process.

    Parameters
    ----------
    pid, started
        The process, and when it was started (`who.start_time`): a number is used again.
    descriptor
        Its number there.

    Raises
    ------
    OSError
        The process has ended (ESRCH), has no such descriptor (EBADF), or must not be asked (EPERM).
    """
    pidfd = os.pidfd_open(pid)
    try:
        if start_time(pid) != started:
            raise ProcessLookupError(errno.ESRCH, f"process {pid} is another one by now")
        return _checked(_libc.syscall(PIDFD_GETFD, pidfd, descriptor, 0))
    finally:
        os.close(pidfd)


def allow_all() -> None:
    """Let every process of this user trace this one (prctl PR_SET_PTRACER), where Yama's scope is 1.

    Raises
    ------
    OSError
        The kernel refuses; EINVAL if it has no Yama, which then bars nothing either.
    """
    _checked(_libc.prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0))


def scope() -> int:
    """Answer Yama's ptrace_scope; 0 on a kernel without Yama."""
    try:
        return int(PTRACE_SCOPE.read_text())
    except (OSError, ValueError):
        return 0


def may_trace_all() -> bool:
    """Tell whether this process has CAP_SYS_PTRACE."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> CAP_SYS_PTRACE & 1)
    return False


def barred_by_scope() -> str | None:
    """Answer what Yama bars this process from; None if nothing."""
    found = scope()
    if not found or (found < 3 and may_trace_all()):
        return None
    return f"ptrace_scope is {found}: {SCOPES.get(found, 'unknown')}"


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
