"""What can be asked of the current context, and set: device, flags, limits, configurations."""

from __future__ import annotations

import struct

from cumulticast.rules import Refused, Status, contexts
from cumulticast.sim import captures
from cumulticast.sim.calls.context import (
    API_VERSION,
    FLAGS_MASK,
    MAP_HOST,
    REMEMBERED,
    context_or_current,
)
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.process import Process
from cumulticast.sim.streams import GREATEST_PRIORITY, LEAST_PRIORITY, await_context

MULTIPROCESSOR_COUNT, SHARED_MEMORY_OPTIN = 16, 97  # CUdevice_attribute
STACK_SIZE, PRINTF_FIFO, MALLOC_HEAP, PENDING_LAUNCHES, L2_GRANULARITY, PERSISTING_L2, SHMEM, CIG = (
    0,
    1,
    2,
    4,
    5,
    6,
    7,
    8,
)
LAST_LIMIT = 10
# What a real driver answers at first, and the most it takes; the rest is unsupported (215).
# Recorded: h200-580.159-driver.json, group limits.
DEFAULT_LIMITS = {
    STACK_SIZE: 1024,
    PRINTF_FIFO: 8650752,
    MALLOC_HEAP: 8388608,
    PENDING_LAUNCHES: 2048,
    L2_GRANULARITY: 64,
    PERSISTING_L2: 11796480,
    CIG: 0,
}
MOST = {STACK_SIZE: 512 << 10, L2_GRANULARITY: 128}
PERSISTING_STEP = 3932160
READ_ONLY = (SHMEM, CIG)
CACHE_CONFIGS, SHARED_CONFIGS = range(4), range(3)
SM_COUNT = 0  # CUexecAffinityType


@entry("cuCtxGetDevice")
def ctx_get_device(process: Process, context: Context) -> int:
    """Answer the device of the current context."""
    return context.ordinal


@entry("cuCtxGetDevice_v2")
def ctx_get_device_v2(process: Process, thread: int, ctx: int) -> int:
    """Answer the device of a context; of the current one for 0."""
    return context_or_current(process, thread, ctx).ordinal


@entry("cuCtxSynchronize")
def ctx_synchronize(process: Process, context: Context, thread: int) -> None:
    """Wait for all work of the current context."""
    captures.forbid_context(process, context)
    await_context(process, thread, context)


@entry("cuCtxSynchronize_v2")
def ctx_synchronize_v2(process: Process, thread: int, ctx: int) -> None:
    """Wait for all work of a context."""
    context = context_or_current(process, thread, ctx)
    captures.forbid_context(process, context)
    await_context(process, thread, context)


@entry("cuCtxGetFlags")
def ctx_get_flags(process: Process, context: Context) -> int:
    """Answer the flags; a primary context always shows MAP_HOST (recorded)."""
    return context.flags | (MAP_HOST if context.primary else 0)


@entry("cuCtxSetFlags")
def ctx_set_flags(process: Process, context: Context, flags: int) -> None:
    """Set the flags."""
    process.driver.judge(contexts.context_flags, flags, FLAGS_MASK)
    context.flags = flags & REMEMBERED


@entry("cuCtxGetId")
def ctx_get_id(process: Process, thread: int, ctx: int) -> int:
    """Answer a number that no other context of this process ever has."""
    return context_or_current(process, thread, ctx).serial


@entry("cuCtxGetApiVersion")
def ctx_get_api_version(process: Process, thread: int, ctx: int) -> int:
    """Answer the version of the context interface: 3020 since CUDA 3.2."""
    context_or_current(process, thread, ctx)
    return API_VERSION


@entry("cuCtxGetStreamPriorityRange")
def ctx_get_stream_priority_range(process: Process, context: Context) -> tuple[int, int]:
    """Answer least and greatest priority."""
    return LEAST_PRIORITY, GREATEST_PRIORITY


@entry("cuCtxGetLimit")
def ctx_get_limit(process: Process, context: Context, limit: int) -> int:
    """Answer a limit."""
    check_limit(limit)
    if limit == SHMEM:
        return process.devices[context.ordinal].attributes[SHARED_MEMORY_OPTIN]
    return context.limits.get(limit, DEFAULT_LIMITS[limit])


@entry("cuCtxSetLimit")
def ctx_set_limit(process: Process, context: Context, limit: int, value: int) -> None:
    """Set a limit; nothing here is bound by it yet."""
    check_limit(limit)
    if limit in READ_ONLY:
        raise Refused(Status.UNSUPPORTED_LIMIT, None, f"limit {limit} cannot be set")
    if value > MOST.get(limit, process.machine.total_memory):
        raise Refused(Status.INVALID_VALUE, None, f"value {value} is more than limit {limit} can be")
    if limit == PERSISTING_L2:
        value = min(-(-value // PERSISTING_STEP) * PERSISTING_STEP, DEFAULT_LIMITS[limit])
    context.limits[limit] = value


def check_limit(limit: int) -> None:
    """Refuse limits that no driver knows (1), and those that this one lacks (215)."""
    if not 0 <= limit <= LAST_LIMIT:
        raise Refused(Status.INVALID_VALUE, None, f"limit {limit} is none of CUlimit (0 to {LAST_LIMIT})")
    if limit not in DEFAULT_LIMITS and limit != SHMEM:
        raise Refused(Status.UNSUPPORTED_LIMIT, None, f"limit {limit} is not supported by this device")


@entry("cuCtxGetCacheConfig")
def ctx_get_cache_config(process: Process, context: Context) -> int:
    """Answer the preferred cache configuration."""
    return context.cache_config


@entry("cuCtxSetCacheConfig")
def ctx_set_cache_config(process: Process, context: Context, config: int) -> None:
    """Set the preferred cache configuration."""
    if config not in CACHE_CONFIGS:
        raise Refused(Status.INVALID_VALUE, None, f"config {config} is none of CUfunc_cache (0 to 3)")
    context.cache_config = config


@entry("cuCtxGetSharedMemConfig")
def ctx_get_shared_mem_config(process: Process, context: Context) -> int:
    """Answer the width of shared memory banks."""
    return context.shared_config


@entry("cuCtxSetSharedMemConfig")
def ctx_set_shared_mem_config(process: Process, context: Context, config: int) -> None:
    """Accept a width of shared memory banks; no recent device has another than four bytes."""
    if config not in SHARED_CONFIGS:
        raise Refused(Status.INVALID_VALUE, None, f"config {config} is none of CUsharedconfig (0 to 2)")


@entry("cuCtxResetPersistingL2Cache")
def ctx_reset_persisting_l2_cache(process: Process, context: Context) -> None:
    """Forget what persists in the L2 cache: no cache is simulated, so nothing does."""


@entry("cuCtxGetExecAffinity")
def ctx_get_exec_affinity(process: Process, context: Context, kind: int) -> bytes:
    """Answer how many multiprocessors the context may use: all of them."""
    if kind != SM_COUNT:
        raise Refused(Status.UNSUPPORTED_EXEC_AFFINITY, None, f"type {kind} must be 0 (SM_COUNT)")
    return struct.pack("<iI", SM_COUNT, process.devices[context.ordinal].attributes[MULTIPROCESSOR_COUNT])
