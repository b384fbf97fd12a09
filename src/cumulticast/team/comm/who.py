"""Who this process is: in words for errors, and in values that tell it from every other process."""

from __future__ import annotations

import os
import secrets
import socket
from functools import cache
from pathlib import Path

_TOKENS: dict[int, str] = {}


def process_name() -> str:
    """Answer this process in words: "process 12 on host-a"."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def process_token() -> str:
    """Answer a random text that is the same throughout this process, and another one in a forked child."""
    return _TOKENS.setdefault(os.getpid(), secrets.token_hex(16))


@cache
def boot_id() -> str:
    """Answer what tells this host, since it was started, from all others."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int:
    """Answer when a process was started, in clock ticks since the host was: a number is used again, both are not.

    Raises
    ------
    ProcessLookupError
        There is no such process.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError as error:
        raise ProcessLookupError(f"no process {pid}") from error
    return int(text.rpartition(")")[2].split()[19])  # proc_pid_stat(5): field 22; the name may hold spaces
