"""Where ranks come in: the listening sockets of a hub, and the file that tells of them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EADDRINUSE

from cumulticast.team.comm.sockets import close_on_fork

LOOPBACK = ("localhost", "::1")


class Door:
    """Listening sockets.

    Parameters
    ----------
    listeners
        The sockets; the door closes them.
    port
        Their TCP port.
    """

    def __init__(self, listeners: list[socket.socket], port: int) -> None:
        self.listeners = listeners
        self.port = port
        self.at_close: Callable[[], None] | None = None
        for listener in listeners:
            listener.setblocking(False)
            close_on_fork(listener)

    def close(self) -> None:
        """Let nobody in any more."""
        for listener in self.listeners:
            listener.close()
        self.listeners = []
        self.hide()

    def hide(self) -> None:
        """Let nobody find the way here any more: nothing is left of it when the process ends next."""
        at_close, self.at_close = self.at_close, None
        if at_close:
            at_close()


def only_here(host: str) -> bool:
    """Tell whether a host name is this host's loopback, whichever host reads it."""
    return host in LOOPBACK or host.startswith("127.")


def open_door(host: str, ports: Iterable[int]) -> Door | None:
    """Listen at the first port that is free; None if all are taken.

    Parameters
    ----------
    host
        The name under which ranks come. A loopback name is listened at alone; for any other, all interfaces are: a
        host's own name may mean another address to itself than to others (127.0.1.1 in many /etc/hosts).
    ports
        The ports to try; 0 is any.

    Raises
    ------
    OSError
        Listening failed for another reason than that ports are taken.
    """
    for port in ports:
        try:
            listener = _listener(host, port)
        except OSError as error:
            if error.errno != EADDRINUSE:
                raise
        else:
            return Door([listener], int(listener.getsockname()[1]))
    return None


def _listener(host: str, port: int) -> socket.socket:
    if only_here(host):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    if socket.has_dualstack_ipv6():
        with suppress(OSError):  # a kernel that has IPv6, and no address of it
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    return socket.create_server(("", port), backlog=128)
