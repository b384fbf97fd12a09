"""MC900 to MC929: contexts and peer access."""

from .book import rule
from .groups import TRANSFERS
from .source import Document, Transcript
from .status import Status
from .text import overlap

_ENABLE = ("cuCtxEnablePeerAccess",)
_BOTH = ("cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess")
_NO_CONTEXT = Document("CUresult.CUDA_ERROR_INVALID_CONTEXT", "there is no context bound to the current thread")


@rule(
    "MC901",
    "a context is current",
    calls=(
        "cuMemAlloc_v2", "cuMemGetInfo_v2", "cuCtxGetDevice", "cuCtxSynchronize",
        "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuStreamCreate",
        "cuStreamCreateWithPriority", "cuEventCreate", "cuMemHostAlloc", "cuMemAllocHost_v2",
        "cuCtxPopCurrent_v2", *TRANSFERS,
    ),
    status=Status.INVALID_CONTEXT,
    evidence="recorded",
    source=(
        _NO_CONTEXT,
        Transcript("noctx", "noctx.cuMemAlloc"),
        Transcript("noctx", "noctx.memset"),
    ),
    spec=("PC5",),
)  # fmt: skip
def context_current(context: int) -> str | None:
    """Make a context current in the calling thread before copies, memsets, allocations and streams.

    Each thread has its own current context. Virtual memory and multicast calls need none (a recorded driver
    created, mapped and set access without), nor does mem_free; the first copy does.

        memset_d8_v2(va, 0, n)                                                  # new thread: refused
        ctx_set_current(device_primary_ctx_retain(dev)); memset_d8_v2(va, 0, n)  # good

    Fix: ctx_set_current at the start of every thread.
    """
    return None if context else "no context is current in this thread"


@rule(
    "MC902",
    "a primary context is released as often as it was retained",
    calls=("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2"),
    status=Status.INVALID_CONTEXT,
    evidence="documented",
    source=(
        Document(
            "device_primary_ctx_release_v2",
            "Releasing a primary context that has not been previously retained will fail",
        ),
        Transcript("contexts", "release.unretained", recording="driver"),
    ),
    spec=("PC3",),
)
def primary_retained(dev: int, retained: int) -> str | None:
    """Release the primary context only after a retain, once for each.

    References are counted per process; the last release resets the context and everything allocated in it.

        device_primary_ctx_release_v2(0)                                  # never retained: refused
        device_primary_ctx_retain(0); device_primary_ctx_release_v2(0)    # good

    Fix: pair the calls.
    """
    return None if retained > 0 else f"the primary context of device {dev} is not retained"


@rule(
    "MC903",
    "a context handle is valid",
    calls=(
        "cuCtxSetCurrent",
        "cuCtxPushCurrent_v2",
        "cuCtxDestroy_v2",
        "cuCtxGetDevice_v2",
        "cuCtxSynchronize_v2",
    ),
    status=Status.INVALID_CONTEXT,
    evidence="documented",
    source=Document(
        "CUresult.CUDA_ERROR_INVALID_CONTEXT", "if the context passed to an API call is not a valid handle"
    ),
)
def context_valid(ctx: int, known: bool) -> str | None:
    """Use a context until it is destroyed, or the primary context is released for the last time.

    The handle of a primary context that was reset is dead, too, until the next retain.

        ctx_destroy_v2(ctx); ctx_set_current(ctx)   # refused
        ctx_set_current(ctx)                        # good

    Fix: unset the context (ctx_set_current(0)) before destroying it.
    """
    return None if known else f"ctx {ctx:#x} is not a context of this process"


@rule(
    "MC904",
    "the context stack is not empty",
    calls=("cuCtxPopCurrent_v2",),
    status=Status.INVALID_CONTEXT,
    evidence="recorded",
    source=(
        Document("ctx_pop_current_v2", "Pops the current CUDA context from the CPU thread"),
        Transcript("contexts", "pop.none", recording="driver"),
    ),
)
def stack_not_empty(depth: int) -> str | None:
    """Pop no more contexts than were pushed in this thread.

    Each thread has a stack of its own.

        ctx_pop_current_v2()                           # nothing pushed: refused
        ctx_push_current_v2(ctx); ctx_pop_current_v2() # good

    Fix: pair push and pop in one thread.
    """
    return None if depth > 0 else "the context stack of this thread is empty"


@rule(
    "MC905",
    "peer access joins valid contexts",
    calls=_BOTH,
    status=Status.INVALID_CONTEXT,
    evidence="documented",
    source=(
        Document("ctx_enable_peer_access", "is not a valid context, or if the current context is"),
        Transcript("contexts_made", "peer.null", recording="driver"),
    ),
    spec=("PC6",),
)
def peer_contexts(current: int, peer: int, known: bool) -> str | None:
    """Enable peer access from the current context to a valid context of another device.

    The direction counts: it opens the peer's memory to the current context, not the other way round. Memory
    from mem_create does not need it; mem_set_access does that work.

        ctx_enable_peer_access(0, 0)      # refused
        ctx_enable_peer_access(peer, 0)   # good

    Fix: ctx_set_current(one), then enable(other), and once more with the two exchanged.
    """
    if current == 0:
        return "no context is current in this thread"
    return None if known else f"peer context {peer:#x} is not a context of this process"


@rule(
    "MC906",
    "the two devices of a peer access can reach each other",
    calls=_ENABLE,
    status=Status.PEER_ACCESS_UNSUPPORTED,
    evidence="documented",
    source=(
        Document("ctx_enable_peer_access", "Returns ``CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`` if"),
        Transcript("contexts_made", "peer.itself", recording="driver"),
    ),
    spec=("PC6",),
)
def peer_possible(dev: int, peer_dev: int, possible: bool) -> str | None:
    """Check device_can_access_peer before enabling.

    Devices on different nodes, or without a common link, cannot reach each other's memory directly. A context
    of the same device counts as unreachable, too: a real driver answers 217 for it (documents: MC913).

        device_can_access_peer(0, 1) == 0   # enable is refused
        device_can_access_peer(0, 1) == 1   # good

    Fix: copy through the host where there is no peer access.
    """
    return None if possible else f"device {dev} cannot access device {peer_dev}"


@rule(
    "MC907",
    "peer access is enabled once",
    calls=_ENABLE,
    status=Status.PEER_ACCESS_ALREADY_ENABLED,
    evidence="documented",
    source=(
        Document("ctx_enable_peer_access", "Returns ``CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`` if direct"),
        Transcript("peer_access", "on.twice", recording="peer"),
    ),
    spec=("PC6",),
)
def peer_once(peer: int, enabled: bool) -> str | None:
    """Enable each direction once; a second call is refused and changes nothing.

    Libraries in one process share the primary context, so another one may have been first. Most programs
    treat 704 as success.

        ctx_enable_peer_access(peer, 0); ctx_enable_peer_access(peer, 0)   # the second: refused
        ctx_enable_peer_access(peer, 0)                                    # good

    Fix: ignore this status.
    """
    return f"access to peer context {peer:#x} is already enabled" if enabled else None


@rule(
    "MC908",
    "the flags of a peer access are 0",
    calls=_ENABLE,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuCtxEnablePeerAccess", "if `Flags` is not 0"),
        Transcript("peer_access", "on.flags1", recording="peer"),
    ),
    spec=("PC6",),
)
def peer_flags(flags: int) -> str | None:
    """Pass 0 as flags.

    No flag is defined.

        ctx_enable_peer_access(peer, 1)   # refused
        ctx_enable_peer_access(peer, 0)   # good

    Fix: pass 0.
    """
    return None if flags == 0 else f"flags {flags:#x} must be 0"


@rule(
    "MC909",
    "peer access is disabled after it was enabled",
    calls=("cuCtxDisablePeerAccess",),
    status=Status.PEER_ACCESS_NOT_ENABLED,
    evidence="documented",
    source=(
        Document(
            "ctx_disable_peer_access",
            "Returns ``CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`` if direct peer access has not yet been",
        ),
        Transcript("peer_access", "off.never_on", recording="peer"),
    ),
)
def peer_enabled(peer: int, enabled: bool) -> str | None:
    """Disable only a direction that is enabled.

        ctx_disable_peer_access(peer)                                    # never enabled: refused
        ctx_enable_peer_access(peer, 0); ctx_disable_peer_access(peer)   # good

    Destroying a context disables its directions by itself.

    Fix: pair the calls.
    """
    return None if enabled else f"access to peer context {peer:#x} is not enabled"


@rule(
    "MC910",
    "no earlier kernel broke the context",
    calls=(
        "cuCtxSynchronize", "cuCtxSynchronize_v2", "cuStreamSynchronize", "cuStreamQuery", "cuStreamCreate",
        "cuEventSynchronize", "cuEventQuery", "cuEventRecord", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync",
        "cuMemFreeAsync", "cuLaunchHostFunc", *TRANSFERS,
    ),
    status=Status.ILLEGAL_ADDRESS,
    evidence="documented",
    source=Document("CUresult.CUDA_ERROR_ILLEGAL_ADDRESS", "any further CUDA work will return the same error"),
)  # fmt: skip
def context_unbroken(fault: str) -> str | None:
    """Look for the first fault; everything after it reports the same error.

    The status is the fault's: 700 a wrong address, 702 the time limit, 710 an assertion, 716 a misaligned address,
    719 a trap. It sticks to the context until that is destroyed or reset; calls that need no context, such as
    mem_create and mem_address_reserve, go on. The message repeats what the first fault was (MC530, MC532, MC533,
    MC849).

        launch(wrong address); ctx_synchronize(); memcpy_dtoh_v2(…)   # both answer 700
        a new process: good

    Fix: find the launch, then start the process anew.
    """
    return f"an earlier kernel failed: {fault}" if fault else None


@rule(
    "MC911",
    "host memory that is freed was allocated by the driver",
    calls=("cuMemFreeHost",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_host_alloc", "The memory allocated by this function must be freed with"),
        Transcript("host", "free.interior", recording="driver"),
        Transcript("host", "plain.free", recording="driver"),
    ),
)
def host_allocated(pointer: int, known: bool) -> str | None:
    """Free with cuMemFreeHost what cuMemHostAlloc or cuMemAllocHost returned, at its beginning.

    Memory of malloc or numpy is not the driver's to free.

        mem_free_host(array.ctypes.data)            # refused
        mem_free_host(mem_host_alloc(4096, 0))      # good

    Fix: keep the pointer that the allocation returned.
    """
    return None if known else f"pointer {pointer:#x} is no host memory of this driver"


@rule(
    "MC912",
    "the current context is alive",
    calls=("cuCtxSynchronize", "cuCtxSynchronize_v2", "cuMemAlloc_v2", *TRANSFERS),
    status=Status.CONTEXT_IS_DESTROYED,
    evidence="recorded",
    source=(
        Transcript("contexts", "synchronize.after_release", recording="driver"),
        Transcript("contexts", "alloc.after_release", recording="driver"),
    ),
)
def context_alive(ctx: int, destroyed: bool) -> str | None:
    """Keep the primary context retained while it is current in any thread.

    The last release destroys it, and so does a reset, but it stays current. Retaining it again brings the
    same handle back to life; its old memory is gone.

        device_primary_ctx_release_v2(0); ctx_synchronize()   # last reference: refused
        ctx_synchronize(); device_primary_ctx_release_v2(0)   # good

    Fix: release last, and set the current context to 0 before.
    """
    return f"ctx {ctx:#x} was destroyed with its last release or by a reset" if destroyed else None


@rule(
    "MC913",
    "peer access joins two different contexts",
    calls=_ENABLE,
    status=Status.INVALID_CONTEXT,
    evidence="documented",
    held="strict",
    source=Document("ctx_enable_peer_access", "is not a valid context, or if the current context is"),
    spec=("PC6",),
)
def peer_is_other(current: int, peer: int) -> str | None:
    """Name the context of another device as the peer.

    The documents answer the current context itself with 201; a real driver was recorded to answer 217, as for
    every context of the same device (MC906). Profile `strict` follows the sentence, `hardware` the recording.

        ctx_enable_peer_access(own, 0)    # refused
        ctx_enable_peer_access(peer, 0)   # good

    Fix: leave the diagonal out of a loop over all pairs.
    """
    return "the peer context is the current context itself" if peer == current else None


@rule(
    "MC914",
    "host memory that is unregistered was registered",
    calls=("cuMemHostUnregister",),
    status=Status.HOST_MEMORY_NOT_REGISTERED,
    evidence="recorded",
    source=(
        Transcript("host", "plain.unregister", recording="driver"),
        Transcript("host", "unregister.twice", recording="driver"),
    ),
)
def host_registered(pointer: int, registered: bool) -> str | None:
    """Unregister what cuMemHostRegister registered, once.

        mem_host_unregister(plain)                                        # refused
        mem_host_register_v2(plain, n, 0); mem_host_unregister(plain)     # good

    Memory that the driver allocated itself (mem_host_alloc) is freed instead.

    Fix: pair the calls.
    """
    return None if registered else f"pointer {pointer:#x} is not registered"


@rule(
    "MC915",
    "host memory is registered once",
    calls=("cuMemHostRegister_v2",),
    status=Status.HOST_MEMORY_ALREADY_REGISTERED,
    evidence="recorded",
    source=(
        Transcript("host", "register.twice", recording="driver"),
        Transcript("host", "register.overlap", recording="driver"),
    ),
)
def host_registered_once(pointer: int, size: int, registered: int, registered_size: int) -> str | None:
    """Register no byte twice; neighbours are fine.

        mem_host_register_v2(p, 8192, 0); mem_host_register_v2(p + 4096, 8192, 0)   # overlaps: refused
        mem_host_register_v2(p, 4096, 0); mem_host_register_v2(p + 4096, 8192, 0)   # good

    Two tensors of one array may share a page without sharing a byte.

    Fix: register the whole array once.
    """
    if not overlap(pointer, size, registered, registered_size):
        return None
    return f"[{pointer:#x}, {pointer + size:#x}) overlaps {registered_size} bytes registered at {registered:#x}"


@rule(
    "MC916",
    "the flags of a context are known and agree",
    calls=("cuCtxCreate_v2", "cuCtxCreate_v4", "cuDevicePrimaryCtxSetFlags_v2", "cuCtxSetFlags"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("contexts_made", "create.wrong_flags", recording="driver"),
        Transcript("contexts_made", "create.flags7", recording="driver"),
        Transcript("contexts", "setflags.3", recording="driver"),
        Transcript("contexts", "setflags.256", recording="driver"),
    ),
)
def context_flags(flags: int, known: int) -> str | None:
    """Choose at most one way of scheduling (1 spin, 2 yield, 4 blocking), and only defined flags besides.

    The three lowest bits are one choice, not three switches. `known` is the mask of all flags of the call.

        device_primary_ctx_set_flags_v2(0, 3)   # spin and yield: refused
        device_primary_ctx_set_flags_v2(0, 4)   # good

    Fix: take one member of CtxFlags for the scheduling.
    """
    if flags & ~known:
        return f"flags {flags:#x} has {flags & ~known:#x}, which is not defined; {known:#x} is"
    schedule = flags & 7
    return f"flags {flags:#x} choose more than one way of scheduling" if schedule & (schedule - 1) else None
