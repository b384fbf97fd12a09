"""What a team stands on: contexts, an agreement on multicast and handles, and the memory that is set up first."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cumulticast import driver

from .block import Block
from .bringup import bring_up
from .collectives import PAD_BYTES, SCRATCH_BYTES
from .contexts import Contexts
from .devices import DeviceLike, device_ordinal, round_up
from .errors import TeamError
from .facts import Facts, disagreement, handle_kinds, why_no_multicast
from .heap import Heap
from .members import Members
from .resource import Resource
from .steps import Existing, Wanted
from .vote import ballot_of, cast, verdict


@dataclass(frozen=True, slots=True)
class Piece:
    """Symmetric memory for the team itself."""

    block: Block
    offset: int
    nbytes: int

    def peer(self, rank: int) -> int:
        """Answer the address of a rank's replica."""
        return self.block.peers[rank] + self.offset

    @property
    def multicast_ptr(self) -> int:
        """The address of all replicas, 0 without multicast."""
        return self.block.multicast_ptr and self.block.multicast_ptr + self.offset


class Foundation(Resource):
    """See `lay`, which makes it."""

    def __init__(self, members: Members, *, require_multicast: bool) -> None:
        super().__init__()
        self.members, self.require_multicast = members, require_multicast
        with self.building():
            self.contexts = Contexts()
            self.undo(self.contexts.close)
            facts = self._agree()
            self.kinds, self.why_not = self._decide(facts)
            self.heap, self.pad, self.scratch = self._set_up()

    def _agree(self) -> list[Facts]:
        """Let all ranks tell what they have."""
        ballots = [ballot_of("agree", partial(self._facts_of, device)) for device in self.members.devices]
        said = cast(self.members.comm, ballots, "agree", self.members.timeout)
        if error := verdict(said):
            raise error
        return [Facts(**one.brings) for one in said]

    def _facts_of(self, device: int) -> Mapping[str, Any]:
        self.contexts.retain(device)
        return Facts.of(device, require_multicast=self.require_multicast).as_dict()

    def _decide(self, facts: Sequence[Facts]) -> tuple[tuple[int, ...], str | None]:
        """Answer the kinds of handle to try, and why there is no multicast if there is none."""
        ranks = dict.fromkeys(range(self.members.size), ("agree", None, None))
        if other := disagreement(facts):
            raise TeamError(other[0], "agree", reason=other[1], ranks=ranks)
        kinds = handle_kinds(facts)
        if isinstance(kinds, str):
            raise TeamError(0, "agree", reason=kinds, ranks=ranks)
        why = why_no_multicast(facts)
        if why and self.require_multicast:
            raise TeamError(why.rank, "agree", reason=why.text, ranks=ranks)
        return kinds, why and f"rank {why.rank}: {why.text}"

    def _set_up(self) -> tuple[Heap, Piece, Piece]:
        """Bring the first memory up; over peer memory alone where the driver refuses multicast and that is allowed."""
        try:
            return self._first_memory()
        except TeamError as error:
            if self.require_multicast or self.why_not or error.call is None:
                raise
            self.why_not = str(error)
        return self._first_memory()

    def _first_memory(self) -> tuple[Heap, Piece, Piece]:
        heap = Heap(self.members, self.contexts, self.kinds, multicast=self.why_not is None)
        with heap.building():
            pad = Piece(*heap.allocate(PAD_BYTES, zero=PAD_BYTES), PAD_BYTES)
            scratch = Piece(*heap.allocate(SCRATCH_BYTES), SCRATCH_BYTES)
        self.undo(heap.close)
        return heap, pad, scratch

    def second_view(self, block: Block, offset: int, nbytes: int, mine: Sequence[int]) -> tuple[Block, int]:
        """Bring a multicast object up over memory that another team has.

        Parameters
        ----------
        block, offset, nbytes
            Where the other team's array lies.
        mine
            The ranks that this process drives in that team.

        Returns
        -------
        A block over the granules that the array touches, and where the array begins in it.
        """
        members = self.members
        ballots = [ballot_of("share", partial(self._told, device, block, nbytes, mine)) for device in members.devices]
        said = cast(members.comm, ballots, "share", members.timeout)
        if error := verdict(said):
            raise error
        theirs: list[int] = [one.brings["rank"] for one in said]
        step: int = said[0].brings["step"]
        begin = offset - offset % step
        size = round_up(offset + nbytes, step) - begin
        existing = Existing(
            {rank: block.memories[theirs[rank]] for rank in members.mine},
            block.offset + begin,
            [block.peers[rank] + begin for rank in theirs],
        )
        request = f" of another team's memory from {existing.offset} on"
        wanted = Wanted(size, self.heap.kind, self.why_not is None, existing=existing, request=request)
        return bring_up(members, wanted), offset - begin

    def _told(self, device: int, block: Block, nbytes: int, mine: Sequence[int]) -> Mapping[str, Any]:
        """Answer which rank of the other team has this device, and the granularity for so many bytes."""
        for rank in mine:
            if block.memories[rank].device == device:
                return {"rank": rank, "step": self.heap.granularity(nbytes)}
        raise ValueError(f"the array has no replica on device {device}, which belongs to this team")

    def __repr__(self) -> str:
        """Show who stands on it."""
        return f"Foundation(ranks={self.members.mine} of {self.members.size})"


def lay(members: Members, *, require_multicast: bool) -> Foundation:
    """Lay the foundation of a team on all ranks.

    Raises
    ------
    TeamError
        A rank failed, died or did not come; the same on all ranks. Nothing is left.
    """
    return Foundation(members, require_multicast=require_multicast)


#: Where launchers tell which of its host's ranks this one is: torchrun, Open MPI, MPICH and Intel MPI, Slurm.
LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def place_of_rank(device: DeviceLike | None) -> int:
    """Answer the ordinal of the device that this rank takes.

    Raises
    ------
    ValueError
        None is named, no launcher told the local rank, and there are several.
    """
    if device is not None:
        return device_ordinal(device)
    driver.init(0)
    count = driver.device_get_count()
    local = next(filter(None, map(os.environ.get, LOCAL_RANKS)), "")
    if count == 1:
        return 0
    if local.isdigit():
        return device_ordinal(int(local))
    raise ValueError(
        f"which device is this rank's? Give device=, 0 to {count - 1}, or set LOCAL_RANK; "
        f"none of {', '.join(LOCAL_RANKS)} is a number here"
    )
