"""What an access to memory is: the values that its IR functions are made of (access_ir.py)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from cumulticast.ptx import layout
from cumulticast.ptx.lower.emitter import LANES


class Space(enum.IntEnum):
    """State spaces as memory.c numbers them (enum in memory.h)."""

    GLOBAL = 0
    GENERIC = 1
    SHARED = 2
    LOCAL = 3
    PARAM = 4


@dataclass(frozen=True, slots=True)
class IndexKind:
    """What a warp's addresses grow with: an ``i32``, extended by sign or not, or an ``i64``; ``scale`` bytes each."""

    kind: str
    signed: bool
    scale: int


@dataclass(frozen=True, slots=True)
class Access:
    """One kind of access.

    Attributes
    ----------
    space
        Where.
    element, count
        What each lane moves: ``count`` elements of a kind (``i8`` to ``i64``).
    write
        Store rather than load.
    strong
        Carried out exactly as written: never merged, never hoisted (volatile, relaxed, acquire, release, mmio).
    vector
        For 32 lanes rather than for one address.
    offset
        Kind of the address: ``i64``, or ``i32`` in shared space.
    index
        Given when the caller has found out where lane 0 is and whether the others follow it (indexing.py).
    """

    space: Space
    element: str
    count: int
    write: bool = False
    strong: bool = False
    vector: bool = True
    offset: str = "i64"
    index: IndexKind | None = None

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return int(self.element[1:]) // 8

    @property
    def bytes(self) -> int:
        """Bytes of a lane."""
        return self.size * self.count

    @property
    def span(self) -> int:
        """Bytes of all lanes."""
        return self.bytes * (LANES if self.vector else 1)

    @property
    def wide(self) -> str:
        """Type of what is moved."""
        total = self.count * (LANES if self.vector else 1)
        return f"<{total} x {self.element}>" if total > 1 else self.element

    @property
    def address(self) -> str:
        """Type of the address."""
        return f"<{LANES} x {self.offset}>" if self.vector else self.offset

    @property
    def name(self) -> str:
        """Name of the IR function."""
        words = [
            "store" if self.write else "load",
            self.space.name.lower(),
            f"{self.element}x{self.count}",
            self.offset,
        ]
        return ".".join(["access", *words, *(["strong"] if self.strong else []), "warp" if self.vector else "one"])

    @property
    def way(self) -> str:
        """Name of the function with what the caller has found out."""
        return f"{self.name}{self.by}"

    @property
    def by(self) -> str:
        """What the names of functions that are given an index end with."""
        return f".by.{self.index.kind}.{'s' if self.index.signed else 'u'}{self.index.scale}" if self.index else ""

    @property
    def parameters(self) -> str:
        """Parameters of the IR function, without a value to store."""
        where = f"{self.address} %a"
        if self.index is not None:
            where = f"<{LANES} x {self.index.kind}> %index, i1 %even, i64 %first"
        return f"ptr %warp, i32 %number, i32 %active, {where}"

    @property
    def word(self) -> int:
        """What memory.c is told: space, size, right, strength."""
        right = layout.RIGHT_WRITE if self.write else layout.RIGHT_READ
        return self.space | self.bytes << 8 | right << 16 | self.strong << 24
