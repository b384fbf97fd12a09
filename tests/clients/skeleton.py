"""What the clients are written with: ranks that talk to each other, and calls that note what the driver says."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim

STEP = 2 << 20
FD, FABRIC = 1, 8
MINIMUM, RECOMMENDED = 0, 1
TAG = re.compile(r"\[E\] (MC\d{3,4}) ")
Notes = dict[str, list[str]]
RANKS = 3
Run = Callable[..., list[Any]]
PROFILES = pytest.mark.parametrize("profile", ["hardware", "strict"])


class Peers:
    """The ranks of a job: an all-gather of bytes and descriptors over datagram sockets, as most clients have one."""

    def __init__(self, rank: int, world_size: int) -> None:
        self.rank, self.world_size = rank, world_size
        self._names = [f"\0{os.environ['CUMULTICAST_WORLD']}-{other}" for other in range(world_size)]
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self._names[rank])
        self._socket.settimeout(20)
        self._round = 0
        self._early: dict[bytes, tuple[bytes, list[int]]] = {}

    def gather(self, data: bytes = b"", fds: tuple[int, ...] = ()) -> list[tuple[bytes, list[int]]]:
        """Give to all, and get from all, in the order of ranks."""
        self._round += 1
        for other in range(self.world_size):
            self._send(other, b"%d.%d|" % (self._round, self.rank) + data, fds)
        return [self._receive(b"%d.%d" % (self._round, other)) for other in range(self.world_size)]

    def barrier(self) -> None:
        self.gather()

    def _send(self, other: int, data: bytes, fds: tuple[int, ...]) -> None:
        end = time.monotonic() + 20
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            while sender.connect_ex(self._names[other]):
                assert time.monotonic() < end, f"rank {other} does not listen"
                time.sleep(0.005)
            socket.send_fds(sender, [data], fds)

    def _receive(self, wanted: bytes) -> tuple[bytes, list[int]]:
        while wanted not in self._early:
            data, fds, _, _ = socket.recv_fds(self._socket, 4096, 4)
            tag, _, body = data.partition(b"|")
            self._early[tag] = body, fds
        return self._early.pop(wanted)


class Refusal(Exception):
    """The driver refused a call; a client that does not expect it ends here."""


class Client(Peers):
    """One rank of a client: its device is its own, and `do` and `notes` are its driver and its diary."""

    def __init__(self, rank: int, world_size: int) -> None:
        super().__init__(rank, world_size)
        self.notes: Notes = {"refused": [], "found": []}
        self.do("init", 0)
        self.device = self.do("device_get", int(os.environ["LOCAL_RANK"]))
        self.do("ctx_set_current", self.do("device_primary_ctx_retain", self.device))

    def do(self, call: str, *arguments: Any) -> Any:
        """Call the driver; the rules that it names are noted as ``call:rule``."""
        here = sim.current() if call != "init" else None
        line, before = (here.log.end, len(here.findings)) if here else (0, 0)
        try:
            return getattr(driver, call)(*arguments)
        except driver.DriverError as error:
            rules = [match[1] for match in map(TAG.search, sim.current().log.since(line)) if match]
            self.notes["refused"] += [f"{call}:{rule}" for rule in rules]
            raise Refusal(f"rank {self.rank}: {call}{arguments}: {error} {rules}") from error
        finally:
            self.notes["found"] += [f"{call}:{finding.rule}" for finding in sim.current().findings[before:]]

    def ignoring(self, call: str, *arguments: Any) -> None:
        """Call as teardowns do that look at no status."""
        with suppress(Refusal):
            self.do(call, *arguments)

    # ---- memory

    def kind(self, types: int, rdma: bool = False) -> Any:
        prop = driver.MemAllocationProp_v1()
        prop.type, prop.location.type, prop.location.id, prop.requested_handle_types = 1, 1, self.device, types
        prop.alloc_flags.gpu_direct_rdma_capable = rdma
        return prop

    def granularity(self, kind: Any, option: int) -> int:
        return int(self.do("mem_get_allocation_granularity", kind, option))

    def object_granularity(self, prop: Any, option: int) -> int:
        return int(self.do("multicast_get_granularity", prop, option))

    def team(self, size: int, types: int) -> Any:
        prop = driver.MulticastObjectProp_v1()
        prop.num_devices, prop.size_, prop.handle_types = self.world_size, size, types
        return prop

    def access(self, *devices: int) -> Any:
        desc = driver.MemAccessDesc_v1(len(devices))
        for k, device in enumerate(devices):
            desc[k].location.type, desc[k].location.id, desc[k].flags_ = 1, device, 3
        return desc

    def mapped(self, handle: int, size: int, alignment: int = 0) -> int:
        """Reserve, map, give this rank's device access."""
        ptr = self.do("mem_address_reserve", size, alignment, 0, 0)
        self.do("mem_map", ptr, size, 0, handle, 0)
        self.do("mem_set_access", ptr, size, self.access(self.device), 1)
        return int(ptr)

    # ---- sharing

    def exported(self, handle: int, types: int) -> tuple[bytes, tuple[int, ...]]:
        shared = self.do("mem_export_to_shareable_handle", handle, types, 0)
        return (b"fd", (int(shared),)) if types == FD else (ctypes.string_at(shared.ptr, 64), ())

    def imported(self, data: bytes, fds: list[int]) -> int:
        """Import what a peer gave; a descriptor is closed at once."""
        if fds:
            try:
                return int(self.do("mem_import_from_shareable_handle", fds[0], FD))
            finally:
                os.close(fds[0])
        buffer = ctypes.create_string_buffer(data, 64)
        return int(self.do("mem_import_from_shareable_handle", ctypes.addressof(buffer), FABRIC))

    def shared_object(self, prop: Any, types: int, *, root_imports: bool = False) -> tuple[int, int]:
        """Let rank 0 create and export an object and the others import it; answer its handle, and the creator's (or 0).

        With ``root_imports`` rank 0 imports as well, so that all have handles of the same origin.
        """
        created, mine = 0, (b"", ())
        if not self.rank:
            created = self.do("multicast_create", prop)
            mine = self.exported(created, types)
        data, fds = self.gather(*mine)[0]
        for fd in mine[1]:
            os.close(fd)
        if self.rank or root_imports:
            return self.imported(data, fds), created
        for fd in fds:
            os.close(fd)
        return created, created


def diary(client: Callable[[Client], None], rank: int, world_size: int) -> Notes:
    """Run a client in a rank and answer what the driver said: every rule once, refusals and findings apart.

    A client that is refused ends as it would: every rank meets the same refusal, so nobody waits for another.
    """
    job = Client(rank, world_size)
    with suppress(Refusal):
        client(job)
    return {name: sorted(set(said)) for name, said in job.notes.items()}


def every_rank(found: list[str], refused: list[str], ranks: int) -> list[Notes]:
    """Answer what `run_ranks` returns when every rank has noted the same."""
    return [{"refused": refused, "found": found}] * ranks


def all_reduced(job: Client, ptr: int, mc_ptr: int) -> None:
    """Let every rank write its number, and see the sum through the multicast address."""
    mine = np.full(256, job.rank + 1, np.float32)
    job.do("memcpy_htod_v2", ptr, mine.ctypes.data, mine.nbytes)
    job.barrier()
    total = multimem.load_reduce(mc_ptr, 256)
    assert (total == sum(range(1, job.world_size + 1))).all()
    job.barrier()
