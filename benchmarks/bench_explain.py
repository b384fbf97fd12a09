"""How fast `explain` reads: 100 MB of a busy NCCL log with one failing bind near its end, as a stream."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from cumulticast.why.ask import explain_files

MEGABYTES = 100
HOST = "node-{host:03d}:{pid}:{tid} [{dev}] NCCL INFO "
#: What INFO and the subsystems COLL and GRAPH repeat for every communicator and collective.
TEXTS = (
    "Channel {n:02d}/0 : {dev}[{dev}] -> {next}[{next}] via P2P/CUMEM/read",
    "AllReduce: opCount {n:x} sendbuff 0x7f{n:010x} recvbuff 0x7f{n:010x} count 8388608 datatype 7 op 0",
    "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer",
    "Trees [0] {next}/-1/-1->{dev}->-1 [1] {next}/-1/-1->{dev}->-1 [2] {next}/-1/-1->{dev}->-1",
    "NVLS comm 0x5d47bf99d460 headRank {dev} nHeads 8 nvlsRanks 8 nvlsPerRankSize 33554432 nvlsTotalSize 268435456",
    "transport/net_ib.cc:1227 -> 0",
)
FAILURE = (
    "\n[2026-03-03 08:41:39] node-000:1:2 [5] transport/nvls.cc:287 NCCL WARN Failed to bind NVLink SHARP "
    "(NVLS) Multicast memory of size 2097152 : CUDA error 401 'the operation cannot be performed in the "
    "present state'.\n"
)


def piece() -> str:
    """Make about one megabyte of log."""
    lines: list[str] = []
    for n in range(8192):
        facts = {"n": n, "host": n % 64, "pid": 4000 + n % 8, "tid": 5000 + n % 8, "dev": n % 8, "next": (n + 1) % 8}
        lines.append((HOST + TEXTS[n % len(TEXTS)]).format(**facts))
    return "\n".join(lines) + "\n"


def run() -> list[dict]:
    """Write the log, read it."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "nccl.log"
        part = piece()
        with log.open("w") as file:
            file.writelines(part for _ in range(MEGABYTES * 10**6 // len(part)))
            file.write(FAILURE + part)
        size = log.stat().st_size / 1e6
        begin = time.perf_counter()
        found = explain_files([log])
        rate = size / (time.perf_counter() - begin)
    right = found.cause == "fabric-bad-state" and len(found.evidence) == 1
    name = f"explain: read {MEGABYTES} MB of NCCL log"
    return [{"name": name, "value": rate, "unit": "MB/s", "bound": 5, "holds": rate >= 5 and right}]


if __name__ == "__main__":
    print(run())
