"""Whatever connects to the hub and is no rank does no harm; nor does a rank that sends what makes no sense."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from comm_ranks import LONG, Ranks, blamed, comm_thread, exchanged, joined

from cumulticast.ranks import free_port
from cumulticast.team.comm import hub
from cumulticast.team.comm.frames import MAGIC, PREFIX, VERSION, Frame, FrameReader


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def ranks(port: int) -> Iterator[Ranks]:
    with joined(2, f"tcp://127.0.0.1:{port}") as comms:
        yield comms
        assert exchanged(list(comms)) == [[b"0", b"1"]] * 2, "the ranks were harmed"


def greeting(port: int, **other: Any) -> Frame:
    who = {"rank": 1, "size": 2, "token": "t", "name": "a stranger"}
    times = {"limit": 30.0, "remaining": 30.0}
    return Frame({"do": "hello", "version": VERSION, "job": f"port {port}", **who, **times, **other})


def said(port: int, *messages: bytes) -> list[dict[str, Any]]:
    """Send messages; what the hub answers until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as sock:
        reader, answers = FrameReader(1 << 20), list[dict[str, Any]]()
        for message in messages:
            sock.sendall(message)
        while received := sock.recv(1 << 16):
            answers += [dict(frame.header) for frame in reader.feed(received)]
        return answers


def test_nonsense_ends_the_connection(ranks: Ranks, port: int) -> None:
    noise = [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, os.urandom(100), b"\x16\x03\x01\x02"]
    noise += [PREFIX.pack(MAGIC, 1 << 30, 0), PREFIX.pack(MAGIC, 2, 1 << 30) + b"{}"]
    noise += [PREFIX.pack(MAGIC, 3, 0) + b"[1]", Frame({}).encode()]
    for message in noise:
        assert said(port, message) == []


WRONG = {"rank": -1, "size": None, "token": 3, "limit": "long", "remaining": -5, "do": "part", "job": 3}


@pytest.mark.parametrize("other", [{name: value} for name, value in WRONG.items()], ids=str)
def test_a_greeting_that_makes_no_sense_ends_the_connection(ranks: Ranks, port: int, other: dict[str, Any]) -> None:
    answers = said(port, greeting(port, **other).encode())
    assert [one["do"] for one in answers] in ([], ["welcome"])


def test_another_job_and_another_version_are_sent_away_with_the_reason(ranks: Ranks, port: int) -> None:
    assert said(port, greeting(port, job="port 1").encode()) == [{"do": "refused", "why": "it belongs to another job"}]
    (answer,) = said(port, greeting(port, version=99).encode())
    assert answer == {"do": "refused", "why": f"it speaks version {VERSION} of the protocol, this process version 99"}


def test_a_silent_connection_is_shown_out(ranks: Ranks, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "GREETING", 0.1)
    assert said(port) == [] and said(port, MAGIC) == []


def test_many_silent_connections_keep_nobody_out(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "STRANGERS", 5)
    place = f"tcp://127.0.0.1:{port}"
    with joined(2, place) as comms:
        silent = [socket.create_connection(("127.0.0.1", port), timeout=LONG) for _ in range(20)]
        try:
            with joined(2, place) as more:
                assert exchanged(list(more)) == exchanged(list(comms)) == [[b"0", b"1"]] * 2
            assert silent[0].recv(1) == b"", "the oldest is shown out"
        finally:
            for one in silent:
                one.close()


@pytest.mark.parametrize(
    "nonsense",
    [
        {"do": "dance"},
        {"do": "part", "channel": 5, "sequence": 1, "label": "x", "limit": 1.0},
        {"do": "part", "channel": 0, "sequence": 7, "label": "x", "limit": 1.0},
        {"do": "open", "channel": 0, "key": "k", "members": [0, 1]},
        {"do": "open", "channel": 3, "key": "k", "members": [0]},
        {"do": "open", "channel": 3, "key": "k", "members": [1, 1]},
        {"do": "open", "channel": 3, "key": "k", "members": [1, 99]},
        {"do": "open", "channel": 3, "key": "k", "members": []},
        {"do": "open", "channel": 3, "key": "root", "members": [1]},
        {"do": "leave", "channel": 9, "reason": ""},
        {"do": "leave", "channel": 0, "reason": 3},
    ],
)
def test_a_rank_that_sends_nonsense_is_named_to_the_others(port: int, nonsense: dict[str, Any]) -> None:
    with comm_thread(f"tcp://127.0.0.1:{port}", 0, 2) as rank_0:
        sock = None
        while sock is None:
            try:
                sock = socket.create_connection(("127.0.0.1", port), timeout=LONG)
            except ConnectionRefusedError:
                continue
        with sock:
            sock.sendall(greeting(port).encode())
            comm = rank_0()
            sock.sendall(Frame(nonsense).encode())
            (told,) = blamed(exchanged([comm]))
            assert list(told) == [1] and told[1].startswith("its connection broke ("), json.dumps(told)
            comm.close()


def test_who_has_not_said_who_it_is_when_rank_0_leaves_is_sent_away_to_find_the_next_hub(port: int) -> None:
    """It would wait in a hub that rank 0 does not come back to, since another rank of the old session keeps it up."""
    with (
        joined(2, f"tcp://127.0.0.1:{port}") as comms,
        socket.create_connection(("127.0.0.1", port), timeout=LONG) as sock,
    ):
        exchanged(list(comms))  # by now the hub has accepted
        comms[0].close()
        with suppress(BrokenPipeError, ConnectionResetError):
            sock.sendall(greeting(port).encode())
            assert sock.recv(1) == b""
