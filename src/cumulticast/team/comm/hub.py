"""The middle of the star: a thread in rank 0's process that carries what ranks tell each other.

It works while the main thread of that process is inside a driver call, since such calls let other threads run. It never
waits for one connection alone, so a rank that is stopped, slow or a stranger holds up nobody else. Every rank is a
client, rank 0 as well (by a socket pair), so all of them learn the same things in the same way.
"""

from __future__ import annotations

import atexit
import selectors
import signal
import socket
import threading
import time
from collections import deque
from functools import partial

from cumulticast.team.comm.door import Door
from cumulticast.team.comm.frames import Frame, FrameError
from cumulticast.team.comm.peer import Peer, PeerLost
from cumulticast.team.comm.reception import Reception
from cumulticast.team.comm.sockets import BLOCKED, at_once, close_on_fork
from cumulticast.team.comm.who import process_name

GREETING = 10.0  # seconds in which a connection must say who it is
STRANGERS = 256  # connections that have not said yet who they are
PAUSE = 0.1  # seconds without new connections after one could not be accepted (no descriptors left)
LINGER = 30.0  # seconds that the end of rank 0's process may wait for splits without it
# Faults of this thread itself must still end or reach the process; all other signals are for the main thread, whose
# waits they have to interrupt.
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}


class Hub:
    """The connections that came in at a door, and the thread that serves them.

    It goes on until rank 0's process has left all its sessions and nobody else is in one.

    Parameters
    ----------
    job
        What tells this job from others.
    size
        How many ranks there are.
    door
        Where ranks come in. The hub closes it.
    """

    def __init__(self, job: str, size: int, door: Door) -> None:
        self.job = job
        self.closed = threading.Event()
        self._door = door
        self._open = True
        self._peers: set[Peer] = set()
        self._lost: deque[tuple[Peer, str]] = deque()
        self._deaf_until: float | None = None
        self._arrivals: deque[socket.socket] = deque()
        self._lock = threading.Lock()
        self._reception = Reception(job, size, process_name(), self._deliver)
        self._selector = selectors.DefaultSelector()
        self._bell, self._rope = socket.socketpair()
        for resource in (self._selector, self._bell, self._rope):
            close_on_fork(resource)
        self._selector.register(self._bell, selectors.EVENT_READ, self._welcome_own)
        self._listen()
        self._thread = threading.Thread(target=self._run, name=f"cumulticast hub of {job}", daemon=True)

    def attach(self) -> socket.socket | None:
        """Answer rank 0's end of a new connection; None if the hub is over. The first one starts the thread."""
        with self._lock:
            if not self._open:
                return None
            ours, theirs = socket.socketpair()
            self._arrivals.append(ours)
            self._rope.send(b"!")
            if self._thread.ident is None:
                self._thread.start()
                atexit.register(self.linger)
            return theirs

    def linger(self) -> None:
        """Wait, within limits, for the splits that rank 0 is not in: without this process they are over."""
        try:
            if any(session.goes_on_without(0) for session in self._reception.sessions):
                self.closed.wait(LINGER)
        finally:
            self._door.hide()

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - FAULTS)
        try:
            while self._needed():
                self._turn()
        finally:
            self._close()

    def _needed(self) -> bool:
        self._shut_unless_needed()
        return self._open or any(peer.session for peer in self._peers)

    def _turn(self) -> None:
        now = time.monotonic()
        for key, events in self._selector.select(self._patience(now)):
            if self._selector.get_map().get(key.fd) is key:  # an event before it may have ended this connection
                key.data(events)
            self._bury()
        # What had come by `now` has been heard: only what is still missing is late.
        for session in self._reception.sessions:
            session.expire(now)
        for peer in [peer for peer in self._peers if peer.who is None and peer.greet_by <= now]:
            self._drop(peer)
        self._bury()
        self._reception.tidy()
        if self._deaf_until is not None and self._deaf_until <= now:
            self._listen()

    def _patience(self, now: float) -> float | None:
        """Answer the seconds until something has to be done unasked."""
        times = [when for session in self._reception.sessions for when in session.deadlines()]
        times += [peer.greet_by for peer in self._peers if peer.who is None]
        times += [session.over_at for session in self._reception.telling]
        times += [] if self._deaf_until is None else [self._deaf_until]
        return max(0.0, min(times) - now) if times else None

    def _listen(self) -> None:
        self._deaf_until = None
        for listener in self._door.listeners:
            self._selector.register(listener, selectors.EVENT_READ, partial(self._accept, listener))

    def _deafen(self) -> None:
        if self._deaf_until is None:
            for listener in self._door.listeners:
                self._selector.unregister(listener)
        self._deaf_until = None

    def _accept(self, listener: socket.socket, _: int) -> None:
        try:
            sock, _ = listener.accept()
        except BLOCKED:
            return
        except OSError:
            self._deafen()
            self._deaf_until = time.monotonic() + PAUSE
            return
        strangers = [peer for peer in self._peers if peer.who is None and not peer.own]
        if len(strangers) >= STRANGERS:
            self._drop(min(strangers, key=lambda peer: peer.greet_by))
        self._take_in(sock, own=False)

    def _welcome_own(self, _: int) -> None:
        self._bell.recv(1)
        self._take_in(self._arrivals.popleft(), own=True)

    def _take_in(self, sock: socket.socket, *, own: bool) -> None:
        at_once(sock)
        peer = Peer(sock, own, time.monotonic() + GREETING)
        self._peers.add(peer)
        self._selector.register(sock, selectors.EVENT_READ, partial(self._serve, peer))

    def _serve(self, peer: Peer, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                peer.flush()
                self._watch(peer)
            if events & selectors.EVENT_READ:
                for frame in peer.receive():
                    self._hear(peer, frame)
        except PeerLost as error:
            self._lost.append((peer, str(error)))
        except FrameError as error:
            self._lost.append((peer, f"its connection broke ({error})"))

    def _hear(self, peer: Peer, frame: Frame) -> None:
        if peer.who is None:
            if not self._reception.greet(peer, frame):
                self._drop(peer)
        elif peer.session:
            peer.session.hear(peer, frame)

    def _deliver(self, peer: Peer, message: bytes) -> None:
        try:
            peer.send(message)
            if peer.unsent:
                self._watch(peer)
        except PeerLost as error:
            self._lost.append((peer, str(error)))

    def _watch(self, peer: Peer) -> None:
        """Ask to be told when more can be sent, while there is more."""
        key = self._selector.get_key(peer.sock)
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        if key.events != wanted:
            self._selector.modify(peer.sock, wanted, key.data)

    def _bury(self) -> None:
        """Part from connections that are over; telling others may find more of them."""
        while self._lost:
            peer, what = self._lost.popleft()
            if peer in self._peers:
                self._forget(peer)
                if peer.session:
                    peer.session.lose(peer, what)
                self._shut_unless_needed()  # before rank 0 sees its end: then the place is free
                peer.sock.close()

    def _drop(self, peer: Peer) -> None:
        self._forget(peer)
        peer.sock.close()

    def _forget(self, peer: Peer) -> None:
        self._peers.discard(peer)
        self._selector.unregister(peer.sock)

    def _shut_unless_needed(self) -> None:
        if self._open and not any(peer.own for peer in self._peers) and not self._reception.telling:
            self._shut()

    def _shut(self) -> None:
        """Let nobody in any more, unless rank 0 is on its way in."""
        with self._lock:
            if not self._arrivals:
                self._open = False
                self._deafen()
                self._door.close()
                self._reception.vacate()
                for stranger in [peer for peer in self._peers if peer.who is None]:
                    self._drop(stranger)  # nobody will seat it; it finds the next hub

    def _close(self) -> None:
        with self._lock:
            self._open = False
            self._door.close()
            for peer in self._peers:
                peer.sock.close()
            for sock in (*self._arrivals, self._bell, self._rope):
                sock.close()
            self._selector.close()
        atexit.unregister(self.linger)
        self.closed.set()
