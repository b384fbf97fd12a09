"""Linkers: PTX texts collected, then joined into an image that cuModuleLoadData takes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

from cumulticast.sim import cubins
from cumulticast.sim.images import Text
from cumulticast.sim.jit import Jit

FIRST = 0x6C6B_0000_0000
STEP = 0x100


@dataclass(slots=True, eq=False)
class LinkState:
    """A CUlinkState.

    Attributes
    ----------
    value
        The handle.
    jit
        The options of the whole; logs grow with each input.
    sm
        The architecture to link for.
    texts
        The inputs.
    failed
        Why an input did not fit the others: completing is refused then (recorded: linking/twice.complete).
    made
        The image, once it is complete: it stays where it is until the state is destroyed.
    """

    value: int
    jit: Jit
    sm: int
    texts: list[Text] = field(default_factory=list[Text])
    failed: str = ""
    made: ctypes.Array[ctypes.c_char] | None = None

    @property
    def whole(self) -> list[Text]:
        """The inputs; without any, a text with nothing in it: that can be linked, too (recorded: linking/none.load)."""
        head = f".version 8.0\n.target sm_{self.sm}\n.address_size 64\n"
        return self.texts or [Text(head.encode())]

    def complete(self) -> tuple[int, int]:
        """Make the image of the inputs; answer address and size."""
        data = cubins.write(self.whole)
        self.made = ctypes.create_string_buffer(data, len(data))
        return ctypes.addressof(self.made), len(data)


class Linkers:
    """All linkers of a process."""

    def __init__(self) -> None:
        self._live: dict[int, LinkState] = {}
        self._made = 0

    def find(self, value: int) -> LinkState | None:
        """Answer a linker that was not destroyed."""
        return self._live.get(value)

    def add(self, jit: Jit, sm: int) -> LinkState:
        """Begin a linker."""
        self._made += 1
        state = LinkState(FIRST + STEP * self._made, jit, sm)
        self._live[state.value] = state
        return state

    def remove(self, state: LinkState) -> None:
        """End a linker, and the image that it made."""
        del self._live[state.value]
