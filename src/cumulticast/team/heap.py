"""A team's memory: blocks that are brought up when they are needed, and arrays in them by first fit."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from cumulticast import driver
from cumulticast.layout.first_fit import FirstFit

from .block import Block
from .bringup import bring_up
from .contexts import Contexts
from .devices import granularity_flag, round_up
from .errors import TeamError
from .members import Members
from .resource import Resource
from .steps import Wanted

ALIGNMENT = 256  # bytes, as cuMemAlloc has it
#: A new block is as large as all before it together, up to this: few objects, and not much that nobody asked for.
MOST_GROWTH = 64 << 20


@dataclass(frozen=True, slots=True)
class Usage:
    """How a team uses the memory of each of its devices, in bytes.

    Attributes
    ----------
    blocks
        How many blocks there are; each is one multicast object and takes one multicast slot.
    reserved
        What they hold.
    used
        What arrays, and what the team needs for itself, take of it.
    free
        What is reserved and not used: rounding up to the granularity, and what was closed. Later arrays may have it.
    """

    blocks: int
    reserved: int
    used: int
    free: int


class Heap(Resource):
    """Symmetric memory: the same offsets on every rank, because every rank makes the same calls in the same order.

    No message is exchanged as long as an array fits into a block that is there. ``history`` tells whether the ranks did
    make the same calls.
    """

    def __init__(self, members: Members, contexts: Contexts, kinds: tuple[int, ...], *, multicast: bool) -> None:
        super().__init__()
        self._members, self._contexts, self._multicast = members, contexts, multicast
        self._kinds = kinds
        self._blocks: list[tuple[Block, FirstFit]] = []
        self._counted, self._sum = 0, 0

    def allocate(self, nbytes: int, zero: int = 0) -> tuple[Block, int]:
        """Answer a block and an offset in it where so many bytes are free; bring a block up if there is none.

        Parameters
        ----------
        nbytes
            At least 1.
        zero
            How many bytes at the beginning have to be zero; only for what is allocated first.

        Raises
        ------
        TeamError
            A new block was needed, and a rank failed. The heap is as before.
        """
        self.check_open()
        taken = round_up(nbytes, ALIGNMENT)  # what lies between two arrays would only be searched in vain
        for block, space in self._blocks:
            offset = space.allocate(taken, ALIGNMENT)
            if offset is not None:
                self.note(taken)
                return block, offset
        block, space = self._grow(taken, zero)
        offset = space.allocate(taken, ALIGNMENT)
        assert offset is not None
        self.note(taken)
        return block, offset

    def free(self, block: Block, offset: int) -> None:
        """Take an allocation back. The block stays."""
        for place, (one, space) in enumerate(self._blocks):
            if one is block:
                space.free(offset)
                self.note(place, offset)

    @property
    def history(self) -> str:
        """What distinguishes this order of calls from others: their number and a check sum."""
        return f"{self._counted} calls of empty, close and collectives (check sum {self._sum:08x})"

    def note(self, *what: object) -> None:
        """Add a call to the history: what all ranks have to call alike."""
        self._counted += 1
        self._sum = crc32(repr(what).encode(), self._sum)

    @property
    def kind(self) -> int:
        """The kind of shareable handle that the blocks were brought up with."""
        return self._kinds[0]

    @property
    def usage(self) -> Usage:
        """How the memory is used."""
        reserved, used = (sum(getattr(space, name) for _, space in self._blocks) for name in ("size", "used"))
        return Usage(len(self._blocks), reserved, used, reserved - used)

    def _grow(self, nbytes: int, zero: int) -> tuple[Block, FirstFit]:
        """Bring up a block with room for so many bytes."""
        before = self.usage.reserved
        asked = max(nbytes, min(before, MOST_GROWTH))
        block = self._brought_up(asked, zero)
        self.undo(block.close)
        self._blocks.append((block, FirstFit(block.size)))
        return self._blocks[-1]

    def _brought_up(self, nbytes: int, zero: int) -> Block:
        """Bring a block up by the best kind of handle that works: descriptors can turn out to be barred."""
        while True:
            wanted = Wanted(
                nbytes, self._kinds[0], self._multicast, self.granularity, zero, self._contexts,
                request=f" after {self.history}",
            )  # fmt: skip
            try:
                return bring_up(self._members, wanted)
            except TeamError as error:
                if not error.barred or len(self._kinds) == 1:
                    raise
                self._kinds = self._kinds[1:]  # every rank sees the same error, so all go on with the same kind

    def granularity(self, size: int) -> int:
        """Answer what block sizes are multiples of, in bytes: memory's step and the multicast object's."""
        flag = granularity_flag(self._members.granularity)
        prop = driver.MemAllocationProp_v1()
        prop.type = int(driver.MemAllocationType.PINNED)
        prop.location.type, prop.location.id = int(driver.MemLocationType.DEVICE), self._members.devices[0]
        prop.requested_handle_types = self._kinds[0]
        memory = driver.mem_get_allocation_granularity(prop, flag)
        if not self._multicast:
            return memory
        team = driver.MulticastObjectProp_v1()
        team.num_devices, team.size_, team.handle_types = self._members.size, size, self._kinds[0]
        return max(memory, driver.multicast_get_granularity(team, flag))

    def __repr__(self) -> str:
        """Show the usage."""
        return f"Heap({self.usage})"
