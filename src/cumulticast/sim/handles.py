"""Generic allocation handles: this process's names for physical memory and multicast objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["memory", "multicast"]
FIRST = 0x6D63_0000_0000
STEP = 0x10


@dataclass(slots=True, eq=False)
class Handle:
    """One handle value and what it stands for.

    Attributes
    ----------
    value
        The CUmemGenericAllocationHandle; never used for anything else again.
    obj
        The object's number in the world.
    kind
        ``memory`` or ``multicast``.
    size
        Bytes: of the allocation, or ``prop.size`` of the object.
    location
        (CUmemLocationType, id) of memory; (0, 0) of a multicast object.
    device
        World index of the device that owns the memory, or None (host memory, multicast objects).
    handle_types
        The shareable types asked for at creation. The simulator knows them of imported objects, too.
    properties
        The C struct it was created with (CUmemAllocationProp or CUmulticastObjectProp), 32 bytes.
    imported
        It came from a shareable handle.
    references
        cuMemCreate, import and retain add one, cuMemRelease takes one.
    mappings
        Mappings that keep the object alive after the last reference.
    """

    value: int
    obj: int
    kind: Kind
    size: int
    properties: bytes
    handle_types: int
    location: tuple[int, int] = (0, 0)
    device: int | None = None
    num_devices: int = 0
    imported: bool = False
    references: int = 1
    mappings: int = 0


@dataclass(slots=True)
class Handles:
    """All handles of a process."""

    _live: dict[int, Handle] = field(default_factory=dict[int, Handle])
    _objects: dict[int, int] = field(default_factory=dict[int, int])
    _next: int = FIRST

    def __len__(self) -> int:
        return len(self._live)

    def held(self) -> list[Handle]:
        """Answer the handles that hold a reference: what a caller has yet to release."""
        return [handle for handle in self._live.values() if handle.references]

    def names(self, obj: int) -> bool:
        """Tell whether some handle stands for an object; mappings keep one that was released."""
        return obj in self._objects

    def next_value(self) -> int:
        """Answer a value that was never a handle."""
        self._next += STEP
        return self._next

    def add(self, handle: Handle) -> None:
        """Register a handle."""
        self._live[handle.value] = handle
        self._objects[handle.obj] = self._objects.get(handle.obj, 0) + 1

    def find(self, value: int) -> Handle | None:
        """Answer the handle that a caller may use: it exists and holds a reference."""
        handle = self._live.get(value)
        return handle if handle is not None and handle.references else None

    def was_released(self, value: int) -> bool:
        """Tell a handle that is gone from a number that never was one."""
        return FIRST < value <= self._next and not value % STEP and self.find(value) is None

    def forget_unused(self, handle: Handle) -> bool:
        """Forget a handle without references and mappings; True when the object has no other handle here."""
        if handle.references or handle.mappings:
            return False
        del self._live[handle.value]
        left = self._objects.pop(handle.obj) - 1
        if left:
            self._objects[handle.obj] = left
        return not left
