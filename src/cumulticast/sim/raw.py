"""Pointers whose targets the door cannot know the size of: checked, then read or written here."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, general
from cumulticast.sim import native
from cumulticast.sim.process import Process


def put(process: Process, name: str, address: int, data: bytes) -> None:
    """Write an output, or refuse (1) a pointer that cannot be written to."""
    check(process, name, address, len(data), write=True)
    native.put(address, data)


def get(process: Process, name: str, address: int, size: int) -> bytes:
    """Read an input, or refuse (1) a pointer that cannot be read from."""
    check(process, name, address, size, write=False)
    return native.get(address, size)


def check(process: Process, name: str, address: int, size: int, *, write: bool) -> None:
    """Refuse (1) a null pointer, and one whose target cannot be touched."""
    process.driver.judge(general.pointer_given, name, address)
    if not (native.writable if write else native.readable)(address, size):
        what = "written" if write else "read"
        reason = f"{name} {address:#x} points to memory that cannot be {what}"
        raise Refused(Status.INVALID_VALUE, general.pointer_given, reason)
