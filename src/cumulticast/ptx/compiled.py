"""A kernel as object code."""

from __future__ import annotations

from dataclasses import dataclass

#: The name of the one function in the object code.
ENTRY = "kernel"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel as object code; all of it can be written to a file and read back.

    Attributes
    ----------
    code
        ELF object with one function, ``kernel``.
    frame_size, places
        Bytes behind a warp, and how many masks begin them.
    shared_size, local_size
        Static bytes a block, a lane.
    stack
        Whether calls need room on each lane's stack, beyond ``local_size``.
    registers
        An estimate of 32-bit registers a thread.
    turning
        Whether lanes of a warp can wait for each other.
    lines
        The line of the text, by instruction number (0: unknown).
    """

    code: bytes
    frame_size: int
    places: int
    shared_size: int
    local_size: int
    stack: bool
    turning: bool
    registers: int
    lines: tuple[int, ...]
