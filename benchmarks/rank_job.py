"""What the ranks of bench_ranks.py do: ``python rank_job.py MODE DIRECTORY``; each prints one JSON line.

Only cuda.bindings v1, no numpy: a rank's private memory is measured with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cuda.bindings import driver as cu

SIZE = 2 << 20
FABRIC = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_FABRIC
RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = int(os.environ["LOCAL_RANK"])
ROUNDS, SETTLE = 200, 0.005
SECONDS = 3.0


def ok(answer):
    """Return what a call that must succeed answers."""
    assert not int(answer[0]), answer
    return answer[1] if len(answer) == 2 else answer[1:]


def memory(device: int) -> int:
    prop = cu.CUmemAllocationProp()
    prop.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    prop.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    prop.location.id = device
    prop.requestedHandleTypes = FABRIC
    return ok(cu.cuMemCreate(SIZE, prop, 0))


def new_object(devices: int) -> int:
    prop = cu.CUmulticastObjectProp()
    prop.numDevices, prop.size, prop.handleTypes = devices, SIZE, FABRIC
    return ok(cu.cuMulticastCreate(prop))


def exported(mc: int) -> bytes:
    return bytes(ok(cu.cuMemExportToShareableHandle(mc, FABRIC, 0)).data)


def imported(data: bytes) -> int:
    buffer = ctypes.create_string_buffer(data, 64)
    return ok(cu.cuMemImportFromShareableHandle(ctypes.addressof(buffer), FABRIC))


def published(path: Path, data: bytes) -> None:
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").rename(path)


def awaited(path: Path) -> bytes:
    while not path.exists():
        time.sleep(0.002)
    return path.read_bytes()


def private_memory() -> int:
    """Answer the bytes of this process that it shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))


def team(directory: Path) -> dict:
    """Create or import, add, bind, map, and say when that was done."""
    ok(cu.cuInit(0))
    path = directory / "handle"
    if RANK:
        mc = imported(awaited(path))
    else:
        mc = new_object(WORLD_SIZE)
        published(path, exported(mc))
    ok(cu.cuMulticastAddDevice(mc, DEVICE))
    mem = memory(DEVICE)
    ok(cu.cuMulticastBindMem(mc, 0, mem, 0, SIZE, 0))
    ptr = ok(cu.cuMemAddressReserve(SIZE, 0, 0, 0))
    ok(cu.cuMemMap(ptr, SIZE, 0, mc, 0))
    access = cu.CUmemAccessDesc()
    access.location.type, access.location.id = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, DEVICE
    access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    ok(cu.cuMemSetAccess(ptr, SIZE, [access], 1))
    done, private = time.monotonic(), private_memory()
    assert "numpy" not in sys.modules
    return {"done": done, "private": private}


def contend(directory: Path) -> dict:
    """Bind and unbind for a while, all ranks at the same time, each its own object; answer every duration."""
    ok(cu.cuInit(0))
    mc, mem = new_object(1), memory(DEVICE)
    ok(cu.cuMulticastAddDevice(mc, DEVICE))
    published(directory / f"ready{RANK}", b"")
    for rank in range(WORLD_SIZE):
        awaited(directory / f"ready{rank}")
    took, end = [], time.perf_counter() + SECONDS
    while (begin := time.perf_counter()) < end:
        ok(cu.cuMulticastBindMem(mc, 0, mem, 0, SIZE, 0))
        ok(cu.cuMulticastUnbind(mc, DEVICE, 0, SIZE))
        took.append(time.perf_counter() - begin)
    return {"took": took}


def release(directory: Path) -> dict:
    """Rank 0 waits in a bind, rank 1 adds the last device; answer from its call to the end of the bind, each time."""
    ok(cu.cuInit(0))
    path = str(directory / "socket")
    if RANK:
        awaited(Path(path + ".ready"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
            channel.connect(path)
            return _adds(channel)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        published(Path(path + ".ready"), b"")
        with listener.accept()[0] as channel:
            return _waits(channel)


def _waits(channel: socket.socket) -> dict:
    took, mem = [], memory(0)
    for _ in range(ROUNDS):
        mc = new_object(2)
        ok(cu.cuMulticastAddDevice(mc, 0))
        channel.send(exported(mc))
        ok(cu.cuMulticastBindMem(mc, 0, mem, 0, SIZE, 0))
        released = time.monotonic()
        took.append(released - float(channel.recv(64)))
        ok(cu.cuMulticastUnbind(mc, 0, 0, SIZE))
        ok(cu.cuMemRelease(mc))
    return {"took": took}


def _adds(channel: socket.socket) -> dict:
    for _ in range(ROUNDS):
        mc = imported(channel.recv(64))
        time.sleep(SETTLE)  # until the other one sleeps in its bind
        begin = time.monotonic()
        ok(cu.cuMulticastAddDevice(mc, 1))
        channel.send(repr(begin).encode())
        ok(cu.cuMemRelease(mc))
    return {}


MODES: dict[str, Callable[[Path], dict]] = {"team": team, "contend": contend, "release": release}

if __name__ == "__main__":
    print(json.dumps(MODES[sys.argv[1]](Path(sys.argv[2]))))
