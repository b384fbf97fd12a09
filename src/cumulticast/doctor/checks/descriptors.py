"""Whether processes can hand each other file descriptors: by pidfd_getfd (torch), and by Unix sockets (NCCL)."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from pathlib import Path
from typing import Any

from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

PIDFD_GETFD = 438  # the number of the system call on every architecture
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")


@check("descriptors", "sharing of file descriptors: pidfd_getfd, ptrace scope, Unix sockets")
def descriptors() -> Result:
    """Try both on this process's own descriptors: no driver is asked."""
    details: dict[str, Any] = {"ptrace_scope": _ptrace_scope(), "pidfd_getfd": _by_pidfd(), "socket": _by_socket()}
    refused = [name for name in ("pidfd_getfd", "socket") if details[name] != "ok"]
    if refused:
        summary = "; ".join(f"{name}: {details[name]}" for name in refused)
        remedy = " (docker run --cap-add=SYS_PTRACE, or a seccomp profile that allows it)"
        return Result("descriptors", "partial", summary + remedy, details, ("fd-exchange-eperm",))
    scope = details["ptrace_scope"]
    if scope is not None and scope > 0 and os.geteuid():
        summary = f"ptrace_scope is {scope}: pidfd_getfd works between parent and child alone"
        return Result("descriptors", "partial", summary, details)
    return Result("descriptors", "ok", "pidfd_getfd and Unix sockets hand descriptors over", details)


def _ptrace_scope() -> int | None:
    """Answer what Yama allows; None on a kernel without it."""
    try:
        return int(PTRACE_SCOPE.read_text())
    except (OSError, ValueError):
        return None


def _by_pidfd() -> str:
    """Fetch a descriptor of our own process: a seccomp filter refuses that like any other."""
    libc = ctypes.CDLL(None, use_errno=True)
    read, write = os.pipe()
    try:
        pidfd = os.pidfd_open(os.getpid())
    except OSError as error:
        return f"pidfd_open: {error.strerror}"
    finally:
        os.close(write)
    try:
        fd = libc.syscall(PIDFD_GETFD, pidfd, read, 0)
        if fd < 0:
            return f"{errno.errorcode.get(ctypes.get_errno(), '?')}: {os.strerror(ctypes.get_errno())}"
        os.close(fd)
        return "ok"
    finally:
        os.close(pidfd)
        os.close(read)


def _by_socket() -> str:
    """Send a descriptor through a socket pair."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        try:
            socket.send_fds(ours, [b"x"], [0 if _open(0) else ours.fileno()])
            _, fds, _, _ = socket.recv_fds(theirs, 1, 1)
        except OSError as error:
            return error.strerror or str(error)
        for fd in fds:
            os.close(fd)
        return "ok" if fds else "the descriptor did not arrive"


def _open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
