"""NVSHMEM, mscclpp, FlashInfer, TensorRT-LLM, ThunderKittens: windows, views, and teardowns that skip steps.

Only the order and the arguments of the driver calls, as public sources have them; no line of those is here.
"""

from __future__ import annotations

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
    Refusal,
    Run,
    all_reduced,
    diary,
    every_rank,
)

pytestmark = pytest.mark.timeout(60)


def gone(job: Client, ptr: int, size: int, *handles: int) -> None:
    job.do("mem_unmap", ptr, size)
    job.do("mem_address_free", ptr, size)
    for handle in handles:
        job.do("mem_release", handle)


# ---- NVSHMEM: team_internal_nvls.cpp, mem_heap.cpp


def nvshmem(job: Client) -> None:
    heap, chunk = 64 * STEP, 8 * STEP
    kind = job.kind(FD)
    base = job.do("mem_address_reserve", heap, 0, 0, 0)
    handle = job.do("mem_create", chunk, kind, 0)
    job.do("mem_map", base, chunk, 0, handle, 0)
    job.do("mem_set_access", base, chunk, job.access(job.device), 1)
    prop = job.team(heap, FD)
    job.object_granularity(prop, MINIMUM)  # for the log only
    mc, _ = job.shared_object(prop, FD)
    job.do("multicast_add_device", mc, job.device)
    job.barrier()
    mc_base = job.do("mem_address_reserve", heap, 0, 0, 0)
    job.do("mem_map", mc_base, heap, 0, mc, 0)
    job.do("mem_set_access", mc_base, heap, job.access(job.device), 1)
    for part in range(2):  # by chunks of the heap, at offsets of both
        at = part * chunk // 2
        job.do("multicast_bind_mem", mc, at, handle, at, chunk // 2, 0)
    job.barrier()
    all_reduced(job, base + chunk // 2, mc_base + chunk // 2)
    grown = job.do("mem_create", chunk, kind, 0)
    job.do("mem_map", base + chunk, chunk, 0, grown, 0)
    job.do("mem_set_access", base + chunk, chunk, job.access(job.device), 1)
    job.do("multicast_bind_mem", mc, chunk, grown, 0, chunk, 0)
    job.barrier()
    all_reduced(job, base + chunk, mc_base + chunk)
    job.do("mem_unmap", mc_base, heap)
    for at, size in ((0, chunk // 2), (chunk // 2, chunk // 2), (chunk, chunk)):
        job.do("multicast_unbind", mc, job.device, at, size)
    job.do("mem_address_free", mc_base, heap)
    job.do("mem_release", mc)
    for at, what in ((0, handle), (chunk, grown)):
        job.do("mem_unmap", base + at, chunk)
        job.do("mem_release", what)
    job.do("mem_address_free", base, heap)


def run_nvshmem(rank: int, world_size: int) -> Notes:
    return diary(nvshmem, rank, world_size)


@PROFILES
def test_nvshmem(run_ranks: Run, profile: str) -> None:
    assert run_ranks(run_nvshmem, RANKS, profile=profile) == every_rank([], [], RANKS)


# ---- mscclpp: gpu_ipc_mem.cc, switch_channel.cc


def mscclpp(job: Client) -> None:
    both, size, piece = FD | FABRIC, 8 * STEP, 2 * STEP
    kind = job.kind(both)
    trial = job.do("mem_create", STEP, job.kind(FABRIC), 0)
    job.do("mem_release", trial)
    handles = [job.do("mem_create", piece, kind, 0) for _ in range(2)]
    ptrs = [job.mapped(handle, piece) for handle in handles]
    mc, created = job.shared_object(job.team(size, both), FABRIC, root_imports=True)
    if created:
        for fd in job.exported(created, FD)[1]:
            os.close(fd)
    job.do("multicast_add_device", mc, job.device)
    views = []
    for k, ptr in enumerate(ptrs):
        at = k * piece
        job.do("mem_release", job.do("mem_retain_allocation_handle", ptr + STEP))  # is it memory of this kind?
        job.do("multicast_bind_addr", mc, at, ptr, piece, 0)
        # An object is mapped from its beginning, so each buffer's view begins there, too: several views at once.
        view = job.do("mem_address_reserve", at + piece, 0, 0, 0)
        job.do("mem_map", view, at + piece, 0, mc, 0)
        job.do("mem_set_access", view, at + piece, job.access(job.device), 1)
        views.append(view)
    job.barrier()
    for k, (ptr, view) in enumerate(zip(ptrs, views, strict=True)):
        all_reduced(job, ptr, view + k * piece)
    all_reduced(job, ptrs[0], views[1])
    for k, view in enumerate(views):
        job.do("mem_unmap", view, (k + 1) * piece)
        job.do("mem_address_free", view, (k + 1) * piece)
        job.ignoring("multicast_unbind", mc, job.device, k * piece, piece)
    job.do("mem_release", mc)
    if created:
        job.do("mem_release", created)
    for ptr in ptrs:  # frees by what the address alone tells, and the reference of the creation goes last
        handle = job.do("mem_retain_allocation_handle", ptr)
        job.do("mem_release", handle)
        start, length = job.do("mem_get_address_range_v2", ptr)
        assert (int(start), int(length)) == (ptr, piece)
        job.do("mem_unmap", ptr, piece)
        job.do("mem_release", handle)
        job.do("mem_address_free", ptr, piece)


def run_mscclpp(rank: int, world_size: int) -> Notes:
    return diary(mscclpp, rank, world_size)


@PROFILES
def test_mscclpp(run_ranks: Run, profile: str) -> None:
    assert run_ranks(run_mscclpp, RANKS, profile=profile) == every_rank([], [], RANKS)


# ---- FlashInfer: comm/mnnvl.py, mixed_comm.py


def flashinfer(job: Client, types: int) -> None:
    assert job.do("device_get_attribute", 132, job.device) == 1  # MULTICAST_SUPPORTED
    kind = job.kind(types, rdma=True)
    size = max(job.granularity(kind, RECOMMENDED), job.object_granularity(job.team(STEP, types), RECOMMENDED))
    handle = job.do("mem_create", size, kind, 0)
    shared = job.exported(handle, types)
    peers = [job.imported(*one) for one in job.gather(*shared)]
    for fd in shared[1]:
        os.close(fd)
    job.barrier()
    whole = size * job.world_size
    base = job.do("mem_address_reserve", whole, size, 0, 0)
    for k, peer in enumerate(peers):
        job.do("mem_map", base + k * size, size, 0, peer, 0)
    job.do("mem_set_access", base, whole, job.access(job.device), 1)  # over all mappings at once
    objects, own = [], base + job.rank * size
    for _ in range(2):  # "full" and "tp": two objects over the same memory
        mc, _ = job.shared_object(job.team(size, types), types)
        job.do("multicast_add_device", mc, job.device)
        ptr = job.do("mem_address_reserve", size, size, 0, 0)
        job.do("mem_map", ptr, size, 0, mc, 0)
        job.do("mem_set_access", ptr, size, job.access(job.device), 1)
        job.do("multicast_bind_mem", mc, 0, handle, 0, size, 0)
        objects.append((mc, ptr))
    job.barrier()
    for _, ptr in objects:
        all_reduced(job, own, ptr)
    for k, peer in enumerate(peers):  # its __del__: nothing is unbound
        job.do("mem_release", peer)
        job.do("mem_unmap", base + k * size, size)
    job.do("mem_release", handle)
    job.do("mem_address_free", base, whole)
    job.barrier()
    for mc, ptr in objects:
        job.do("mem_unmap", ptr, size)
        job.do("mem_address_free", ptr, size)
        job.do("mem_release", mc)
    job.barrier()


def run_flashinfer(rank: int, world_size: int, types: int) -> Notes:
    return diary(lambda job: flashinfer(job, types), rank, world_size)


@PROFILES
@pytest.mark.parametrize("types", [FD, FABRIC], ids=["fd", "fabric"])
def test_flashinfer(run_ranks: Run, profile: str, types: int) -> None:
    notes = run_ranks(run_flashinfer, RANKS, profile=profile, arguments={"types": types})
    assert all(note["refused"] == [] for note in notes)
    # Memory of each rank goes while it is bound; the call that lets the last reference go is the one that is told.
    assert {rule.partition(":")[2] for note in notes for rule in note["found"]} == {"MC865"}


# ---- TensorRT-LLM: runtime/mcastDeviceMemory.cpp


def trtllm(job: Client) -> None:
    kind = job.kind(FABRIC)
    # The object is made for the buffer; map and bind go by the size after rounding, which is more.
    wanted, size = 3 * STEP, 4 * STEP
    job.granularity(kind, MINIMUM)
    job.object_granularity(job.team(wanted, FABRIC), RECOMMENDED)
    handle = job.do("mem_create", size, kind, 0)
    peers = [job.imported(*one) for one in job.gather(*job.exported(handle, FABRIC))]
    mc, _ = job.shared_object(job.team(wanted, FABRIC), FABRIC)
    job.do("multicast_add_device", mc, job.device)
    ptrs = [job.mapped(peer, size) for peer in peers]
    try:
        mc_ptr = job.mapped(mc, size)
        job.do("multicast_bind_mem", mc, 0, handle, 0, size, 0)
    except Refusal:  # its macro throws here, on every rank; what else would be refused is still asked
        job.ignoring("multicast_bind_mem", mc, 0, handle, 0, size, 0)
        job.barrier()  # or a rank that throws early lets its reference go before the last has imported: MC610
        raise
    job.barrier()
    all_reduced(job, ptrs[job.rank] + wanted, mc_ptr + wanted)
    for ptr, peer in zip(ptrs, peers, strict=True):
        job.do("mem_unmap", ptr, size)
        job.do("mem_release", peer)
    job.barrier()
    job.do("mem_release", handle)
    gone(job, mc_ptr, size, mc)
    job.barrier()


def run_trtllm(rank: int, world_size: int) -> Notes:
    return diary(trtllm, rank, world_size)


def test_tensorrt_llm(run_ranks: Run) -> None:
    found = ["mem_map:MC505", "mem_release:MC865", "multicast_bind_mem:MC308"]
    assert run_ranks(run_trtllm, RANKS) == every_rank(found, [], RANKS)


def test_tensorrt_llm_is_refused_in_strict(run_ranks: Run) -> None:
    refused = ["mem_map:MC505", "multicast_bind_mem:MC308"]
    assert run_ranks(run_trtllm, RANKS, profile="strict") == every_rank([], refused, RANKS)


# ---- ThunderKittens: types/system/vmm.cuh


def kittens(job: Client) -> None:
    kind = job.kind(FD)
    size = 2 * max(job.granularity(kind, RECOMMENDED), job.object_granularity(job.team(2 * STEP, FD), RECOMMENDED))
    handle = job.do("mem_create", size, kind, 0)
    ptr = job.do("mem_address_reserve", size, STEP, 0, 0)
    job.do("mem_map", ptr, size, 0, handle, 0)
    everyone = range(job.world_size)
    job.do("mem_set_access", ptr, size, job.access(*everyone), job.world_size)
    mc, _ = job.shared_object(job.team(size, FD), FD)
    job.do("multicast_add_device", mc, job.device)
    job.barrier()
    job.do("multicast_bind_mem", mc, 0, handle, 0, size, 0)
    job.barrier()
    mc_ptr = job.do("mem_address_reserve", size, STEP, 0, 0)
    job.do("mem_map", mc_ptr, size, 0, mc, 0)
    job.do("mem_set_access", mc_ptr, size, job.access(*everyone), job.world_size)  # for every local device
    job.do("mem_release", mc)  # the mappings keep both
    job.do("mem_release", handle)
    all_reduced(job, ptr, mc_ptr)
    again = job.do("mem_retain_allocation_handle", mc_ptr + STEP)
    job.do("mem_unmap", mc_ptr, size)
    job.do("multicast_unbind", again, job.device, 0, size)
    job.barrier()
    job.do("mem_release", again)
    job.do("mem_address_free", mc_ptr, size)
    gone(job, ptr, size)


def run_kittens(rank: int, world_size: int) -> Notes:
    return diary(kittens, rank, world_size)


@PROFILES
def test_thunderkittens(run_ranks: Run, profile: str) -> None:
    assert run_ranks(run_kittens, RANKS, profile=profile, devices=RANKS) == every_rank([], [], RANKS)


def run_kittens_on_too_many(rank: int, world_size: int) -> Notes:
    return diary(kittens_for_all, rank, world_size)


def kittens_for_all(job: Client) -> None:
    """Ask for access of a device that is not in the team, as a job on a part of a machine would."""
    mc, _ = job.shared_object(job.team(STEP, FD), FD)
    job.do("multicast_add_device", mc, job.device)
    ptr = job.do("mem_address_reserve", STEP, 0, 0, 0)
    job.do("mem_map", ptr, STEP, 0, mc, 0)
    job.do("mem_set_access", ptr, STEP, job.access(*range(job.world_size + 1)), job.world_size + 1)


@pytest.mark.parametrize(("profile", "rule"), [("hardware", "MC513"), ("strict", "MC512")])
def test_access_is_for_the_team_alone(run_ranks: Run, profile: str, rule: str) -> None:
    notes = run_ranks(run_kittens_on_too_many, RANKS, profile=profile)
    assert [note["refused"] for note in notes] == [[f"mem_set_access:{rule}"]] * RANKS
