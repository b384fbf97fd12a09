"""Streams as users have them, as the driver's handles."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, cast

#: A handle, a `cuda.core` Stream, anything with ``__cuda_stream__``, ``handle``, ``ptr`` or ``cuda_stream``.
StreamLike = Any
#: The protocol of cuda.core; what its streams and cupy's have; what torch's have.
_NAMES = ("__cuda_stream__", "handle", "ptr", "cuda_stream")


def stream_handle(stream: StreamLike) -> int:
    """Answer the handle of one stream.

    Raises
    ------
    TypeError, ValueError
        It is nothing that names a stream; no handle is as large.
    """
    named: list[Any] = [getattr(stream, name) for name in _NAMES if hasattr(stream, name)]
    try:
        handle = _handle_of(named[0]() if callable(named[0]) else named[0]) if named else operator.index(stream)
        number = operator.index(handle if hasattr(handle, "__index__") else int(handle))
    except (TypeError, ValueError, IndexError):
        raise TypeError(f"{stream!r} is no stream: give a handle, or an object with __cuda_stream__") from None
    if not 0 <= number < 1 << 64:
        raise ValueError(f"stream {number:#x}: a handle has 64 bits")
    return number


def _handle_of(given: Any) -> Any:
    """Take the handle out of what __cuda_stream__ answers: (version, handle)."""
    return cast("tuple[int, Any]", given)[1] if isinstance(given, tuple) else given


def stream_handles(stream: StreamLike | Sequence[StreamLike], ranks: int) -> list[int]:
    """Answer the handle of each rank's stream: one stream for one rank, otherwise a sequence.

    Raises
    ------
    ValueError
        There are not as many streams as ranks here.
    """
    several = isinstance(stream, Sequence) and not isinstance(stream, str | bytes)
    given: list[StreamLike] = list(stream) if several else [stream]  # pyright: ignore[reportUnknownArgumentType]
    if len(given) != ranks:
        raise ValueError(
            f"{len(given)} streams for {ranks} ranks in this process: give one for each, in order of ranks"
        )
    return [stream_handle(one) for one in given]
