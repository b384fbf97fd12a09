"""MC900 to MC929: contexts and peer access."""

from .book import rule
from .groups import TRANSFERS
from .source import Document, Transcript
from .status import Status

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
