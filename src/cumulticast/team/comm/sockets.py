"""What the sockets of this room have in common: small messages go at once, and no forked child holds one open."""

from __future__ import annotations

import os
import socket
import weakref
from typing import Protocol

BLOCKED = (BlockingIOError, InterruptedError)


class _Closes(Protocol):
    def close(self) -> None: ...


_not_for_children: weakref.WeakSet[_Closes] = weakref.WeakSet()


def close_on_fork(resource: _Closes) -> None:
    """Close a socket or selector in children that are forked: a copy there would hide that this process has ended."""
    _not_for_children.add(resource)


def at_once(sock: socket.socket) -> None:
    """Send small messages without waiting for more to come: each is waited for by all ranks."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _in_child() -> None:
    for resource in list(_not_for_children):
        resource.close()
    _not_for_children.clear()


os.register_at_fork(after_in_child=_in_child)
