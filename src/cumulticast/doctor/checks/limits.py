"""What the kernel and the container allow this process: locked memory, /dev/shm, open files."""

from __future__ import annotations

import os
import resource
from typing import Any

from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

MIB = 1 << 20
SHM_MINIMUM = 512 * MIB  # NCCL alone takes some 10 MiB a rank; containers start with 64 MiB
FILES_MINIMUM = 4096
MEMLOCK_MINIMUM = 64 * MIB


@check("limits", "limits of the container: locked memory, /dev/shm, open files")
def limits() -> Result:
    """Compare each with what jobs of eight ranks need."""
    details: dict[str, Any] = {
        "memlock": _limit(resource.RLIMIT_MEMLOCK),
        "open_files": _limit(resource.RLIMIT_NOFILE),
        "shm_size": _shm_size(),
    }
    low = list(filter(None, map(_complaint, details.items())))
    if low:
        return Result("limits", "partial", "; ".join(low), details)
    return Result("limits", "ok", "locked memory, /dev/shm and open files suffice", details)


def _limit(kind: int) -> int | None:
    """Answer a soft limit; None: unlimited."""
    soft = resource.getrlimit(kind)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _shm_size() -> int | None:
    """Answer the size of /dev/shm in bytes; None when there is none."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return found.f_frsize * found.f_blocks


def _complaint(item: tuple[str, int | None]) -> str | None:
    name, value = item
    if name == "memlock" and value is not None and value < MEMLOCK_MINIMUM:
        return f"only {value} bytes may be locked (ulimit -l; docker run --ulimit memlock=-1)"
    if name == "open_files" and value is not None and value < FILES_MINIMUM:
        return f"only {value} files may be open (ulimit -n)"
    if name == "shm_size" and (value is None or value < SHM_MINIMUM):
        has = "there is no /dev/shm" if value is None else f"/dev/shm has {value // MIB} MiB"
        return f"{has} (docker run --shm-size=1g, or --ipc=host)"
    return None
