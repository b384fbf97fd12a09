"""The ranks of one session as the hub sees them; messages are noted down instead of sent."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from cumulticast.team.comm.channel import ENDED
from cumulticast.team.comm.frames import PREFIX, Frame, FrameReader
from cumulticast.team.comm.peer import Identity, Peer
from cumulticast.team.comm.session import Session


class Told:
    """A session of ranks that are all here; rank 0 is the hub's own process."""

    def __init__(self, size: int) -> None:
        self.messages: list[tuple[int, Frame]] = []
        self.session = Session(size, self._note)
        pairs = [socket.socketpair() for _ in range(size)]
        self.sockets = [one for pair in pairs for one in pair]
        self.peers = [Peer(ours, rank == 0, 0.0, Identity(rank, "t", "p")) for rank, (ours, _) in enumerate(pairs)]
        for peer in self.peers:
            self.session.seat(peer, 30.0, 30.0)

    def _note(self, peer: Peer, message: bytes) -> None:
        assert peer.who and len(message) >= PREFIX.size
        self.messages += [(peer.who.rank, frame) for frame in FrameReader(1 << 20).feed(message)]

    def said(self, do: str) -> list[int]:
        """The ranks that were told something, in order; forgets it all."""
        ranks = [rank for rank, frame in self.messages if frame.header["do"] == do]
        self.messages.clear()
        return ranks

    def part(self, rank: int, sequence: int = 1) -> None:
        header = {"do": "part", "channel": 0, "sequence": sequence, "label": "x", "limit": 30.0}
        self.session.hear(self.peers[rank], Frame(header))


@pytest.fixture
def told() -> Iterator[Told]:
    made = Told(4)
    assert made.session.started and made.said("answer") == [1, 2, 3, 0]
    yield made
    for one in made.sockets:
        one.close()


def test_the_process_of_the_hub_is_answered_last(told: Told) -> None:
    for rank in (2, 0, 3, 1):
        assert told.messages == []
        told.part(rank)
    assert told.said("answer") == [1, 2, 3, 0]


def test_a_failure_is_told_once_to_each_that_is_left(told: Told) -> None:
    told.part(1)
    told.session.lose(told.peers[2], ENDED)
    assert told.said("fail") == [1, 3, 0]
    told.session.lose(told.peers[3], ENDED)
    told.part(0)
    assert told.messages == []


def test_a_channel_that_all_have_left_is_forgotten(told: Told) -> None:
    for rank in (1, 3):
        told.session.hear(told.peers[rank], Frame({"do": "open", "channel": 1, "key": "k", "members": [3, 1]}))
    told.session.hear(told.peers[1], Frame({"do": "leave", "channel": 1, "reason": ""}))
    assert "k" in told.session.channels and told.said("fail") == [3]
    told.session.hear(told.peers[3], Frame({"do": "leave", "channel": 1, "reason": ""}))
    assert list(told.session.channels) == ["root"] and told.messages == []


def test_a_channel_is_kept_for_a_member_that_may_still_come(told: Told) -> None:
    told.session.hear(told.peers[1], Frame({"do": "open", "channel": 1, "key": "k", "members": [3, 1]}))
    told.session.hear(told.peers[1], Frame({"do": "leave", "channel": 1, "reason": "no memory"}))
    told.session.hear(told.peers[3], Frame({"do": "open", "channel": 4, "key": "k", "members": [3, 1]}))
    assert [(rank, frame.culprits()) for rank, frame in told.messages] == [(3, {1: "left: no memory"})]
