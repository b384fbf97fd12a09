"""A collective as it is going to be carried out, and how that is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .call import NAMES, Call, replica, replicas
from .engine import engine_of
from .kinds import Reduction
from .protocol import MOST_RANKS, THREADS, UNROLL, VECTOR, Array, Region, Seats
from .streams import StreamLike, stream_handles

Streams = StreamLike | Sequence[StreamLike]
_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Part:
    """What a rank does: fields of `struct Call`."""

    first: int = 0
    bytes: int = 0
    chunk: int = 0
    chunks: int = 1
    mine: int = 0
    source: int = 0
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A collective as it is going to be carried out.

    Attributes
    ----------
    name
        Of the collective.
    kernel
        Name of the kernel.
    reduction
        Which program it is in, None for the copies.
    data
        The memory that ranks reach into: the array, or the scratch. None for the barrier.
    most
        Bytes that the busiest rank has to go through: the grid is made for it.
    part
        What a rank does, by rank.
    """

    name: str
    kernel: str
    reduction: Reduction | None
    data: Region | None
    most: int
    part: Callable[[int], Part]


def carry_out(seats: Seats, array: Array | None, plan: Plan, stream: Streams) -> None:
    """Launch on the stream of each rank of this process; what takes time or fails comes before the first launch."""
    if seats.size > MOST_RANKS:
        raise ValueError(f"a team of {seats.size} ranks is too large for collectives: {MOST_RANKS} at most")
    engine = engine_of(seats)
    engine.check(seats.timeout)
    streams = engine.streams() if stream is None else engine.checked(stream_handles(stream, len(seats.mine)))
    kernels = engine.load(plan.reduction, plan.kernel)
    base = _base(seats, array, plan)
    calls = [
        _call(base, seats, array, plan.part(rank), rank, engine.word(seat)) for seat, rank in enumerate(seats.mine)
    ]
    blocks = max(1, min(-(-plan.most // (THREADS * UNROLL * VECTOR)), engine.most_blocks))
    for seat, (kernel, handle, call) in enumerate(zip(kernels, streams, calls, strict=True)):
        engine.launch(seat, kernel, blocks, handle, call)


def _base(seats: Seats, array: Array | None, plan: Plan) -> Call:
    """Fill in what all ranks of this process are told."""
    call = Call(size=seats.size, name=NAMES.index(plan.name), timeout=round(seats.timeout * _NANOSECONDS))
    call.pad[: seats.size] = replicas(seats.pad, seats.size)
    if plan.data is not None:
        call.data[: seats.size] = replicas(plan.data, seats.size)
    if seats.has_multicast:
        call.pad_mc = seats.pad.multicast_ptr
        call.data_mc = plan.data.multicast_ptr if plan.data is not None else 0
    return call


def _call(base: Call, seats: Seats, array: Array | None, part: Part, rank: int, word: int) -> Call:
    """Add what one rank is told."""
    call = Call.from_buffer_copy(base)
    call.rank, call.told, call.own = rank, word, replica(array, rank) if array is not None else 0
    for name in Part.__slots__:
        setattr(call, name, getattr(part, name))
    return call
