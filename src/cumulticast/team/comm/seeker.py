"""How a rank finds the hub among the addresses where it may be."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence

from cumulticast.team.comm.frames import Frame, FrameError
from cumulticast.team.comm.greeting import LONGEST_PAUSE, Address, Attempt, Greeted
from cumulticast.team.comm.names import Names


class Seeker:
    """Tries addresses side by side, again and again, until a hub of the job answers at one of them.

    A server that accepts and says nothing (torch's store at MASTER_PORT) costs nothing but its own attempt.

    Parameters
    ----------
    addresses
        Answers where to try: asked again before each round, since it may change (a file that is written anew).
    greet
        Answers the greeting, with the time that is left.
    """

    def __init__(self, addresses: Callable[[], Sequence[Address]], greet: Callable[[], Frame]) -> None:
        self._addresses = addresses
        self._greet = greet
        self._selector = selectors.DefaultSelector()
        self._names = Names()
        self._attempts: dict[Address, Attempt] = {}

    def seek(self, deadline: float) -> Greeted | None:
        """Answer the connection; None if there is no hub by the deadline, and `why` says why.

        Parameters
        ----------
        deadline
            On the clock of `time.monotonic`.
        """
        try:
            while (now := time.monotonic()) < deadline:
                self._begin(now)
                times = [one.due for one in self._attempts.values() if not one.sock] + [deadline, now + LONGEST_PAUSE]
                for key, _ in self._selector.select(max(0.0, min(times) - now)):
                    if found := self._advance(key.data):
                        return found
            return None
        finally:
            self._end()

    @property
    def why(self) -> str:
        """What became of the attempts, in words."""
        told = [f"{host} port {port}: {one.why}" for (host, port), one in self._attempts.items()]
        return "; ".join(told) or "no address is known"

    def _begin(self, now: float) -> None:
        for address in self._addresses():
            attempt = self._attempts.setdefault(address, Attempt(address))
            if not attempt.sock and attempt.due <= now:
                attempt.start(self._names)
                if attempt.sock:
                    self._selector.register(attempt.sock, selectors.EVENT_WRITE, attempt)

    def _advance(self, attempt: Attempt) -> Greeted | None:
        """Go on with an attempt that can."""
        assert attempt.sock
        try:
            if not attempt.said:
                attempt.say(self._greet())
                self._selector.modify(attempt.sock, selectors.EVENT_READ, attempt)
                return None
            frames = attempt.hear()
        except (OSError, FrameError) as error:
            self._selector.unregister(attempt.sock)
            attempt.fail(str(error))
            return None
        if not frames:
            return None
        return self._won(attempt, frames)

    def _won(self, attempt: Attempt, frames: list[Frame]) -> Greeted:
        assert attempt.sock
        self._selector.unregister(attempt.sock)
        sock, attempt.sock = attempt.sock, None
        return Greeted(sock, attempt.reader, tuple(frames))

    def _end(self) -> None:
        for attempt in self._attempts.values():
            if attempt.sock:
                self._selector.unregister(attempt.sock)
                attempt.sock.close()
                attempt.sock = None
        self._selector.close()
