"""MC970 to MC979: streams and events."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import not_multiple

_VALUES = (
    "cuStreamWaitValue32_v2", "cuStreamWaitValue64_v2", "cuStreamWriteValue32_v2", "cuStreamWriteValue64_v2",
    "cuStreamBatchMemOp_v2",
)  # fmt: skip
_HANDLES = Document("CUresult.CUDA_ERROR_INVALID_HANDLE", "a resource handle passed to the API call was not valid")


@rule(
    "MC971",
    "a stream handle is valid",
    calls=(
        "cuStreamSynchronize", "cuStreamQuery", "cuStreamDestroy_v2", "cuStreamWaitEvent", "cuStreamGetCtx",
        "cuStreamIsCapturing", "cuEventRecord", "cuMemcpyAsync", "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async", "cuMemAllocAsync",
        "cuMemFreeAsync", "cuMemAllocFromPoolAsync", "cuLaunchKernel",
    ),
    status=Status.INVALID_HANDLE,
    evidence="documented",
    source=_HANDLES,
)  # fmt: skip
def stream_valid(stream: int, known: bool) -> str | None:
    """Use a stream until it is destroyed.

    0, 1 and 2 are the default, the legacy and the per-thread stream and always exist.

        stream_destroy_v2(s); memcpy_async(dst, src, n, s)   # refused
        memcpy_async(dst, src, n, 0)                         # good

    Fix: destroy streams last.
    """
    return None if known else f"stream {stream:#x} is not a stream of this process"


@rule(
    "MC972",
    "an event handle is valid",
    calls=(
        "cuEventRecord", "cuEventQuery", "cuEventSynchronize", "cuEventDestroy_v2", "cuEventElapsedTime_v2",
        "cuEventElapsedTime", "cuStreamWaitEvent",
    ),
    status=Status.INVALID_HANDLE,
    evidence="documented",
    source=(_HANDLES, Transcript("events", "null.cuEventQuery", recording="driver")),
)  # fmt: skip
def event_valid(event: int, known: bool) -> str | None:
    """Use an event until it is destroyed.

        event_destroy_v2(e); event_synchronize(e)   # refused
        event_synchronize(e)                        # good

    There is no default event: 0 is none.

    Fix: destroy events last.
    """
    return None if known else f"event {event:#x} is not an event of this process"


@rule(
    "MC973",
    "a time is measured between two recorded events",
    calls=("cuEventElapsedTime", "cuEventElapsedTime_v2"),
    status=Status.INVALID_HANDLE,
    evidence="documented",
    source=(
        Document(
            "event_elapsed_time_v2",
            "has not been called on either event then ``CUDA_ERROR_INVALID_HANDLE`` is returned",
        ),
        Document("event_elapsed_time_v2", "flag, then this function will return ``CUDA_ERROR_INVALID_HANDLE``"),
        Transcript("order", "elapsed.unrecorded", recording="driver"),
        Transcript("order", "elapsed.untimed", recording="driver"),
    ),
)
def event_timed(event: int, recorded: bool, timing: bool) -> str | None:
    """Record both events, and create them without DISABLE_TIMING.

        event_elapsed_time_v2(start, never_recorded)   # refused
        event_elapsed_time_v2(start, end)              # good

    Events of cuda.core have timing switched off unless asked for.

    Fix: record both, then wait for the second.
    """
    if not timing:
        return f"event {event:#x} was created with DISABLE_TIMING"
    return None if recorded else f"event {event:#x} has not been recorded"


@rule(
    "MC974",
    "the flags of a stream or an event are known",
    calls=("cuStreamCreate", "cuStreamCreateWithPriority", "cuEventCreate"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("stream_create", "Valid values for ``flags`` are"),
        Document("event_create", "Valid flags include"),
        Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values"),
        Transcript("streams", "create.2", recording="driver"),
        Transcript("events", "create.8", recording="driver"),
    ),
)
def creation_flags(flags: int, known: int) -> str | None:
    """Use the defined flags only.

    NON_BLOCKING (1) for streams; BLOCKING_SYNC (1), DISABLE_TIMING (2), INTERPROCESS (4) for events.

        stream_create(8)   # refused
        stream_create(1)   # good

    `known` is the mask of the flags that the call has.

    Fix: use members of StreamFlags or EventFlags.
    """
    extra = flags & ~known
    return f"flags {flags:#x} has {extra:#x}, which is not defined; {known:#x} is" if extra else None


@rule(
    "MC975",
    "an event is not used after it was destroyed",
    calls=("cuEventRecord", "cuEventQuery", "cuEventSynchronize", "cuEventDestroy_v2"),
    status=Status.CONTEXT_IS_DESTROYED,
    evidence="recorded",
    source=(
        Transcript("event_destroyed", "query", recording="driver"),
        Transcript("event_destroyed", "record", recording="driver"),
        Transcript("event_destroyed", "destroy.twice", recording="driver"),
    ),
)
def event_alive(event: int, destroyed: bool) -> str | None:
    """Destroy an event once, after its last use.

    A real driver answers 709 for a destroyed event (and crashes on a destroyed stream, which the simulator
    answers with 400).

        event_destroy_v2(e); event_query(e)   # refused
        event_query(e); event_destroy_v2(e)   # good

    Fix: set the handle to None after destroying it.
    """
    return f"event {event:#x} was destroyed" if destroyed else None


@rule(
    "MC976",
    "a value that a stream waits for or writes is aligned to its size",
    calls=_VALUES,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Note("settled here", "what others write at the same time must be one word of the machine"),
)
def value_aligned(addr: int, size: int) -> str | None:
    """Wait for and write words at multiples of their size.

        stream_wait_value32_v2(s, flag + 2, 1, 0)   # refused
        stream_wait_value32_v2(s, flag + 4, 1, 0)   # good

    Fix: give each flag a word of its own, 8 bytes for 64-bit values.
    """
    return not_multiple("addr", addr, size, shown="#x")


@rule(
    "MC977",
    "the flags of a stream's wait or write are defined",
    calls=_VALUES,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("stream_wait_value32_v2", "Other condition types can be specified"),
        Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values"),
    ),
)
def value_flags(flags: int, known: int) -> str | None:
    """Take the flags from CUstreamWaitValue_flags or CUstreamWriteValue_flags.

    Waits: 0 GEQ (cyclic), 1 EQ, 2 AND, 3 NOR, with FLUSH (1 << 30) where the device can. Writes: 0, 1 (no barrier).
    `known` is the mask of the flags that the call has.

        stream_write_value32_v2(s, flag, 1, 2)   # refused
        stream_write_value32_v2(s, flag, 1, 0)   # good

    Fix: use the enumeration's members.
    """
    extra = flags & ~known
    return f"flags {flags:#x} has {extra:#x}, which is not defined; {known:#x} is" if extra else None
