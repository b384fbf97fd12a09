"""Whether processes can hand each other file descriptors: by pidfd_getfd (torch), and by Unix sockets (NCCL)."""

from __future__ import annotations

import os
from typing import Any

from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result
from cumulticast.team.comm import descriptors as ways
from cumulticast.team.comm import pidfd


@check("descriptors", "sharing of file descriptors: pidfd_getfd, ptrace scope, Unix sockets")
def descriptors() -> Result:
    """Try both on this process's own descriptors, as a team would: no driver is asked."""
    barred = ways.probe(of_others=False)
    details: dict[str, Any] = {
        "ptrace_scope": pidfd.scope(),
        "pidfd_getfd": barred["pidfd_getfd"] or "ok",
        "socket": barred["scm_rights"] or "ok",
    }
    refused = [name for name in ("pidfd_getfd", "socket") if details[name] != "ok"]
    if refused:
        summary = "; ".join(f"{name}: {details[name]}" for name in refused)
        remedy = " (docker run --cap-add=SYS_PTRACE, or a seccomp profile that allows it)"
        return Result("descriptors", "partial", summary + remedy, details, ("fd-exchange-eperm",))
    if pidfd.scope() and os.geteuid():
        summary = f"ptrace_scope is {pidfd.scope()}: pidfd_getfd works between parent and child alone"
        return Result("descriptors", "partial", summary, details)
    return Result("descriptors", "ok", "pidfd_getfd and Unix sockets hand descriptors over", details)
