"""Adversarial memory as a process uses it (ptx/native/adversary.h): its launches, its aliases, its findings.

``--memory adversarial[:SEED]``: kernels meet what the PTX memory model allows and this host's processor never shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cumulticast.rules import Refused, Status, memory_order
from cumulticast.sim import fresh
from cumulticast.sim.aliases import Alias, find
from cumulticast.sim.kernel_faults import line

if TYPE_CHECKING:
    from cumulticast.sim.blocks import Block
    from cumulticast.sim.driver import Driver
    from cumulticast.sim.handles import Handle
    from cumulticast.sim.modules import Function
    from cumulticast.sim.process import Process

LAUNCHES = 4096  # so many are remembered, for findings to name
ROOM = 64


@dataclass(frozen=True, slots=True)
class Party:
    """An access that a finding is about (struct ptx_party): its address, its kernel and line, who made it."""

    address: int
    instruction: str
    block: tuple[int, int, int]
    thread: int

    def __str__(self) -> str:
        return f"{self.instruction}, block {self.block}, thread {self.thread}"


class Adversary:
    """One process's. Its kernels are carried on by one thread at a time."""

    def __init__(self, process: Process, seed: int) -> None:
        from cumulticast.ptx.runtime import ffi, lib

        self._process, self._ffi, self._lib, self.seed = process, ffi, lib, seed
        made = lib.ptx_adversary_begin(seed)
        if made == ffi.NULL:
            raise Refused(Status.OUT_OF_MEMORY, None, "the host has no memory for adversarial memory")
        self.struct = ffi.gc(made, lib.ptx_adversary_end)
        self._functions: dict[int, Function] = {}
        self._launches = self._allocations = 0
        self._state: tuple[int, ...] = ()
        self._kept: list[Any] = []
        self._told: set[tuple[int, str, str]] = set()
        self._callback = ffi.callback("void(void *)", self._report)
        lib.ptx_adversary_listen(self.struct, self._callback, ffi.NULL)

    # ---- launches

    def prepare(self, struct: Any, function: Function) -> None:
        """Let a launch (``struct ptx_launch *``) run on this memory."""
        self._launches += 1
        struct.adversary, struct.ordinal = self.struct, self._launches
        self._functions[struct.head.gridid] = function
        while len(self._functions) > LAUNCHES:
            del self._functions[next(iter(self._functions))]
        self._refresh()

    def _refresh(self) -> None:
        """Tell which addresses lead to the same memory, if that may have changed."""
        process = self._process
        alone = process.world.rows("select count(*) from process") == [(1,)]
        state = (*process.multicast_reach.state(), process.heap.blocks.changes, alone)
        if state == self._state:
            return
        self._state, aliases = state, find(process)
        self._tell(aliases, alone)

    def _tell(self, aliases: list[Alias], alone: bool) -> None:
        entries = [(alias.begin, alias.end, alias.to, alias.bound) for alias in aliases]
        array = self._ffi.new("struct ptx_alias[]", entries or 1)
        self._kept.append(array)  # a kernel that runs may still look at one of before
        self._lib.ptx_adversary_know(self.struct, array, len(entries), alone)

    # ---- fresh memory

    def fill(self, handle: Handle, offset: int, size: int) -> None:
        """Fill fresh memory of an allocation.

        Raises
        ------
        Refused
            2: the host has no room for what is filled.
        """
        self._allocations += 1
        path = self._process.world.path_of("memory", handle.obj)
        try:
            fresh.fill(path, offset, size, fresh.pattern(self.seed, self._allocations))
        except OSError as error:
            raise self._process.no_room(f"{size} bytes of fresh memory", error) from error

    def fill_block(self, block: Block) -> None:
        """Fill a fresh block of cuMemAlloc or of a pool."""
        assert block.chunk is not None
        self.fill(block.chunk.handle, block.base - block.chunk.base, block.size)

    # ---- findings

    def _report(self, _: object) -> None:
        """Report what a kernel has met; called by the thread that carries it on."""
        driver = self._process.driver
        found = self._ffi.new("struct ptx_finding[]", ROOM)
        with driver.lock, driver.on_behalf_of("cuLaunchKernel"):
            for finding in found[0 : self._lib.ptx_adversary_take(self.struct, found, ROOM)]:
                self._judge(driver, finding)

    def _judge(self, driver: Driver, finding: Any) -> None:
        reader, writer, later = (self._party(c) for c in (finding.reader, finding.writer, finding.later))
        kind, had, wanted = (
            int(finding.kind),
            memory_order.SCOPES[int(finding.had)],
            memory_order.SCOPES[int(finding.wanted)],
        )
        if not self._is_new(kind, reader, writer):
            return
        if kind == self._lib.PTX_FINDING_ALIAS:
            driver.judge(memory_order.aliases_fenced, str(reader), str(writer), reader.address, writer.address, False)
        elif kind == self._lib.PTX_FINDING_RELEASE:
            rule = memory_order.released_before_seen
            driver.judge(rule, str(reader), str(writer), str(later), reader.address, had, wanted)
        else:
            driver.judge(memory_order.reads_are_ordered, str(reader), str(writer), reader.address, had, wanted)

    def _is_new(self, kind: int, reader: Party, writer: Party) -> bool:
        """Tell whether it has not been reported of these lines, in whichever context they were loaded."""
        key = kind, reader.instruction, writer.instruction
        new = key not in self._told
        self._told.add(key)
        return new

    def _party(self, c: Any) -> Party:
        function = self._functions.get(c.grid)
        instruction = "a kernel of before"
        if function is not None:
            instruction = f"kernel {function.kernel.name} {line(function, c.instruction)}".strip()
        return Party(int(c.address), instruction, (int(c.block[0]), int(c.block[1]), int(c.block[2])), int(c.thread))
