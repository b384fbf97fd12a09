"""How many blocks of a kernel a multiprocessor holds: the arithmetic of NVIDIA's occupancy calculator.

Registers are an estimate of the compiler here, so answers can differ from a device's by a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cumulticast.sim.functions import REGISTER_STEP, THREADS_PER_BLOCK, WARP, Subject
from cumulticast.sim.machine import Device

# CUdevice_attribute
MULTIPROCESSORS, THREADS_PER_MULTIPROCESSOR, SHARED_PER_MULTIPROCESSOR = 16, 39, 81
REGISTERS_PER_MULTIPROCESSOR, BLOCKS_PER_MULTIPROCESSOR, RESERVED_SHARED = 82, 106, 111
SHARED_STEP = 128  # shared memory is handed out in pieces of this many bytes (occupancy calculator, sm_80 and later)
PARTITIONS = 4  # a multiprocessor has four register files, and a warp's registers lie in one
PORTABLE_CLUSTER, LARGEST_CLUSTER = 8, 16  # cuFuncGetAttribute; CUDA programming guide, thread block clusters
GROUPS, PAIR = 8, 2  # GPCs of a chip, and the multiprocessors that share a TPC in them
CLUSTER_SHARE = 2  # clusters fill half of the threads
CLUSTER_LAUNCH = 120  # CUdevice_attribute


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A launch that fills the device: cuOccupancyMaxPotentialBlockSize."""

    grid: int
    block: int


def blocks_per_multiprocessor(subject: Subject, threads: int, dynamic: int) -> int:
    """Answer how many blocks of ``threads`` with ``dynamic`` bytes a multiprocessor holds; 0 where it can hold none."""
    if threads > subject.device.attributes[THREADS_PER_BLOCK] or dynamic > subject.dynamic_limit:
        return 0  # the bound of the source does not count (recorded: occupancy/bounded.129)
    attributes = subject.device.attributes
    warps = -(-threads // WARP)
    return min(
        attributes[BLOCKS_PER_MULTIPROCESSOR],
        attributes[THREADS_PER_MULTIPROCESSOR] // (warps * WARP),
        by_registers(subject, warps),
        by_shared(subject, dynamic),
    )


def by_registers(subject: Subject, warps: int) -> int:
    """Answer how many blocks of ``warps`` have room for their registers."""
    per_warp = -(-max(subject.kernel.registers, 1) * WARP // REGISTER_STEP) * REGISTER_STEP
    partition = subject.device.attributes[REGISTERS_PER_MULTIPROCESSOR] // PARTITIONS
    return partition // per_warp * PARTITIONS // warps


def by_shared(subject: Subject, dynamic: int) -> int:
    """Answer how many blocks have room for their shared memory, with what the system reserves for each."""
    attributes = subject.device.attributes
    needed = subject.kernel.static_shared + dynamic + attributes[RESERVED_SHARED]
    return attributes[SHARED_PER_MULTIPROCESSOR] // (-(-needed // SHARED_STEP) * SHARED_STEP)


def resident(subject: Subject, threads: int, dynamic: int) -> int:
    """Answer how many blocks the whole device holds at once."""
    return blocks_per_multiprocessor(subject, threads, dynamic) * subject.device.attributes[MULTIPROCESSORS]


def available_shared(subject: Subject, blocks: int) -> int:
    """Answer the dynamic shared memory that lets ``blocks`` blocks run on a multiprocessor.

    A real driver does not count what the system reserves for each block (recorded: occupancy/available.32.32).
    """
    share = subject.device.attributes[SHARED_PER_MULTIPROCESSOR] // blocks // SHARED_STEP * SHARED_STEP
    return min(max(share - subject.kernel.static_shared, 0), subject.dynamic_limit)


def suggest(subject: Subject, dynamic_of: Callable[[int], int], limit: int) -> Suggestion:
    """Find the largest block that keeps the most threads of a multiprocessor busy.

    Parameters
    ----------
    dynamic_of
        Threads of a block → bytes of dynamic shared memory.
    limit
        The most threads that the caller's kernel can handle; 0: as many as it was compiled for.
    """
    best, chosen = 0, Suggestion(0, 0)
    for threads in sizes(min(limit or subject.max_threads, subject.max_threads)):
        blocks = blocks_per_multiprocessor(subject, threads, dynamic_of(threads))
        if blocks * threads > best:
            best = blocks * threads
            chosen = Suggestion(blocks * subject.device.attributes[MULTIPROCESSORS], threads)
        if best == subject.device.attributes[THREADS_PER_MULTIPROCESSOR]:
            break
    return chosen


def sizes(most: int) -> Iterator[int]:
    """List block sizes, largest first: the limit itself, then whole warps."""
    yield most
    yield from range((most - 1) // WARP * WARP, 0, -WARP)


def active_clusters(subject: Subject, cluster: int, threads: int, dynamic: int) -> int:
    """Answer how many clusters of ``cluster`` blocks the device holds.

    Recorded for blocks of 128 threads: half as many blocks as without clusters, each cluster within one group of
    multiprocessors (a GPC), and of each group one multiprocessor is left out once clusters have more than two blocks.
    """
    blocks = blocks_per_multiprocessor(subject, threads, dynamic)
    most = subject.device.attributes[THREADS_PER_MULTIPROCESSOR] // CLUSTER_SHARE // (-(-threads // WARP) * WARP)
    left_out = 1 if cluster > PAIR else 0
    return sum((size - left_out) * min(blocks, most) // cluster for size in groups(subject.device))


def groups(device: Device) -> list[int]:
    """Deal the multiprocessors, which come in pairs, out to the groups of a chip as evenly as it goes."""
    pairs, odd = divmod(device.attributes[MULTIPROCESSORS], PAIR)
    each, more = divmod(pairs, GROUPS)
    return [PAIR * (each + (number < more)) + odd * (not number) for number in range(GROUPS)]


def largest_cluster(device: Device, *, portable: bool) -> int:
    """Answer the most blocks of a cluster on a device; 1 where it has no clusters."""
    if not device.attributes.get(CLUSTER_LAUNCH):
        return 1
    return PORTABLE_CLUSTER if portable else LARGEST_CLUSTER
