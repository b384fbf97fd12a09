"""Descriptors reach other processes by either way, and what bars a way is told."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cumulticast.team.comm import rights
from cumulticast.team.comm.descriptors import WAYS, DescriptorError, DescriptorServer, fetch, probe

CLIENT = Path(__file__).with_name("descriptor_client.py")


def client(address: dict[str, Any] | None, *ways: str, barred: tuple[str, ...] = ()) -> Any:
    """Fetch in another process; what it read, or the reasons."""
    command = [sys.executable, str(CLIENT), *barred, "--", *ways]
    done = subprocess.run(command, input=json.dumps(address), capture_output=True, text=True, timeout=30, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def pipe() -> Iterator[int]:
    """Give the reading end of a pipe in which "hello" waits."""
    read, write = os.pipe()
    os.write(write, b"hello")
    yield read
    os.close(read)
    os.close(write)


@pytest.fixture
def server(pipe: int) -> Iterator[DescriptorServer]:
    """Offer the pipe under 7, to children as to others."""
    with DescriptorServer({7: pipe}, traceable=True) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_another_process_fetches_by_each_way(server: DescriptorServer, way: str) -> None:
    if reason := probe()[way]:
        pytest.skip(f"{way} is barred here: {reason}")
    assert client(server.address, way) == ["hello", False]


@pytest.mark.parametrize("way", WAYS)
def test_the_same_process_fetches_by_each_way(server: DescriptorServer, way: str) -> None:
    if reason := probe()[way]:
        pytest.skip(f"{way} is barred here: {reason}")
    fd = fetch(server.address, 7, 10.0, [way])
    assert os.read(fd, 100) == b"hello" and not os.get_inheritable(fd)
    os.close(fd)


def test_a_filter_on_one_way_leads_to_the_other(server: DescriptorServer) -> None:
    assert client(server.address, *WAYS, barred=("pidfd_getfd=EPERM",)) == ["hello", False]


def test_a_socket_out_of_reach_leads_to_the_other_way(server: DescriptorServer) -> None:
    if reason := probe()["pidfd_getfd"]:
        pytest.skip(f"pidfd_getfd is barred here: {reason}")
    assert client(server.address, *WAYS, barred=("connect=ECONNREFUSED",)) == ["hello", False]


@pytest.mark.parametrize("call", ["pidfd_getfd", "pidfd_open"])
def test_both_ways_barred_are_told_in_the_words_of_the_kernel(server: DescriptorServer, call: str) -> None:
    reasons = client(server.address, *WAYS, barred=("connect=ECONNREFUSED", f"{call}=EPERM"))
    assert reasons["scm_rights"].startswith("ECONNREFUSED: Connection refused (its process has ended, or is in another")
    assert reasons["pidfd_getfd"].startswith("EPERM: Operation not permitted (")
    assert "seccomp" in reasons["pidfd_getfd"] or "ptrace_scope" in reasons["pidfd_getfd"]


def test_probe_tells_what_a_filter_bars() -> None:
    assert client(None, "probe")["scm_rights"] is None
    barred = client(None, "probe", barred=("pidfd_getfd=ENOSYS",))
    assert barred["scm_rights"] is None
    assert barred["pidfd_getfd"].startswith("ENOSYS: Function not implemented (the kernel is older than 5.6")


def test_what_is_not_offered_is_told(server: DescriptorServer) -> None:
    with pytest.raises(DescriptorError, match="nothing is offered under 8") as caught:
        fetch(server.address, 8, 10.0)
    assert list(caught.value.reasons) == list(WAYS)


def test_more_can_be_offered_later_under_another_key(server: DescriptorServer, pipe: int) -> None:
    with pytest.raises(ValueError, match="under 7 already; free is 8"):
        server.offer(7, pipe)
    server.offer(8, pipe)
    os.close(fetch(server.address, 8, 10.0))


def test_the_offer_outlives_the_offered_descriptor() -> None:
    read, write = os.pipe()
    with DescriptorServer({7: read}) as server:
        os.close(read)
        os.write(write, b"still here")
        os.close(write)
        assert client(server.address, "scm_rights") == ["still here", False]


def test_a_closed_server_offers_nothing(server: DescriptorServer) -> None:
    address = server.address
    server.close()
    server.close()
    with pytest.raises(DescriptorError, match=r"scm_rights: ECONNREFUSED.*pidfd_getfd: E"):
        fetch(address, 7, 10.0)


def test_a_process_that_has_ended_is_told(server: DescriptorServer) -> None:
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, timeout=30)
    with pytest.raises(DescriptorError, match=r"ESRCH: .*its process has ended"):
        fetch({**server.address, "pid": int(child.stdout)}, 7, 10.0, ["pidfd_getfd"])


def test_a_process_number_that_is_used_again_is_not_taken_for_the_same(server: DescriptorServer) -> None:
    with pytest.raises(DescriptorError, match=r"ESRCH: .*another one by now"):
        fetch({**server.address, "started": server.address["started"] - 1}, 7, 10.0, ["pidfd_getfd"])


def test_another_host_and_another_pid_namespace_are_told(server: DescriptorServer) -> None:
    with pytest.raises(DescriptorError, match="on another host"):
        fetch({**server.address, "host": "elsewhere"}, 7, 10.0)
    with pytest.raises(DescriptorError, match="another pid namespace"):
        fetch({**server.address, "namespace": "pid:[1]"}, 7, 10.0, ["pidfd_getfd"])


def test_ways_and_limits_that_are_none_are_refused(server: DescriptorServer) -> None:
    with pytest.raises(ValueError, match="'pigeon' is none"):
        fetch(server.address, 7, 10.0, ["pigeon"])
    with pytest.raises(ValueError, match="timeout=0"):
        fetch(server.address, 7, 0)


def test_a_descriptor_that_is_not_open_is_refused_and_nothing_stays_open(pipe: int) -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        DescriptorServer({1: pipe, 2: 1_000_000})


def test_where_there_are_no_abstract_names_a_path_is_used(pipe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bind = socket.socket.bind

    class Concrete(socket.socket):
        def bind(self, name: Any) -> None:
            if isinstance(name, str) and name.startswith("\0"):
                raise PermissionError("no abstract names")
            bind(self, name)

    monkeypatch.setattr(rights.socket, "socket", Concrete)
    with DescriptorServer({7: pipe}) as server:
        monkeypatch.undo()
        path = Path(server.address["socket"])
        assert path.is_socket() and path.parent.stat().st_mode & 0o077 == 0
        assert client(server.address, "scm_rights") == ["hello", False]
    assert not path.parent.exists()


def test_another_users_process_gets_nothing(server: DescriptorServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rights.os, "geteuid", lambda: 12345)
    with pytest.raises(DescriptorError, match="ECONNRESET"):
        fetch(server.address, 7, 10.0, ["scm_rights"])


def test_a_client_that_says_nothing_or_nonsense_holds_up_nobody(server: DescriptorServer) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.connect("\0" + server.address["socket"][1:])
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as babbler:
            babbler.connect("\0" + server.address["socket"][1:])
            babbler.send(b"?" * 500)
            assert babbler.recv(1) == b""
        os.close(fetch(server.address, 7, 10.0, ["scm_rights"]))
        assert silent.recv(1) == b""  # shown out after a while


def test_a_server_that_never_answers_ends_at_the_limit(server: DescriptorServer) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as mute:
        mute.bind("\0cumulticast-test-mute-" + str(os.getpid()))
        mute.listen(0)
        address = {**server.address, "socket": "@cumulticast-test-mute-" + str(os.getpid())}
        for told in ("TimeoutError: timed out", "ETIMEDOUT: its queue of connections stays full"):
            with pytest.raises(DescriptorError, match=f"scm_rights: {told}"):
                fetch(address, 7, 0.2, ["scm_rights"])
