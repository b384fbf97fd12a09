"""What a team's ranks do together: barriers and collectives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from . import collectives
from .array import SymmetricArray, an_array
from .collectives import CollectiveTimeout, Region
from .comm import CommError
from .devices import whole
from .errors import TeamError
from .foundation import Foundation
from .resource import Resource
from .steps import Wanted
from .vote import absent, ballot_of, cast, lost, verdict
from .watch import Watch

END = "close"  # where ranks wait for each other before their memory goes


class Ranks(Resource):
    """The ranks of a team, those of this process among them, and what all of them do together.

    Threads of one process may share a team: its calls take turns, so that all ranks of the process make them in one
    order. Between processes the order is the program's affair: let one thread of each make them.

    Attributes
    ----------
    rank
        The rank of this process; None in a team of one process, which drives all ranks.
    size
        How many ranks there are.
    mine
        The ranks that this process drives.
    devices
        The ordinals of their devices.
    timeout
        Seconds until a rank that does not come to a step or a collective is given up.
    has_multicast
        Whether arrays have a multicast address.
    why_not
        Which condition failed, where it has none; else None.
    """

    def __init__(self, foundation: Foundation) -> None:
        super().__init__()
        members = foundation.members
        self._foundation, self._members, self._heap = foundation, members, foundation.heap
        self.size, self.mine, self.devices, self.timeout = members.size, members.mine, members.devices, members.timeout
        self.rank = members.mine[0] if members.comm.size == members.size else None
        self.has_multicast, self.why_not = foundation.why_not is None, foundation.why_not
        self.pad: Region = foundation.pad
        self.scratch: Region = foundation.scratch
        self._watch = Watch(members.comm, partial(collectives.abandon, self))
        self.turns = threading.RLock()  # whoever holds it makes a call
        self._told = False  # whether a collective that failed has been told of
        self._latest = ""  # the collective that was called last

    def check_rank(self, rank: int) -> int:
        """Answer a rank.

        Raises
        ------
        TypeError, ValueError
            It is no whole number; the team has no such rank.
        """
        number = whole("rank", rank)
        if not 0 <= number < self.size:
            raise ValueError(f"rank {number}: the team has ranks 0 to {self.size - 1}")
        return number

    def own_rank(self, instead: str) -> int:
        """Answer the rank of this process.

        Raises
        ------
        ValueError
            It drives several, and the caller has to say which one.
        """
        if self.rank is None and self.size > 1:
            raise ValueError(f"this process drives all {self.size} ranks of the team: use {instead}")
        return self.mine[0]

    # ---- collectives

    def barrier(self, stream: Any = None) -> None:
        """Wait for all ranks.

        Parameters
        ----------
        stream
            None: the host waits until all that every rank handed to its devices is done, and the ranks make sure that
            they made the same arrays and called the same collectives, in one order. Else nothing waits on the host:
            what comes later on the stream waits for what came earlier on those of the other ranks. In a team of one
            process, a stream for each rank.

        Raises
        ------
        TeamError
            A rank died, did not come, or made other calls.
        """
        if stream is not None:
            self._collective("barrier", collectives.barrier, stream)
            return
        with self.turns:
            self.check_open()
            ballots = [ballot_of("barrier", self._done)] * len(self.mine)
            said = cast(self._members.comm, ballots, "barrier", self.timeout)
        if error := verdict(said) or absent(said, "barrier") or Wanted.compare(said, "barrier"):
            raise error

    def _done(self) -> dict[str, Any]:
        """Wait for our devices; answer which arrays there are, and who did not come to a collective."""
        self._foundation.contexts.synchronize()
        told = {"asked": f"a barrier after {self._heap.history}"}
        try:
            collectives.check(self)
        except CollectiveTimeout as error:
            self._told = True
            return {**told, "absent": error.rank, "reason": str(error)}
        return told

    def broadcast(self, array: SymmetricArray, root: int = 0, *, stream: Any = None) -> None:
        """Give every rank what the replica of ``root`` holds.

        Parameters
        ----------
        array
            Of this team.
        root
            Whose replica counts.
        stream
            In a joined team a stream, in a team of one process one for each rank: addresses, `cuda.core.Stream`s, or
            what has ``__cuda_stream__``. None: a stream of the team's own, ordered with the default stream.

        Raises
        ------
        TeamError
            A rank did not come to an earlier collective.
        """
        self._on(array, "broadcast", collectives.broadcast, self.check_rank(root), stream)

    def all_reduce(self, array: SymmetricArray, op: str = "sum", *, stream: Any = None) -> None:
        """Combine the replicas, element by element, in all replicas.

        Parameters
        ----------
        array
            Of this team: float32, float64, float16, bfloat16, or integers of 32 and 64 bits.
        op
            ``sum``, ``min`` or ``max``. Sums are taken in ascending order of ranks in float32 (float64 for float64) and
            rounded once; through multicast in the order of the switch, on the software driver that of the devices.
        stream
            As for `broadcast`.

        Raises
        ------
        TypeError, ValueError
            There is no such operation on this type.
        TeamError
            A rank did not come to an earlier collective.
        """
        self._on(array, "all_reduce", collectives.all_reduce, op, stream)

    def reduce_scatter(self, array: SymmetricArray, op: str = "sum", *, stream: Any = None) -> None:
        """Combine the replicas; rank r gets the r-th of as many equal parts as there are ranks, in its own replica.

        The parameters are those of `all_reduce`. The elements have to divide into equal parts.
        """
        self._on(array, "reduce_scatter", collectives.reduce_scatter, op, stream)

    def all_gather(self, array: SymmetricArray, *, stream: Any = None) -> None:
        """Give every rank the r-th part of the replica of rank r, for all r; the parts are equal.

        The parameters are those of `broadcast`.
        """
        self._on(array, "all_gather", collectives.all_gather, stream)

    def _collective(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        with self.turns:
            self.check_open()
            self._watch.start()
            try:
                if self._watch.failure:
                    collectives.check(self)
                else:
                    self._latest = name
                    work(self, *arguments)
            except CollectiveTimeout as error:
                raise self._told_of(error) from error
            if self._watch.failure:
                self._told = True
                raise self._gone(self._watch.failure, name) from self._watch.failure

    def check_results(self) -> None:
        """Raise when a collective has failed, among those whose kernels have ended: what they left is not defined.

        Raises
        ------
        TeamError
            A rank did not come, or is gone.
        """
        try:
            collectives.check(self)
        except CollectiveTimeout as error:
            raise self._told_of(error) from error

    def _told_of(self, error: CollectiveTimeout) -> TeamError:
        """Answer what to raise; from then on the caller knows."""
        self._told = True
        if error.gone and self._watch.failure:
            return self._gone(self._watch.failure, self._latest)
        return TeamError(error.rank, error.collective, reason=str(error))

    def _gone(self, failure: CommError, stage: str) -> TeamError:
        """Answer the error when other ranks are gone, or at the end of the team while this one is at a collective."""
        if failure.label == END and not failure.culprits.keys().isdisjoint(self.mine):
            left = [rank for rank in range(self.size) if rank not in failure.culprits]
            return lost(CommError(dict.fromkeys(left, "has closed its team"), END), stage)
        return lost(failure, stage)

    def _on(self, array: SymmetricArray, name: str, work: Callable[..., None], *arguments: Any) -> None:
        with self.turns:
            self._own(array)
            self._collective(name, work, array, *arguments)
            self._heap.note(name, array.offset, array.nbytes, array.dtype.name, *arguments[:-1])

    def _own(self, array: SymmetricArray) -> None:
        an_array(array).check_open()
        if array.team is not self:
            raise ValueError(f"{array!r} belongs to another team: share(array) shows its memory to this one")
