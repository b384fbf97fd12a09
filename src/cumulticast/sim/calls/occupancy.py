"""Occupancy: what fits on a multiprocessor, and which launch fills the device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from cumulticast.rules import launch, launch_options, module_functions, occupancies
from cumulticast.sim import functions, launch_attributes, launches, occupancy
from cumulticast.sim.calls.function import subject_of as function_subject
from cumulticast.sim.calls.kernel import subject_of as kernel_subject
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.functions import Subject
from cumulticast.sim.launches import Shape, volume
from cumulticast.sim.process import Process

SharedOf = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)  # CUoccupancyB2DSize


def subject_in(process: Process, value: int, context: Context) -> Subject:
    """See a CUfunction, or a CUkernel on a context's device."""
    function = process.modules.find_function(value)
    if function is not None:
        return function_subject(process, function)
    kernel = process.libraries.find_kernel(value)
    process.driver.judge(module_functions.function_valid, value, kernel is not None)
    assert kernel is not None
    return kernel_subject(process, kernel, context.ordinal)


@entry("cuOccupancyMaxActiveBlocksPerMultiprocessor")
def max_active_blocks(process: Process, context: Context, func: int, threads: int, dynamic: int) -> int:
    """Answer how many blocks a multiprocessor holds."""
    return max_active_blocks_with_flags(process, context, func, threads, dynamic, 0)


@entry("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
def max_active_blocks_with_flags(
    process: Process, context: Context, func: int, threads: int, dynamic: int, flags: int
) -> int:
    """Answer how many blocks a multiprocessor holds; caches make no difference on today's devices."""
    process.driver.judge(occupancies.occupancy_flags, flags)
    subject = subject_in(process, func, context)
    process.driver.judge(occupancies.occupancy_number, "block_size", threads, 1)
    return occupancy.blocks_per_multiprocessor(subject, threads, dynamic)


@entry("cuOccupancyAvailableDynamicSMemPerBlock")
def available_dynamic_shared(process: Process, context: Context, func: int, blocks: int, threads: int) -> int:
    """Answer the dynamic shared memory that so many blocks leave each other."""
    subject = subject_in(process, func, context)
    process.driver.judge(occupancies.occupancy_number, "num_blocks", blocks, 1)
    process.driver.judge(occupancies.occupancy_number, "block_size", threads, 1)
    process.driver.judge(launch.blocks_fit, blocks, occupancy.blocks_per_multiprocessor(subject, threads, 0))
    return occupancy.available_shared(subject, blocks)


# ---- suggestions: the caller's function is called without the driver's lock


@entry("cuOccupancyMaxPotentialBlockSize", locked=False)
def max_potential_block_size(
    process: Process, context: Context, func: int, shared_of: int, dynamic: int, limit: int
) -> tuple[int, int]:
    """Answer a grid and a block that fill the device."""
    return max_potential_block_size_with_flags(process, context, func, shared_of, dynamic, limit, 0)


@entry("cuOccupancyMaxPotentialBlockSizeWithFlags", locked=False)
def max_potential_block_size_with_flags(
    process: Process, context: Context, func: int, shared_of: int, dynamic: int, limit: int, flags: int
) -> tuple[int, int]:
    """Answer a grid and a block that fill the device."""
    with process.driver.lock:
        process.driver.judge(occupancies.occupancy_flags, flags)
        subject = subject_in(process, func, context)
        process.driver.judge(occupancies.occupancy_number, "block_size_limit", limit, 0)
    found = occupancy.suggest(subject, dynamic_of(shared_of, dynamic), limit)
    return found.grid, found.block


def dynamic_of(function: int, constant: int) -> Callable[[int], int]:
    """Answer what tells the dynamic shared memory of a block: the caller's function, or one size for all."""
    return SharedOf(function) if function else lambda threads: constant


# ---- clusters


@entry("cuOccupancyMaxActiveClusters")
def max_active_clusters(process: Process, thread: int, func: int, config: bytes) -> int:
    """Answer how many clusters the device holds at once."""
    subject, shape = configured(process, thread, func, config)
    cluster = shape.cluster or subject.cluster
    process.driver.judge(launch_options.cluster_named, cluster is not None)
    if cluster is None:
        return 0
    launches.check_cluster(process, subject, shape, cluster)
    return occupancy.active_clusters(subject, volume(cluster), shape.threads, shape.dynamic)


@entry("cuOccupancyMaxPotentialClusterSize")
def max_potential_cluster_size(process: Process, thread: int, func: int, config: bytes) -> int:
    """Answer the most blocks of a cluster: what is portable, unless the kernel allows more.

    What the kernel requires comes first in the documents; a real driver does not look at it (recorded: occupancy/
    fixed.cluster_size).
    """
    subject, shape = configured(process, thread, func, config)
    if subject.cluster is not None and process.driver.profile == "strict":
        return volume(subject.cluster)
    wide = bool(subject.settings.get(functions.NON_PORTABLE_CLUSTER))
    largest = occupancy.largest_cluster(subject.device, portable=not wide)
    while largest > 1 and not occupancy.active_clusters(subject, largest, shape.threads, shape.dynamic):
        largest //= 2
    return largest


def configured(process: Process, thread: int, func: int, config: bytes) -> tuple[Subject, Shape]:
    """See a function on the device of the configuration's stream, with the shape that it names."""
    shape, stream, _ = launch_attributes.read(process, config)
    process.driver.judge(occupancies.occupancy_number, "block size", shape.threads, 1)
    return subject_in(process, func, stream_of(process, thread, stream).context), shape
