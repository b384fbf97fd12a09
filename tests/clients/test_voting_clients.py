"""PyTorch's symmetric memory, NCCL and UCC: who creates, who imports, what is agreed on and how it is taken down.

Only the order and the arguments of the driver calls, as public sources have them; no line of those is here.
"""

from __future__ import annotations

import ctypes
import os

import pytest
from skeleton import (
    FABRIC,
    FD,
    MINIMUM,
    PROFILES,
    RANKS,
    RECOMMENDED,
    STEP,
    Client,
    Notes,
    Run,
    all_reduced,
    diary,
    every_rank,
)

pytestmark = pytest.mark.timeout(60)


# ---- PyTorch: c10d/symm_mem/CUDASymmetricMemory.cu


def pytorch(job: Client, types: int) -> None:
    kind = job.kind(types)
    block = job.granularity(kind, RECOMMENDED) * 2
    handle = job.do("mem_create", block, kind, 0)
    ptr = job.mapped(handle, block)
    stream = job.do("stream_create", 0)
    job.do("memset_d8_async", ptr, 0, 2048, stream)
    shared = job.exported(handle, types)
    peers = [job.imported(*one) for one in job.gather(*shared)]
    ptrs = [job.mapped(peer, block) for peer in peers]
    for fd in shared[1]:
        os.close(fd)
    job.barrier()
    # The granularity of multicast is never asked for, and rank 0 imports its own object.
    mc, created = job.shared_object(job.team(block, types), types, root_imports=True)
    job.do("multicast_add_device", mc, job.device)
    job.do("multicast_bind_mem", mc, 0, handle, 0, block, 0)
    assert [data for data, _ in job.gather(b"\1")] == [b"\1"] * job.world_size
    if created:
        job.do("mem_release", created)
    mc_ptr = job.mapped(mc, block)
    all_reduced(job, ptr, mc_ptr)
    job.do("stream_synchronize", stream)
    # The object goes before the buffers, and no address range is ever freed.
    job.do("mem_unmap", mc_ptr, block)
    job.do("multicast_unbind", mc, job.device, 0, block)
    job.do("mem_release", mc)
    for at, peer in [(ptr, handle), *zip(ptrs, peers, strict=True)]:
        job.do("mem_unmap", at, block)
        job.do("mem_release", peer)


def run_pytorch(rank: int, world_size: int, types: int) -> Notes:
    return diary(lambda job: pytorch(job, types), rank, world_size)


@PROFILES
@pytest.mark.parametrize("types", [FD, FABRIC], ids=["fd", "fabric"])
def test_pytorch(run_ranks: Run, profile: str, types: int) -> None:
    assert run_ranks(run_pytorch, RANKS, profile=profile, arguments={"types": types}) == every_rank([], [], RANKS)


# ---- NCCL: transport/nvls.cc


def nccl(job: Client) -> None:
    size = 3 * STEP
    prop = job.team(size, FD)
    size = -(-size // job.object_granularity(prop, RECOMMENDED)) * job.object_granularity(prop, RECOMMENDED)
    mc, _ = job.shared_object(job.team(size, FD), FD)
    job.do("multicast_add_device", mc, job.device)
    kind = job.kind(FD)
    ptr = job.do("mem_address_reserve", size, job.granularity(kind, RECOMMENDED), 0, 0)
    handle = job.do("mem_create", size, kind, 0)
    job.do("mem_map", ptr, size, 0, handle, 0)
    job.do("mem_set_access", ptr, size, job.access(job.device), 1)
    job.do("memset_d8_v2", ptr, 0, size)
    job.barrier()
    job.do("multicast_bind_mem", mc, 0, handle, 0, size, 0)
    mc_ptr = job.mapped(mc, size, STEP)
    all_reduced(job, ptr, mc_ptr)
    registered(job)
    job.do("multicast_unbind", mc, job.device, 0, size)
    job.barrier()
    for at, what in ((ptr, handle), (mc_ptr, mc)):
        job.do("mem_unmap", at, size)
        job.do("mem_address_free", at, size)
        job.do("mem_release", what)


def registered(job: Client) -> None:
    """Register a user's buffer, which the user frees before it is deregistered: the unbind's error is ignored."""
    kind = job.kind(FD)
    handle = job.do("mem_create", STEP, kind, 0)
    ptr = job.mapped(handle, STEP)
    mc, _ = job.shared_object(job.team(STEP, FD), FD)
    job.do("multicast_add_device", mc, job.device)
    job.barrier()
    job.do("multicast_bind_addr", mc, 0, ptr, STEP, 0)
    mc_ptr = job.mapped(mc, STEP)
    all_reduced(job, ptr, mc_ptr)
    job.do("mem_unmap", ptr, STEP)
    job.do("mem_address_free", ptr, STEP)
    job.do("mem_release", handle)
    job.do("mem_unmap", mc_ptr, STEP)
    job.do("mem_address_free", mc_ptr, STEP)
    job.ignoring("multicast_unbind", mc, job.device, 0, STEP)
    job.do("mem_release", mc)
    job.barrier()


def run_nccl(rank: int, world_size: int) -> Notes:
    return diary(nccl, rank, world_size)


def test_nccl(run_ranks: Run) -> None:
    found = ["mem_release:MC865", "multicast_unbind:MC409"]
    assert run_ranks(run_nccl, RANKS) == every_rank(found, [], RANKS)


def test_nccl_is_refused_one_unbind_in_strict(run_ranks: Run) -> None:
    found = ["mem_release:MC865", "multicast_unbind:MC409"]
    assert run_ranks(run_nccl, RANKS, profile="strict") == every_rank(found, ["multicast_unbind:MC409"], RANKS)


# ---- NCCL's symmetric windows: dev_runtime.cc


def windows(job: Client) -> None:
    window = 512 << 20
    sizes = [(2 + job.rank) * STEP, 4 * STEP]  # the first differs from rank to rank: the least of them is bound
    least, kind = [2 * STEP, 4 * STEP], job.kind(FD)
    handles = [job.do("mem_create", size, kind, 0) for size in sizes]
    base = job.do("mem_address_reserve", window, window, 0, 0)
    places = [0, 8 * STEP]
    for at, handle, size in zip(places, handles, sizes, strict=True):
        job.do("mem_map", base + at, size, 0, handle, 0)
        job.do("mem_set_access", base + at, size, job.access(job.device), 1)
    teams = []
    for _ in range(2):  # two teams of the same ranks: two objects over the same memory
        mc, _ = job.shared_object(job.team(window, FD), FD)
        job.do("multicast_add_device", mc, job.device)
        mc_base = job.do("mem_address_reserve", window, window, 0, 0)
        job.do("mem_map", mc_base, window, 0, mc, 0)  # the whole window, before anything is bound
        job.do("mem_set_access", mc_base, window, job.access(job.device), 1)
        teams.append((mc, mc_base))
    for at, size in zip(places, least, strict=True):  # it grows: each new memory is bound to every team
        for mc, _ in teams:
            job.do("multicast_bind_addr", mc, at, base + at, size, 0)
    job.barrier()
    for _, mc_base in teams:
        for at in places:
            all_reduced(job, base + at, mc_base + at)
    for mc, mc_base in teams:
        for at, size in zip(places, least, strict=True):
            job.do("multicast_unbind", mc, job.device, at, size)
        job.do("mem_unmap", mc_base, window)
        job.do("mem_address_free", mc_base, window)
        job.do("mem_release", mc)
    for at, handle in zip(places, handles, strict=True):
        start, size = job.do("mem_get_address_range_v2", base + at)
        assert int(start) == base + at
        job.do("mem_unmap", start, size)
        job.do("mem_release", handle)
    job.do("mem_address_free", base, window)


def run_windows(rank: int, world_size: int) -> Notes:
    return diary(windows, rank, world_size)


@PROFILES
def test_nccl_symmetric_windows(run_ranks: Run, profile: str) -> None:
    advice = ["multicast_bind_addr:MC312"]  # of a 512 MiB window pieces are bound
    assert run_ranks(run_windows, RANKS, profile=profile) == every_rank(advice, [], RANKS)


# ---- UCC: tl_cuda_nvls.c

PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)
PIDFD_GETFD = 438


def fetched(pid: int, fd: int) -> int:
    """Take a descriptor out of another process."""
    pidfd = os.pidfd_open(pid)
    try:
        return ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, fd, 0)
    finally:
        os.close(pidfd)


def ucc(job: Client) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0)
    size, types = 2 * STEP, FD
    prop = job.team(size, types)
    least, most = (job.object_granularity(prop, option) for option in (MINIMUM, RECOMMENDED))
    size = -(-size // most) * most
    mc, record, fd = 0, b"", -1
    if not job.rank:
        mc = job.do("multicast_create", job.team(size, types))
        fd = job.exported(mc, types)[1][0]
        record = b"%d %d" % (os.getpid(), fd)
    pid, number = map(int, job.gather(record)[0][0].split())
    if job.rank:
        taken = fetched(pid, number)
        if taken >= 0:
            mc = job.imported(b"", [taken])
    ready = [data for data, _ in job.gather(b"\1" if mc else b"\0")]
    if fd >= 0:
        os.close(fd)
    if b"\0" in ready:  # all or none: here, where no process may look into another, none
        job.notes["found"].append("no pidfd_getfd")
        return
    kind = job.kind(types)
    handle = job.do("mem_create", size, kind, 0)
    ptr = job.mapped(handle, size, least)
    job.do("memset_d2d8_v2", ptr, 4096, 0, 1024, 4)
    job.do("multicast_add_device", mc, job.device)
    job.do("multicast_bind_addr", mc, 0, ptr, size, 0)  # also the barrier
    mc_ptr = job.mapped(mc, size)
    job.barrier()
    all_reduced(job, ptr, mc_ptr)
    if not job.rank:
        job.do("multicast_unbind", mc, job.device, 0, size)
    job.do("mem_release", mc)
    for at in (mc_ptr, ptr):
        job.do("mem_unmap", at, size)
        job.do("mem_address_free", at, size)
    job.do("mem_release", handle)


def run_ucc(rank: int, world_size: int) -> Notes:
    return diary(ucc, rank, world_size)


@PROFILES
def test_ucc(run_ranks: Run, profile: str) -> None:
    notes = run_ranks(run_ucc, RANKS, profile=profile)
    if "no pidfd_getfd" in notes[0]["found"]:
        pytest.skip("ptrace of other processes is restricted here")
    assert all(note["refused"] == [] for note in notes)
    # Rank 0 alone unbinds; of the others' binds the last one to go is told, and each of them that its memory went.
    assert [rule for rule in notes[0]["found"] if rule.endswith("MC865")] == []
    for note in notes[1:]:
        assert "mem_release:MC865" in note["found"], notes
