"""MC900 to MC929: contexts and peer access."""

from .book import rule
from .groups import TRANSFERS
from .source import Document, Note, Transcript
from .status import Status

_ENABLE = ("cuCtxEnablePeerAccess",)
_BOTH = ("cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess")
_NO_CONTEXT = Document(
    "CUresult.CUDA_ERROR_INVALID_CONTEXT", "there is no context bound to the current thread"
)


@rule(
    "MC901",
    "a context is current",
    calls=(
        "cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetInfo_v2", "cuCtxGetDevice", "cuCtxSynchronize",
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
    created, mapped and set access without); the first copy does.

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
    source=Document(
        "device_primary_ctx_release_v2",
        "Releasing a primary context that has not been previously retained will fail",
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
    evidence="assumed",
    source=Document("ctx_pop_current_v2", "Pops the current CUDA context from the CPU thread"),
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
    "peer access joins two different contexts",
    calls=_BOTH,
    status=Status.INVALID_CONTEXT,
    evidence="documented",
    source=Document("ctx_enable_peer_access", "is not a valid context, or if the current context is"),
    spec=("PC6",),
)
def peer_contexts(current: int, peer: int, peer_known: bool) -> str | None:
    """Enable peer access from the current context to a valid context of another device.

    The direction counts: it opens the peer's memory to the current context, not the other way round. Memory
    from mem_create does not need it; mem_set_access does that work.

        ctx_enable_peer_access(own, 0)    # refused
        ctx_enable_peer_access(peer, 0)   # good

    Fix: ctx_set_current(one), then enable(other), and once more with the two exchanged.
    """
    if current == 0:
        return "no context is current in this thread"
    if not peer_known:
        return f"peer context {peer:#x} is not a context of this process"
    return "the peer context is the current context itself" if peer == current else None


@rule(
    "MC906",
    "the two devices of a peer access can reach each other",
    calls=_ENABLE,
    status=Status.PEER_ACCESS_UNSUPPORTED,
    evidence="documented",
    source=Document("ctx_enable_peer_access", "Returns ``CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`` if"),
    spec=("PC6",),
)
def peer_possible(dev: int, peer_dev: int, possible: bool) -> str | None:
    """Check device_can_access_peer before enabling.

    Devices on different nodes, or without a common link, cannot reach each other's memory directly.

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
    source=Document("ctx_enable_peer_access", "Returns ``CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`` if direct"),
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
    source=Document("cuCtxEnablePeerAccess", "if `Flags` is not 0"),
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
    source=Document(
        "ctx_disable_peer_access",
        "Returns ``CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`` if direct peer access has not yet been",
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
        "cuCtxSynchronize",
        "cuCtxSynchronize_v2",
        "cuStreamSynchronize",
        "cuEventSynchronize",
        *TRANSFERS,
    ),
    status=Status.ILLEGAL_ADDRESS,
    evidence="documented",
    source=Document(
        "CUresult.CUDA_ERROR_ILLEGAL_ADDRESS", "any further CUDA work will return the same error"
    ),
)
def context_unbroken(fault: str) -> str | None:
    """Look for the first fault; everything after it reports the same error.

    A kernel that touched a wrong address leaves the process unusable for CUDA. The message repeats what the
    first fault was (MC530, MC532, MC533, MC849).

        launch(wrong address); ctx_synchronize(); memcpy_dtoh_v2(…)   # both answer 700
        a new process: good

    Fix: find the launch, then start the process anew.
    """
    return f"an earlier kernel failed: {fault}" if fault else None


_HOST_CALLS = Note("settled here", "an unknown host address cannot be told from the host's own memory")


@rule(
    "MC911",
    "host memory that is freed was allocated by the driver",
    calls=("cuMemFreeHost", "cuMemHostUnregister"),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=(
        Document("mem_host_alloc", "The memory allocated by this function must be freed with"),
        _HOST_CALLS,
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
