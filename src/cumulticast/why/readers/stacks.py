"""Native stacks (py-spy, gdb): which process is inside of which call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cumulticast.why.observation import Observation
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, observed

_FRAME = re.compile(
    r"^\s+(?:#?\d+:? +)?(?:0x[0-9a-f]+ in )?(?P<name>[A-Za-z_][\w:]*) ?\(|^#\d+ +(?:0x[0-9a-f]+ in )?(?P<gdb>[\w:]+)"
)
_PROCESS = re.compile(
    r"^(?:Process|PID) (?P<pid>\d+)\b|^Attaching to (?:program.*)?process (?P<gdb>\d+)|^=+ ?(?:pid|rank) (?P<rank>\d+)"
)
_KINDS = {
    "bind": {"cuMulticastBindMem", "cuMulticastBindAddr", "cuMulticastBindMem_v2", "cuMulticastBindAddr_v2"},
    "window": {"ncclCommWindowRegister", "ncclCommWindowDeregister", "symMemoryMapLsaTeam",
               "ncclDevrWindowRegisterInGroup"},
    "fd": {"ncclIpcSocketRecvMsg", "ncclIpcSocketSendMsg", "ncclProxyClientGetFd", "ncclProxyClientGetFdBlocking",
           "ncclIpcSocketSendFd", "ncclIpcSocketRecvFd", "ncclProxyCallBlockingUDS", "ncclProxyClientQueryFdBlocking"},
    "collective": {"ncclAllReduce", "ncclAllGather", "ncclBroadcast", "ncclReduceScatter", "ncclBcast", "ncclReduce",
                   "ncclSend", "ncclRecv"},
}  # fmt: skip


def _frame(line: Line) -> Iterator[Observation]:
    found = _FRAME.match(line.text)
    name = (found["name"] or found["gdb"]) if found else None
    kind = next((kind for kind, names in _KINDS.items() if name in names), None)
    if kind:
        call = name.removesuffix("_v2") if name and name.startswith("cu") else None
        yield observed(line, f"stack-{kind}", process=_process(line), frame=name, call=call)


def _process(line: Line) -> str:
    for earlier in line.preceding(60):
        found = _PROCESS.match(earlier.text.strip())
        if found:
            return next(filter(None, found.groups()))
    return "?"


def _listed(line: Line) -> Iterator[Observation]:
    found = _PROCESS.match(line.text.strip())
    if found:
        yield observed(line, "stack", process=next(filter(None, found.groups())))


#: How py-spy and gdb name the libraries of these functions.
_FRAMES = ("(nccl/", "(libnccl", " in nccl", "(libcuda", " in cumulticastbind", "cumulticastbind")
SIGNS = (Sign(_FRAMES, _frame), Sign(("process ", "pid "), _listed))
