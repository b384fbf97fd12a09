"""One rank of a benchmark of teams: the bare driver calls of a bring-up, and a Team, in turn; seconds as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from cuda.bindings._v2 import driver  # without explanations: the calls as they are

from cumulticast.team.comm import Comm, open_comm
from cumulticast.team.comm.descriptors import DescriptorServer, fetch
from cumulticast.team.foundation import lay
from cumulticast.team.members import Members

FD, SIZE, LIMIT = 1, 2 << 20, 30.0
PAD = 32 << 10


def prop(device: int) -> driver.MemAllocationProp_v1:
    kind = driver.MemAllocationProp_v1()
    kind.type, kind.requested_handle_types = 1, FD
    kind.location.type, kind.location.id = 1, device
    return kind


def bare(comm: Comm, device: int, held: ExitStack) -> None:
    """Make the driver calls of a bring-up, with as many barriers as a Team has, and nothing else."""
    context = driver.device_primary_ctx_retain(device)
    held.callback(driver.device_primary_ctx_release_v2, device)
    exchange(comm, "")
    memory = driver.mem_create(SIZE, prop(device), 0)
    held.callback(driver.mem_release, memory)
    mine = driver.mem_export_to_shareable_handle(memory, FD, 0)
    offers = {comm.rank: mine}
    if comm.rank == 0:
        team = driver.MulticastObjectProp_v1()
        team.num_devices, team.size_, team.handle_types = comm.size, SIZE, FD
        made = driver.multicast_create(team)
        held.callback(driver.mem_release, made)
        offers[-1] = driver.mem_export_to_shareable_handle(made, FD, 0)
    with DescriptorServer(offers) as server:
        for descriptor in offers.values():
            os.close(descriptor)
        told = exchange(comm, json.dumps(server.address))
        handles = [memory if rank == comm.rank else taken(told[rank], rank, held) for rank in range(comm.size)]
        mc = taken(told[0], -1, held)
        driver.multicast_add_device(mc, device)
        exchange(comm, "")
    driver.multicast_bind_mem(mc, 0, memory, 0, SIZE, 0)
    held.callback(driver.multicast_unbind, mc, device, 0, SIZE)
    exchange(comm, "")
    at = mapped(handles, device, held)
    mapped([mc], device, held)
    driver.ctx_push_current_v2(context)
    driver.memset_d8_v2(at + comm.rank * SIZE, 0, PAD)
    driver.ctx_synchronize()
    driver.ctx_pop_current_v2()
    exchange(comm, "")


def exchange(comm: Comm, what: str) -> list[str]:
    return [said.decode() for said in comm.exchange(what.encode(), "bare", LIMIT)]


def taken(address: str, key: int, held: ExitStack) -> int:
    descriptor = fetch(json.loads(address), key, LIMIT)
    handle = driver.mem_import_from_shareable_handle(descriptor, FD)
    os.close(descriptor)
    held.callback(driver.mem_release, handle)
    return handle


def mapped(handles: list[int], device: int, held: ExitStack) -> int:
    size = SIZE * len(handles)
    at = driver.mem_address_reserve(size, 0, 0, 0)
    held.callback(driver.mem_address_free, at, size)
    for index, handle in enumerate(handles):
        driver.mem_map(at + index * SIZE, SIZE, 0, handle, 0)
        held.callback(driver.mem_unmap, at + index * SIZE, SIZE)
    grant, location = driver.MemAccessDesc_v1(), driver.MemLocation_v1()
    location.type, location.id = 1, device
    grant.location, grant.flags_ = location, 3
    driver.mem_set_access(at, size, grant, 1)
    return at


def team(comm: Comm, device: int, held: ExitStack) -> None:
    """Bring up what a Team stands on."""
    held.callback(lay(Members(comm, comm.size, (comm.rank,), (device,)), require_multicast=True).close)


def timed(comm: Comm, device: int, work: Callable[[Comm, int, ExitStack], None]) -> float:
    with ExitStack() as held:
        comm.exchange(b"", "begin", LIMIT)
        began = time.perf_counter()
        work(comm, device, held)
        took = time.perf_counter() - began
        comm.exchange(b"", "end", LIMIT)
    return took


def main() -> None:
    rounds = int(sys.argv[1])
    driver.init(0)
    comm, device = open_comm(), int(os.environ["LOCAL_RANK"])
    took = {"bare": list[float](), "team": list[float]()}
    for _ in range(rounds + 1):
        took["bare"].append(timed(comm, device, bare))
        took["team"].append(timed(comm, device, team))
    print(json.dumps({name: seconds[1:] for name, seconds in took.items()}))
    comm.close()


if __name__ == "__main__":
    main()
