"""``python -m cumulticast.doctor.child CHECK PARENT``: run one check here and print its result as the last line."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys

from cumulticast.doctor.examine import guarded
from cumulticast.doctor.register import checks

PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with(parent: int) -> None:
    """Let the kernel end this process when the doctor ends, in whatever way: a call that hangs would stay for ever."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we asked
        sys.exit(1)


if __name__ == "__main__":
    die_with(int(sys.argv[2]))
    result = guarded(checks()[sys.argv[1]])
    print(json.dumps(result.as_dict()), flush=True)
