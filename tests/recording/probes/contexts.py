"""Contexts: primary and created, the stack, limits, peer access to itself."""

from __future__ import annotations

import threading

from cuda.bindings import driver as cu
from recorder import Recorder, group


@group(context=False)
def contexts(step: Recorder) -> None:
    """The primary context's life: counts, flags, reset."""
    device = step.device
    step("state.start", "cuDevicePrimaryCtxGetState", device)
    step("release.unretained", "cuDevicePrimaryCtxRelease", device)
    step("current.none", "cuCtxGetCurrent")
    step("synchronize.none", "cuCtxSynchronize")
    step("device.none", "cuCtxGetDevice")
    step("pop.none", "cuCtxPopCurrent")
    step("flags.none", "cuCtxGetFlags")
    step("limit.none", "cuCtxGetLimit", cu.CUlimit(0))
    step("range.none", "cuCtxGetStreamPriorityRange")
    step("id.none", "cuCtxGetId", 0)
    step("version.none", "cuCtxGetApiVersion", 0)
    step("info.none", "cuMemGetInfo")
    step("setflags.before", "cuDevicePrimaryCtxSetFlags", device, 4)
    step("state.flagged", "cuDevicePrimaryCtxGetState", device)
    for flags in (0, 1, 2, 3, 4, 5, 7, 8, 0x10, 0x20, 0x40, 0x80, 0x100):
        step(f"setflags.{flags}", "cuDevicePrimaryCtxSetFlags", device, flags)
    step("setflags.back", "cuDevicePrimaryCtxSetFlags", device, 0)
    first = step("retain", "cuDevicePrimaryCtxRetain", device, hide=True)
    again = step("retain.again", "cuDevicePrimaryCtxRetain", device, hide=True)
    step.note("retain.same", int(first) == int(again))
    step("state.active", "cuDevicePrimaryCtxGetState", device)
    step("current.retained", "cuCtxGetCurrent")
    step("setflags.active.same", "cuDevicePrimaryCtxSetFlags", device, 0)
    step("setflags.active", "cuDevicePrimaryCtxSetFlags", device, 4)
    step("state.active.flagged", "cuDevicePrimaryCtxGetState", device)
    step("set.current", "cuCtxSetCurrent", first)
    step("flags.primary", "cuCtxGetFlags")
    step("version.primary", "cuCtxGetApiVersion", first)
    step("version.null", "cuCtxGetApiVersion", 0)
    step("id.primary", "cuCtxGetId", first)
    step("id.null", "cuCtxGetId", 0)
    step("destroy.primary", "cuCtxDestroy", first)
    step("synchronize.after_destroy_primary", "cuCtxSynchronize")
    address = step("alloc", "cuMemAlloc", 1024)
    step("release.1", "cuDevicePrimaryCtxRelease", device)
    step("state.one_left", "cuDevicePrimaryCtxGetState", device)
    step("release.2", "cuDevicePrimaryCtxRelease", device)
    step("state.none_left", "cuDevicePrimaryCtxGetState", device)
    step("release.3", "cuDevicePrimaryCtxRelease", device)
    step("current.after_release", "cuCtxGetCurrent", hide=True)
    step("synchronize.after_release", "cuCtxSynchronize")
    step("alloc.after_release", "cuMemAlloc", 1024)
    step("retain.anew", "cuDevicePrimaryCtxRetain", device, hide=True)
    step("synchronize.anew", "cuCtxSynchronize")
    step("free.old", "cuMemFree", address or 0)
    step("reset", "cuDevicePrimaryCtxReset", device)
    step("state.reset", "cuDevicePrimaryCtxGetState", device)
    step("synchronize.reset", "cuCtxSynchronize")
    step("release.after_reset", "cuDevicePrimaryCtxRelease", device)


@group(context=False)
def contexts_made(step: Recorder) -> None:
    """Created contexts: the stack, destruction, use without."""
    device = step.device
    made = step("create", "cuCtxCreate", None, 0, device, hide=True)
    step("create.wrong_flags", "cuCtxCreate", None, 0x1000, device)
    step("create.flags7", "cuCtxCreate", None, 7, device)
    other = step("create.second", "cuCtxCreate", None, 4, device, hide=True)
    step("flags.second", "cuCtxGetFlags")
    step("version", "cuCtxGetApiVersion", made)
    step("id.first", "cuCtxGetId", made)
    step("id.second", "cuCtxGetId", other)
    step("device", "cuCtxGetDevice")
    step("device_v2", "cuCtxGetDevice_v2", made)
    step("current.is_second", "cuCtxGetCurrent", hide=True)
    step.note("current.second", int(cu.cuCtxGetCurrent()[1]) == int(other))
    step("pop", "cuCtxPopCurrent", hide=True)
    step.note("current.first", int(cu.cuCtxGetCurrent()[1]) == int(made))
    step("push", "cuCtxPushCurrent", other)
    step("push.again", "cuCtxPushCurrent", other)
    step("push.null", "cuCtxPushCurrent", 0)
    step("set.null", "cuCtxSetCurrent", 0)
    step.note("current.after_null", int(cu.cuCtxGetCurrent()[1]) == int(other), int(cu.cuCtxGetCurrent()[1]))
    step("pop.1", "cuCtxPopCurrent", hide=True)
    step("pop.2", "cuCtxPopCurrent", hide=True)
    step("pop.3", "cuCtxPopCurrent")
    step("current.empty", "cuCtxGetCurrent")
    step("push.first", "cuCtxPushCurrent", made)
    address = step("alloc", "cuMemAlloc", 1024)
    step("destroy.current", "cuCtxDestroy", made)
    step("current.destroyed", "cuCtxGetCurrent", hide=True)
    step("synchronize.destroyed", "cuCtxSynchronize")
    step("set.second", "cuCtxSetCurrent", other)
    step("free.of_destroyed", "cuMemFree", address or 0)
    step("synchronize_v2", "cuCtxSynchronize_v2", other)
    step("destroy.null", "cuCtxDestroy", 0)
    step("setflags.made", "cuCtxSetFlags", 4)
    step("peer.itself", "cuCtxEnablePeerAccess", other, 0)
    step("peer.itself.flags", "cuCtxEnablePeerAccess", other, 1)
    step("peer.off", "cuCtxDisablePeerAccess", other)
    step("peer.null", "cuCtxEnablePeerAccess", 0, 0)


@group(context=False)
def contexts_peer(step: Recorder) -> None:
    """Peer access between two contexts of one device; memory of one used under the other."""
    first = step("create", "cuCtxCreate", None, 0, step.device, hide=True)
    address = step("alloc", "cuMemAlloc", 1024)
    second = step("create.second", "cuCtxCreate", None, 0, step.device, hide=True)
    step("memset.foreign", "cuMemsetD8", address, 1, 16)
    step("free.foreign", "cuMemFree", address)
    step("peer.same_device", "cuCtxEnablePeerAccess", first, 0)
    step("destroy.not_current", "cuCtxDestroy", first)
    step.note("current.kept", int(cu.cuCtxGetCurrent()[1]) == int(second))


@group()
def threads(step: Recorder) -> None:
    """Another thread: its own current context, the same handles."""
    address = step("alloc", "cuMemAlloc", 1024)

    def other() -> None:
        step("other.current", "cuCtxGetCurrent")
        step("other.alloc", "cuMemAlloc", 1024)
        step("other.free", "cuMemFree", address)
        step("other.set", "cuCtxSetCurrent", step.context)
        step("other.memset", "cuMemsetD8", address, 1, 16)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    step.synchronize("synchronize")


@group()
def limits(step: Recorder) -> None:
    """Limits, cache configurations, priorities, affinity."""
    for limit in cu.CUlimit:
        step(f"limit.{limit.name}", "cuCtxGetLimit", limit)
    for limit, value in (
        (0, 4096),
        (0, 1 << 40),
        (1, 1 << 21),
        (2, 1 << 24),
        (3, 3),
        (4, 4096),
        (5, 64),
        (5, 1 << 20),
        (6, 1 << 20),
        (0, 0),
    ):
        step(f"setlimit.{limit}.{value}", "cuCtxSetLimit", cu.CUlimit(limit), value)
        step(f"setlimit.{limit}.{value}.now", "cuCtxGetLimit", cu.CUlimit(limit))
    step("priorities", "cuCtxGetStreamPriorityRange")
    step("cache", "cuCtxGetCacheConfig")
    step("cache.set", "cuCtxSetCacheConfig", cu.CUfunc_cache(2))
    step("cache.now", "cuCtxGetCacheConfig")
    step("shared", "cuCtxGetSharedMemConfig")
    step("affinity", "cuCtxGetExecAffinity", cu.CUexecAffinityType(0))
    step("persisting", "cuCtxResetPersistingL2Cache")
    for flags in (0, 1, 2, 4, 5, 8, 16, 32, 64, 128):
        step(f"setflags.{flags}", "cuCtxSetFlags", flags)
        step(f"setflags.{flags}.now", "cuCtxGetFlags")
