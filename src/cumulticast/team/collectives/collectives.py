"""The five collectives: which kernel, and what each rank does in it.

Results are the same bits on every path of one machine that sums in ascending order of ranks, as the software driver's
switch does: in f32 for f16, bf16 and f32, in f64 for f64, rounded once; integers wrap. In min and max a number wins
over NaN and -0 is less than +0, as in PTX. A real switch promises no order.
"""

from __future__ import annotations

from math import prod

from .call import NOBODY
from .choices import Algorithm, Way, choose
from .kinds import Reduction, reduction
from .plan import Part, Plan, Streams, carry_out
from .protocol import VECTOR, Array, Seats


def all_reduce(
    seats: Seats, array: Array, op: str = "sum", stream: Streams = None, *, algorithm: Algorithm | None = None
) -> None:
    """Combine the replicas, element by element; every replica gets the result.

    Parameters
    ----------
    op
        ``"sum"``, ``"min"`` or ``"max"``.
    stream
        One stream in a process that drives one rank, otherwise one for each rank; None: the team's own.
    algorithm
        For tests and measurements; chosen by size when None.
    """
    how = reduction(array.dtype, op)
    path = _path(seats, how)
    chosen = choose("all_reduce", path, array.nbytes, algorithm)
    if chosen == "one_shot":
        whole = Part(bytes=array.nbytes, chunk=array.nbytes)
        plan = Plan("all_reduce", f"one_shot_{path}", how, seats.scratch, array.nbytes, lambda rank: whole)
    else:
        share = _share(array.nbytes, seats.size)
        plan = Plan(
            "all_reduce", f"two_shot_{path}", how, array, share, lambda rank: _shared(array.nbytes, share, rank)
        )
    carry_out(seats, array, plan, stream)


def reduce_scatter(
    seats: Seats, array: Array, op: str = "sum", stream: Streams = None, *, algorithm: Algorithm | None = None
) -> None:
    """Combine the replicas; chunk r of the replica of rank r gets the result. The other chunks keep what they hold.

    Chunks are equal parts of the array in C order. See `all_reduce` for the parameters.

    Raises
    ------
    ValueError
        The array has no such chunks.
    """
    how = reduction(array.dtype, op)
    path = _path(seats, how)
    chosen, chunk = choose("reduce_scatter", path, array.nbytes, algorithm), _chunk(seats, array)
    data = seats.scratch if chosen == "one_shot" else array
    plan = Plan(
        "reduce_scatter",
        f"{chosen}_{path}",
        how,
        data,
        chunk,
        lambda rank: Part(first=rank * chunk, bytes=chunk, chunk=chunk, chunks=seats.size, mine=rank),
    )
    carry_out(seats, array, plan, stream)


def all_gather(seats: Seats, array: Array, stream: Streams = None, *, algorithm: Algorithm | None = None) -> None:
    """Give chunk r of the replica of rank r to all.

    Chunks are equal parts of the array in C order. See `all_reduce` for the parameters.

    Raises
    ------
    ValueError
        The array has no such chunks.
    """
    path, chunk = _path(seats), _chunk(seats, array)
    chosen = choose("all_gather", path, array.nbytes, algorithm)
    data = seats.scratch if chosen == "one_shot" else array
    plan = Plan(
        "all_gather",
        f"{chosen}_{path}",
        None,
        data,
        chunk,
        lambda rank: Part(first=rank * chunk, bytes=chunk, chunk=chunk, chunks=seats.size, mine=rank, source=rank),
    )
    carry_out(seats, array, plan, stream)


def broadcast(
    seats: Seats, array: Array, root: int = 0, stream: Streams = None, *, algorithm: Algorithm | None = None
) -> None:
    """Give the replica of rank ``root`` to all. See `all_reduce` for the parameters.

    Raises
    ------
    ValueError
        There is no such rank.
    """
    if not 0 <= root < seats.size:
        raise ValueError(f"root {root}: the team has ranks 0 to {seats.size - 1}")
    path, size = _path(seats), array.nbytes
    chosen = choose("broadcast", path, size, algorithm)
    if chosen == "one_shot":
        plan = Plan(
            "broadcast", f"one_shot_{path}", None, seats.scratch, size, lambda rank: _handed(size, rank == root)
        )
    elif path == "multicast":  # the switch copies: the root writes once
        plan = Plan("broadcast", "two_shot_multicast", None, array, size, lambda rank: _written(size, rank, root))
    else:  # each rank fetches a part and hands it on, so that the root's links are not all that is used
        share = _share(size, seats.size)
        plan = Plan("broadcast", "two_shot_peers", None, array, share, lambda rank: _shared(size, share, rank, root))
    carry_out(seats, array, plan, stream)


def barrier(seats: Seats, stream: Streams = None) -> None:
    """Let what comes next in each stream wait until all ranks have come here. The host does not wait."""
    carry_out(seats, None, Plan("barrier", "barrier", None, None, 0, lambda rank: Part()), stream)


# ---- parts


def _path(seats: Seats, how: Reduction | None = None) -> Way:
    """Answer ``multicast`` where there is multicast, and the switch can do it."""
    return "multicast" if seats.has_multicast and (how is None or how.form) else "peers"


def _share(nbytes: int, size: int) -> int:
    """Answer what each rank takes on of an array, whole vectors."""
    return -(-nbytes // (size * VECTOR)) * VECTOR


def _shared(nbytes: int, share: int, rank: int, source: int = 0) -> Part:
    """Each rank takes on its share."""
    first = min(rank * share, nbytes)
    return Part(first=first, bytes=min(share, nbytes - first), everywhere=True, source=source)


def _handed(nbytes: int, has_it: bool) -> Part:
    """Who has it hands all of it out; the others take all of it."""
    return Part(bytes=nbytes, chunk=nbytes, mine=0 if has_it else NOBODY)


def _written(nbytes: int, rank: int, root: int) -> Part:
    """The root writes all of it."""
    return Part(bytes=nbytes if rank == root else 0, source=root)


def _chunk(seats: Seats, array: Array) -> int:
    """Answer the bytes of a chunk."""
    count = prod(array.shape)
    if count % seats.size:
        below, above = count // seats.size * seats.size, -(-count // seats.size) * seats.size
        nearest = f"({below},) or ({above},)" if below else f"({above},)"
        raise ValueError(
            f"shape {tuple(array.shape)}: {count} elements are no {seats.size} equal chunks; nearest shapes {nearest}"
        )
    return array.nbytes // seats.size
