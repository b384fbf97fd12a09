"""User objects: what graphs keep alive for their owners (CUuserObject).

A destructor is a C function that may take locks of its caller's; so a thread of its own calls it, without the driver's.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from queue import SimpleQueue

from cumulticast.sim import native

FIRST = 0x756F_0000_0000
STEP = 0x100


@dataclass(slots=True, eq=False)
class UserObject:
    """A CUuserObject.

    Attributes
    ----------
    destroy, data
        The destructor's address, and what it is called with.
    own
        References of callers.
    references
        These, and those of graphs.
    """

    value: int
    destroy: int
    data: int
    own: int
    references: int


Held = Counter[UserObject]


class UserObjects:
    """All user objects of a process."""

    def __init__(self) -> None:
        self._objects: dict[int, UserObject] = {}
        self._made = 0
        self._ended = SimpleQueue[UserObject | None]()
        self._thread: threading.Thread | None = None

    def create(self, data: int, destroy: int, references: int) -> UserObject:
        """Make an object with references of the caller's."""
        self._made += 1
        made = UserObject(FIRST + STEP * self._made, destroy, data, references, references)
        self._objects[made.value] = made
        return made

    def find(self, value: int) -> UserObject | None:
        """Answer an object that lives."""
        return self._objects.get(value)

    def held(self) -> list[UserObject]:
        """Answer the objects that callers have references of."""
        return [made for made in self._objects.values() if made.own]

    def retain(self, held: Held) -> None:
        """Add references."""
        for made, count in held.items():
            made.references += count

    def release(self, held: Held) -> None:
        """Take references; the destructor of an object without any is called soon."""
        for made, count in held.items():
            made.references -= count
            if not made.references:
                del self._objects[made.value]
                self._ended.put(made)
                self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._destroy, name="cumulticast user objects", daemon=True)
            self._thread.start()

    def _destroy(self) -> None:
        while (made := self._ended.get()) is not None:
            native.call(made.destroy, made.data)

    def close(self) -> None:
        """Call the destructors that are due, and no more."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._ended.put(None)
            self._thread.join(1.0)
