"""The steps of a bring-up, each for one rank of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cumulticast import driver

from .block import Block
from .comm.descriptors import DescriptorServer, fetch
from .contexts import Contexts
from .devices import FABRIC, POSIX_FD, round_up
from .errors import TeamError
from .handles import export_handle, import_handle
from .mapping import map_handles
from .members import Members
from .memory import PhysicalMemory
from .multicast import MulticastObject
from .resource import Resource
from .vote import Ballot

Brings = Mapping[str, Any]
#: Name → what it does for one of this process's ranks, given what all said in the last vote.
Stages = Mapping[str, Callable[[int, list[Ballot]], Brings | None]]
#: The key under which the creator offers the multicast object's descriptor; a rank's memory has the rank's number.
OBJECT = -1
CREATOR = 0


@dataclass(frozen=True, slots=True)
class Existing:
    """Memory that another team has: a second team over it.

    Attributes
    ----------
    memories
        Rank → its physical memory, for the ranks of this process.
    offset
        Where in it the block is to begin, in bytes.
    peers
        The addresses of all ranks' replicas of that place.
    """

    memories: Mapping[int, PhysicalMemory]
    offset: int
    peers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be set up.

    Attributes
    ----------
    nbytes
        On each rank, at least; the block is rounded up to the granularity.
    kind
        Of the shareable handles, as the driver numbers them; 0 inside of one process.
    multicast
        Whether there is to be a multicast object over the memory.
    granularity
        Answers what sizes are multiples of, for a number of bytes; None: nbytes is one.
    zero
        How many bytes at the beginning are to be zero.
    contexts
        To fill them with.
    existing
        Memory that is there already and is not to be made.
    request
        In words, what the caller asked for, on top of the size: all ranks have to say the same.
    """

    nbytes: int
    kind: int
    multicast: bool
    granularity: Callable[[int], int] | None = None
    zero: int = 0
    contexts: Contexts | None = None
    existing: Existing | None = None
    request: str = ""

    @staticmethod
    def compare(said: list[Ballot], stage: str = "create") -> TeamError | None:
        """Answer the error if a rank asks for something else than rank 0."""
        asked = [ballot.brings.get("asked") for ballot in said]
        for rank, request in enumerate(asked):
            if request != asked[0]:
                reason = f"it asks for {request}, rank 0 for {asked[0]}: all ranks make the same calls in one order"
                return TeamError(rank, stage, reason=reason, ranks=dict.fromkeys(range(len(said)), (stage, None, None)))
        return None

    def size(self) -> int:
        """Ask the driver for the granularity, and round up."""
        return round_up(self.nbytes, self.granularity(self.nbytes) if self.granularity else 1)


class Steps(Resource):
    """The steps of one try, and what is needed between them only: descriptors, and the handles that were made."""

    def __init__(self, members: Members, wanted: Wanted, block: Block) -> None:
        super().__init__()
        self._members, self._wanted, self._block = members, wanted, block
        self._server: DescriptorServer | None = None
        self._object: MulticastObject | None = None
        self._handles: list[int] = []  # of all ranks' memory, in order of ranks
        if wanted.existing:
            block.memories = dict(wanted.existing.memories)
            block.offset, block.peers = wanted.existing.offset, wanted.existing.peers

    def between_votes(self) -> Iterator[Stages]:
        """Answer the steps in their order, those that need no vote between them together."""
        yield {"create": self._create}
        if self._wanted.multicast:
            yield {"import": self._import, "add_device": self._add_device}
            yield {"bind": self._bind}
        else:
            yield {"import": self._import}
        yield {"map": self._map}

    # ---- create and share

    def _create(self, seat: int, said: list[Ballot]) -> Brings:
        del said
        rank = self._members.mine[seat]
        if not seat:
            self._block.size = self._wanted.size()
        brings: dict[str, Any] = {"asked": f"{self._block.size} bytes{self._wanted.request}"}
        if not self._wanted.existing:
            memory = PhysicalMemory.create(
                self._members.devices[seat], self._block.size, granularity=self._members.granularity,
                handle_types=self._wanted.kind,
            )  # fmt: skip
            self._block.undo(memory.close)
            self._block.memories[rank] = memory
            brings["memory"] = self._share(memory.handle, rank)
        if self._wanted.multicast and rank == CREATOR:
            brings["object"] = self._create_object()
        if self._server:
            brings["server"] = self._server.address
        return brings

    def _create_object(self) -> Brings:
        made = MulticastObject.create(
            num_devices=self._members.size, size=self._block.size, granularity=self._members.granularity,
            handle_types=self._wanted.kind,
        )  # fmt: skip
        if not self._wanted.kind:
            self._block.undo(made.close)
            self._object = made
            return {}
        self.undo(made.close)  # once all have imported it
        facts = {"size": made.size, "num_devices": made.num_devices, "granularity": made.granularity}
        return {"handle": self._share(made.handle, OBJECT), **facts}

    def _share(self, handle: int, key: int) -> str | None:
        """Export a handle: as hexadecimal digits, or as a descriptor that others fetch."""
        if self._wanted.kind == FABRIC:
            return bytes(export_handle(handle, FABRIC)).hex()
        if self._wanted.kind == POSIX_FD:
            descriptor = int(export_handle(handle, POSIX_FD))  # pyright: ignore[reportArgumentType]
            try:
                self._descriptors().offer(key, descriptor)
            finally:
                os.close(descriptor)
        return None

    def _descriptors(self) -> DescriptorServer:
        if self._server is None:
            self._server = DescriptorServer({})
            self.undo(self._server.close)
        return self._server

    # ---- import and add

    def _import(self, seat: int, said: list[Ballot]) -> None:
        if seat:  # handles are the process's
            return
        for rank, ballot in enumerate(said):
            if not self._wanted.existing:
                self._handles.append(self._memory_of(rank, ballot))
        if self._wanted.multicast and self._wanted.kind:
            told = dict(said[CREATOR].brings["object"])
            handle = told.pop("handle")
            self._object = MulticastObject(self._taken(handle, OBJECT, said[CREATOR]), **told)
            self._block.undo(self._object.close)

    def _memory_of(self, rank: int, ballot: Ballot) -> int:
        """Answer a handle of a rank's memory: our own, or an imported one that is released when it is mapped."""
        if rank in self._members.mine:
            return self._block.memories[rank].handle
        handle = self._taken(ballot.brings["memory"], rank, ballot)
        self.undo(driver.mem_release, handle)
        return handle

    def _taken(self, shared: str | None, key: int, ballot: Ballot) -> int:
        """Import what a rank shares."""
        if shared is not None:
            return import_handle(bytes.fromhex(shared), FABRIC)
        descriptor = fetch(ballot.brings["server"], key, self._members.timeout)
        try:
            return import_handle(descriptor, POSIX_FD)
        finally:
            os.close(descriptor)

    def _add_device(self, seat: int, said: list[Ballot]) -> None:
        del said
        assert self._object
        self._object.add_device(self._members.devices[seat])

    # ---- bind and map

    def _bind(self, seat: int, said: list[Ballot]) -> None:
        del said
        assert self._object
        memory = self._block.memories[self._members.mine[seat]]
        self._object.bind_memory(memory, mc_offset=0, mem_offset=self._block.offset, size=self._block.size)

    def _map(self, seat: int, said: list[Ballot]) -> None:
        del said
        if not seat:
            self._map_all()
        rank, device = self._members.mine[seat], self._members.devices[seat]
        if self._wanted.zero and self._wanted.contexts:
            self._block.undo(self._wanted.contexts.settle, device)
            self._wanted.contexts.zero(device, self._block.peers[rank], self._wanted.zero)
        if rank == self._members.mine[-1]:
            self.close()  # mappings and bindings keep what the handles stood for; a refusal is under the last vote, too

    def _map_all(self) -> None:
        if not self._wanted.existing:
            size = self._block.size
            peers = map_handles(self._handles, size, self._members.devices)
            self._block.undo(peers.close)
            self._block.peers = range(peers.ptr, peers.ptr + size * self._members.size, size)
        if self._object:
            self._block.multicast_ptr = self._object.map(self._members.devices).ptr

    def __repr__(self) -> str:
        """Show what is set up."""
        return f"Steps({self._wanted.nbytes} bytes{self._wanted.request})"
