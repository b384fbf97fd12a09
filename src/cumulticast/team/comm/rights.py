"""Descriptors through a Unix socket: the kernel copies them from a message into the receiver (SCM_RIGHTS, unix(7))."""

from __future__ import annotations

import errno
import os
import secrets
import selectors
import shutil
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from cumulticast.team.comm.sockets import BLOCKED, close_on_fork

KEY = struct.Struct("!q")
DESCRIPTOR = struct.Struct("i")
CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid
ASK = 2.0  # seconds in which a process that has connected must say what it wants
GIVEN, UNKNOWN = b"+", b"-"
RETRY = 0.005  # seconds until a full queue of connections is tried again


class RightsServer:
    """Gives descriptors to other processes of the same user, from a thread.

    Parameters
    ----------
    offers
        Key → descriptor. It is read at each request, so more may come.

    Attributes
    ----------
    name
        Where to connect to: a path, or after ``@`` an abstract name.
    """

    def __init__(self, offers: Mapping[int, int]) -> None:
        self._offers = offers
        self._directory: str | None = None
        self._deadlines: dict[socket.socket, float] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        self._bell, self._rope = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        for resource in (self._listener, self._bell, self._rope, self._selector):
            close_on_fork(resource)
        self._thread = threading.Thread(target=self._run, name="cumulticast descriptors", daemon=True)
        try:
            self.name = self._bind()
            self._listener.listen(128)
            self._thread.start()
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Give no more."""
        with suppress(OSError):  # closed before
            self._rope.send(b"!")
        self._thread.join()

    def _bind(self) -> str:
        """Take an abstract name, or a path in a directory of our own where there are none."""
        name = f"cumulticast-{secrets.token_hex(16)}"
        try:
            self._listener.bind(f"\0{name}")
        except OSError:
            self._directory = tempfile.mkdtemp(prefix="cumulticast-")  # mode 0700
            path = os.path.join(self._directory, "descriptors")
            self._listener.bind(path)
            return path
        return f"@{name}"

    def _run(self) -> None:
        try:
            self._selector.register(self._bell, selectors.EVENT_READ)
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
            while self._turn():
                pass
        finally:
            self._release()

    def _turn(self) -> bool:
        now = time.monotonic()
        patience = max(0.0, min(self._deadlines.values()) - now) if self._deadlines else None
        for key, _ in self._selector.select(patience):
            if key.fileobj is self._bell:
                return False
            key.data()
        for sock in [sock for sock, deadline in self._deadlines.items() if deadline <= now]:
            self._drop(sock)
        return True

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            time.sleep(RETRY)  # it went away, or there are no descriptors left
            return
        if _user(sock) != os.geteuid():
            sock.close()
            return
        sock.setblocking(False)
        close_on_fork(sock)
        self._deadlines[sock] = time.monotonic() + ASK
        self._selector.register(sock, selectors.EVENT_READ, partial(self._answer, sock))

    def _answer(self, sock: socket.socket) -> None:
        with suppress(OSError, struct.error):  # whoever asks nonsense, or goes away, gets nothing
            (key,) = KEY.unpack(sock.recv(KEY.size + 1))
            if key in self._offers:
                socket.send_fds(sock, [GIVEN], [self._offers[key]])
            else:
                sock.send(UNKNOWN)
        self._drop(sock)

    def _drop(self, sock: socket.socket) -> None:
        del self._deadlines[sock]
        self._selector.unregister(sock)
        sock.close()

    def _release(self) -> None:
        for sock in (*self._deadlines, self._listener, self._bell, self._rope):
            sock.close()
        self._selector.close()
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)


def ask(name: str, key: int, timeout: float) -> int:
    """Fetch a descriptor from a server of another process, or of this one.

    Parameters
    ----------
    name
        Where it listens.
    key
        What to ask for.
    timeout
        Seconds.

    Raises
    ------
    OSError
        It cannot be reached, does not answer in time (TimeoutError), or offers no such thing (ENOENT).
    """
    deadline = time.monotonic() + timeout
    said, control = b"", []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        _connect(sock, f"\0{name[1:]}" if name.startswith("@") else name, deadline)
        sock.settimeout(max(RETRY, deadline - time.monotonic()))
        with suppress(BrokenPipeError, ConnectionResetError):
            sock.send(KEY.pack(key))
            # Not socket.recv_fds: it does not pass its flags on (CPython 3.11), so the descriptor would be inherited.
            said, control, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(DESCRIPTOR.size), socket.MSG_CMSG_CLOEXEC)
    descriptors = [DESCRIPTOR.unpack(data)[0] for *_, data in control if len(data) == DESCRIPTOR.size]
    if said == UNKNOWN:
        raise OSError(errno.ENOENT, f"nothing is offered under {key}")
    if said != GIVEN or not descriptors:
        raise OSError(errno.ECONNRESET, "it closed the connection: another user's, or at its end")
    return descriptors[0]


def _connect(sock: socket.socket, name: str, deadline: float) -> None:
    """Connect; a full queue (EAGAIN, unix(7)) is tried again."""
    sock.setblocking(False)
    while True:
        try:
            return sock.connect(name)
        except BLOCKED:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "its queue of connections stays full") from None
            time.sleep(RETRY)


def _user(sock: socket.socket) -> int:
    """Answer the user at the other end."""
    return int(CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))[1])
