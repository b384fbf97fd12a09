"""The ranks that came to one `open_comm` together, and the channels among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from cumulticast.team.comm.channel import JOIN, Answer, Channel, Failure, Part, left
from cumulticast.team.comm.frames import Frame, FrameError
from cumulticast.team.comm.peer import Peer

ROOT = "root"  # the key of the channel of all ranks
Deliver = Callable[[Peer, bytes], None]


class Session:
    """One job's ranks, from the first that comes to the last that leaves.

    Parameters
    ----------
    size
        How many ranks it takes.
    deliver
        Sends a message to a rank, and does not raise when that rank is gone.
    """

    def __init__(self, size: int, deliver: Deliver) -> None:
        self.size = size
        self.started = False
        self.peers: dict[int, Peer] = {}
        self.came: set[int] = set()  # ranks that have ever been here
        self.gone: dict[int, str] = {}  # ranks whose connection is over, once the session has started
        self.over_at = 0.0  # until when ranks that come late are told why the session failed
        self._deliver = deliver
        self.channels = {ROOT: Channel(ROOT, tuple(range(size)))}

    @property
    def root(self) -> Channel:
        """The channel of all ranks."""
        return self.channels[ROOT]

    def seat(self, peer: Peer, limit: float, remaining: float) -> None:
        """Take a rank in. The last one starts the session.

        Parameters
        ----------
        peer
            Its connection.
        limit, remaining
            Its time limit, and what is left of it, in seconds.
        """
        assert peer.who
        rank = peer.who.rank
        self.came.add(rank)
        peer.session = self
        peer.channels[0] = ROOT
        self.peers[rank] = peer
        deadline = time.monotonic() + remaining
        self.over_at = max(self.over_at, deadline)
        self._arrive(self.root, rank, Part(JOIN, b"", limit, deadline))
        self.started = self.started or self.root.sequence > 0

    def refuse(self, culprits: Mapping[int, str]) -> None:
        """Fail before the session has started: tell all who came."""
        self._tell(self.root, self.root.fail(culprits))

    def hear(self, peer: Peer, frame: Frame) -> None:
        """Act on a message of a seated rank.

        Raises
        ------
        FrameError
            It makes no sense.
        """
        match frame.text("do"):
            case "part":
                self._part(peer, frame)
            case "open":
                self._open(peer, frame.number("channel"), frame.text("key"), frame.numbers("members"))
            case "leave":
                self._leave(peer, frame)
            case other:
                raise FrameError(f"do is {other!r}")

    def lose(self, peer: Peer, what: str) -> None:
        """Note that a connection is over; tell the channels that the rank was in.

        Parameters
        ----------
        what
            How it ended, unless the rank had left all its channels before.
        """
        assert peer.who
        rank = peer.who.rank
        if self.peers.get(rank) is not peer:
            return
        del self.peers[rank]
        if not self.started:
            self.root.withdraw(rank, what)  # another process may come in its place
            return
        what = what if peer.channels else left(peer.parting)
        self.gone[rank] = what
        for channel in list(self.channels.values()):
            if rank in channel.members and not channel.failure:
                self._tell(channel, channel.fail({channel.members.index(rank): what}))
            self._forget(channel)

    def expire(self, now: float) -> None:
        """Fail the exchanges whose time is over.

        Parameters
        ----------
        now
            On the clock of `time.monotonic`.
        """
        for channel in list(self.channels.values()):
            if failure := channel.expire(now):
                self._tell(channel, failure)

    def deadlines(self) -> Iterator[float]:
        """Answer when exchanges in progress will fail."""
        return (channel.deadline for channel in self.channels.values() if channel.deadline is not None)

    def goes_on_without(self, rank: int) -> bool:
        """Tell whether others are still in a channel that this rank has no part in."""
        channels = [channel for channel in self.channels.values() if rank not in channel.members]
        return any(channel.opened and not channel.failure for channel in channels)

    def _part(self, peer: Peer, frame: Frame) -> None:
        channel = self._channel_of(peer, frame)
        if channel.failure:
            return  # the rank has been told already
        rank = self._rank_in(channel, peer)
        if channel.waits(rank) or frame.number("sequence") != channel.sequence:
            raise FrameError(f"an exchange out of order: {dict(frame.header)}, at {channel.sequence}")
        limit = frame.seconds("limit")
        self._arrive(channel, rank, Part(frame.text("label"), frame.payload, limit, time.monotonic() + limit))

    def _arrive(self, channel: Channel, rank: int, part: Part) -> None:
        result = channel.arrive(rank, part)
        if result:
            self._tell(channel, result)

    def _open(self, peer: Peer, number: int, key: str, members: tuple[int, ...]) -> None:
        assert peer.who
        if number in peer.channels or peer.who.rank not in members or len(set(members)) != len(members):
            raise FrameError(f"channel {number} of {members}")
        if max(members) >= self.size:
            raise FrameError(f"members are {members}; ranks are 0 to {self.size - 1}")
        peer.channels[number] = key
        if key not in self.channels:
            self._begin(key, members)
        channel = self.channels[key]
        if channel.members != members:
            raise FrameError(f"channel {key} is of {channel.members}, not of {members}")
        channel.opened.add(peer.who.rank)
        if channel.failure:
            self._deliver(peer, Frame(_header(number, channel.failure)).encode())

    def _begin(self, key: str, members: tuple[int, ...]) -> None:
        channel = self.channels[key] = Channel(key, members)
        if lost := {place: self.gone[rank] for place, rank in enumerate(members) if rank in self.gone}:
            channel.fail(lost)

    def _leave(self, peer: Peer, frame: Frame) -> None:
        channel = self._channel_of(peer, frame)
        peer.parting = frame.text("reason")
        del peer.channels[frame.number("channel")]
        if not channel.failure:
            blamed = frame.culprits() if "culprits" in frame.header else None
            self._tell(channel, channel.fail(blamed or {self._rank_in(channel, peer): left(peer.parting)}))
        self._forget(channel)

    def _channel_of(self, peer: Peer, frame: Frame) -> Channel:
        key = peer.channels.get(frame.number("channel"))
        if key is None:
            raise FrameError(f"a channel that is not open: {dict(frame.header)}")
        return self.channels[key]

    def _rank_in(self, channel: Channel, peer: Peer) -> int:
        assert peer.who
        return channel.members.index(peer.who.rank)

    def _tell(self, channel: Channel, result: Answer | Failure) -> None:
        """Send a result to all members; to the hub's own process last, so that its end cannot keep it from others."""
        body = b"".join(result.payloads) if isinstance(result, Answer) else b""
        peers = [self.peers[rank] for rank in channel.members if rank in self.peers]
        messages: dict[int, bytes] = {}  # mostly, a channel has the same number on all ranks
        for peer in sorted(peers, key=lambda one: one.own):
            for number in [number for number, key in peer.channels.items() if key == channel.key]:
                if number not in messages:
                    messages[number] = Frame(_header(number, result), body).encode()
                self._deliver(peer, messages[number])

    def _forget(self, channel: Channel) -> None:
        """Drop a channel that no rank is in and none can still come to."""
        here = any(channel.key in peer.channels.values() for peer in self.peers.values())
        awaited = set(channel.members) - channel.opened - set(self.gone)
        if channel is not self.root and not here and not awaited:
            self.channels.pop(channel.key, None)


def _header(number: int, result: Answer | Failure) -> dict[str, object]:
    if isinstance(result, Answer):
        sizes = [len(payload) for payload in result.payloads]
        return {"do": "answer", "channel": number, "sequence": result.sequence, "sizes": sizes}
    return {"do": "fail", "channel": number, "culprits": result.culprits, "label": result.label}
