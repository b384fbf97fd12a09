"""Where ranks that come to the hub are put: the open session takes one of each, the next one begins behind it."""

from __future__ import annotations

import time

from cumulticast.team.comm.channel import JOIN
from cumulticast.team.comm.frames import PART_LIMIT, VERSION, Frame, FrameError
from cumulticast.team.comm.peer import Identity, Peer
from cumulticast.team.comm.session import Deliver, Session


class Reception:
    """The sessions of one hub.

    Parameters
    ----------
    job
        What tells this job from others at the same address; ranks must know it.
    size
        How many ranks rank 0 says there are.
    name
        The process of the hub in words.
    deliver
        Sends a message to a rank, and does not raise when that rank is gone.
    """

    def __init__(self, job: str, size: int, name: str, deliver: Deliver) -> None:
        self.job = job
        self.size = size
        self.sessions: list[Session] = []
        self._name = name
        self._deliver = deliver

    def greet(self, peer: Peer, frame: Frame) -> bool:
        """Answer a greeting, and seat the rank; False if it is to go away.

        Raises
        ------
        FrameError
            It is no greeting.
        """
        if frame.text("do") != "hello":
            raise FrameError(f"a greeting says {frame.text('do')!r}")
        if refusal := self._refusal(frame):
            self._deliver(peer, Frame({"do": "refused", "why": refusal}).encode())
            return False
        peer.who = Identity(frame.number("rank"), frame.text("token"), frame.text("name"))
        peer.reader.payload_limit = PART_LIMIT
        self._deliver(peer, Frame({"do": "welcome"}).encode())
        limit, remaining = frame.seconds("limit"), frame.seconds("remaining")
        if culprits := self._misfit(peer, peer.who, frame.number("size")):
            self._reject(peer, culprits, remaining)
        else:
            self._seat(peer, peer.who, limit, remaining)
        return True

    def vacate(self) -> None:
        """Send the ranks that wait for a session to start away: rank 0 has no part here any more."""
        for session in self.waiting:
            for peer in list(session.peers.values()):
                self._deliver(peer, Frame({"do": "again"}).encode())
                peer.session = None
            self.sessions.remove(session)

    @property
    def waiting(self) -> list[Session]:
        """The sessions that have neither started nor failed, the oldest first."""
        return [session for session in self.sessions if not session.started and not session.root.failure]

    @property
    def telling(self) -> list[Session]:
        """The sessions that failed to start while ranks may still come who have to be told."""
        now = time.monotonic()
        failed = [session for session in self.sessions if not session.started and session.root.failure]
        return [session for session in failed if session.over_at > now and len(session.came) < self.size]

    def tidy(self) -> None:
        """Forget the sessions that are over."""
        telling = self.telling
        self.sessions = [session for session in self.sessions if session.peers or session in telling]

    def _refusal(self, frame: Frame) -> str:
        if frame.number("version") != VERSION:
            return f"it speaks version {VERSION} of the protocol, this process version {frame.number('version')}"
        return "" if frame.text("job") == self.job else "it belongs to another job"

    def _misfit(self, peer: Peer, who: Identity, size: int) -> dict[int, str]:
        if size != self.size:
            return {who.rank: f"says there are {size} ranks, rank 0 says {self.size}"}
        if who.rank >= self.size:
            return {who.rank: f"there are {self.size} ranks, 0 to {self.size - 1}"}
        if who.rank == 0 and not peer.own:
            return {0: _two(who.name, self._name)}
        return {}

    def _reject(self, peer: Peer, culprits: dict[int, str], remaining: float) -> None:
        """Tell a rank that does not fit, and all who come to the same session: it could not become complete."""
        if not self.waiting:
            self.sessions.append(Session(self.size, self._deliver))
        session = self.waiting[0]
        session.refuse(culprits)
        session.came |= culprits.keys()
        session.over_at = max(session.over_at, time.monotonic() + remaining)
        self._deliver(peer, fail_to_join(culprits))

    def _seat(self, peer: Peer, who: Identity, limit: float, remaining: float) -> None:
        for session in self.telling:
            if who.rank not in session.came:
                assert session.root.failure
                session.came.add(who.rank)
                self._deliver(peer, fail_to_join(dict(session.root.failure.culprits)))
                return
        for session in self.waiting:
            other = session.peers.get(who.rank)
            if other is None:
                return session.seat(peer, limit, remaining)
            assert other.who
            if other.who.token != who.token:
                return self._reject(peer, {who.rank: _two(other.who.name, who.name)}, remaining)
        self.sessions.append(Session(self.size, self._deliver))
        self.sessions[-1].seat(peer, limit, remaining)


def fail_to_join(culprits: dict[int, str]) -> bytes:
    """Answer the message that a session has failed."""
    return Frame({"do": "fail", "channel": 0, "culprits": culprits, "label": JOIN}).encode()


def _two(one: str, other: str) -> str:
    return f"two processes say they are this rank: {one} and {other}"
