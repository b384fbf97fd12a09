"""What open_comm takes, and what it says of what it does not."""

from __future__ import annotations

import json
import socket
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from comm_ranks import LONG, RankProcess, blamed, comm_thread, exchanged, joined, side_by_side

from cumulticast.ranks import free_port
from cumulticast.team.comm import CommError, LocalComm, open_comm
from cumulticast.team.comm.places import as_told, told_place

VARIABLES = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Give an environment that tells nothing of ranks."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_ranks_find_each_other_by_the_environment(environment: pytest.MonkeyPatch) -> None:
    for name, value in {**VARIABLES, "MASTER_PORT": str(free_port())}.items():
        environment.setenv(name, value)
    comms = side_by_side(open_comm, partial(open_comm, rank=1))  # a process has one environment: rank 1 overrides it
    assert exchanged(comms) == [[b"0", b"1"]] * 2
    side_by_side(*(one.close for one in comms))


@pytest.mark.parametrize("missing", VARIABLES)
def test_what_the_environment_lacks_is_named_with_what_is_there(environment: pytest.MonkeyPatch, missing: str) -> None:
    for name in VARIABLES.keys() - {missing}:
        environment.setenv(name, VARIABLES[name])
    with pytest.raises(ValueError, match=f"where {missing} is missing") as caught:
        open_comm()
    there = [f"{name}={value}" for name, value in VARIABLES.items() if name != missing]
    assert f"({', '.join(there)} is there)" in str(caught.value)
    assert "torchrun" in str(caught.value)


def test_an_empty_environment_is_told_whole(environment: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT is missing \(none of them is"):
        open_comm()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RANK", "first", "RANK='first' in the environment is no integer"),
        ("RANK", "2", "rank=2 of size=2: ranks are 0 to 1"),
        ("WORLD_SIZE", "0", "size=0: at least 1"),
        ("MASTER_PORT", "70000", "MASTER_PORT=70000: a port from 1 to 65535"),
    ],
)
def test_variables_that_make_no_sense(environment: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    for one, good in {**VARIABLES, name: value}.items():
        environment.setenv(one, good)
    with pytest.raises(ValueError, match=message):
        open_comm()


def test_one_rank_alone_needs_no_address(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("RANK", "0")
    environment.setenv("WORLD_SIZE", "1")
    for comm in (open_comm(), open_comm("tcp://10.0.0.1:29500", 0, 1), open_comm(f"file://{tmp_path}/x", 0, 1)):
        assert isinstance(comm, LocalComm) and (comm.rank, comm.size) == (0, 1)
    assert not list(tmp_path.iterdir())


NO_ADDRESSES = ["", "10.0.0.1:29500", "tcp://10.0.0.1", "tcp://:29500", "tcp://h:0", "tcp://h:x", "udp://h:1"]


@pytest.mark.parametrize("text", [*NO_ADDRESSES, "file://host/x", "file:///"])
def test_a_text_that_is_no_address_is_answered_with_good_ones(text: str) -> None:
    with pytest.raises(ValueError, match=r"good ones: tcp://10\.0\.0\.1:29500, file:///shared/job-17"):
        open_comm(text, 0, 2)


def test_an_address_needs_rank_and_size() -> None:
    for rank, size in ((None, 2), (0, None)):
        with pytest.raises(ValueError, match="needs rank and size"):
            open_comm("tcp://10.0.0.1:29500", rank, size)
    with pytest.raises(ValueError, match="rank=-1 of size=2"):
        open_comm("tcp://10.0.0.1:29500", -1, 2)


@pytest.mark.parametrize("comm", [3, object(), LocalComm, b"tcp://h:1", ["tcp://h:1"]])
def test_other_objects_are_refused_by_type(comm: Any) -> None:
    with pytest.raises(TypeError, match=r"comm is of type .*; it can be None, .*an mpi4py communicator"):
        open_comm(comm)


def test_a_comm_is_taken_as_it_is_if_it_is_what_is_said() -> None:
    comm = LocalComm()
    assert open_comm(comm) is comm and open_comm(comm, 0, 1) is comm
    with pytest.raises(ValueError, match="size=2, but the communicator's is 1"):
        open_comm(comm, size=2)


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="timeout=0"):
        open_comm("tcp://10.0.0.1:29500", 0, 2, timeout=0)


def test_a_file_brings_ranks_together_again_and_again_and_is_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "job 1"
    for _ in range(3):
        with joined(3, f"file://{tmp_path}/job%201") as comms:
            assert exchanged(comms) == [[b"0", b"1", b"2"]] * 3
            assert json.loads(path.read_text())["addresses"]
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["dead", "silent", "damaged", "empty"])
def test_a_file_that_an_earlier_job_left_is_passed_over(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "job"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = {"dead": free_port(), "silent": silent.getsockname()[1]}.get(kind, 0)
        told = json.dumps({"job": "x", "addresses": [["127.0.0.1", port]]})
        path.write_text({"damaged": "{", "empty": ""}.get(kind, told))
        results = list[Any]()
        others = threading.Thread(
            target=lambda: results.extend(side_by_side(partial(open_comm, f"file://{path}", 1, 2, LONG)))
        )
        others.start()
        results[:0] = [open_comm(f"file://{path}", 0, 2, LONG)]
        others.join(LONG)
        assert exchanged(results) == [[b"0", b"1"]] * 2
        side_by_side(*(one.close for one in results))
    assert not path.exists()


def test_a_file_of_another_live_job_leads_to_it_and_no_further(tmp_path: Path) -> None:
    """The file is copied from a job that lives: its hub does not know the name in it."""
    with joined(2, f"file://{tmp_path}/one"):
        told = json.loads((tmp_path / "one").read_text())
        (tmp_path / "two").write_text(json.dumps({**told, "job": "another"}))
        (error,) = blamed(side_by_side(partial(open_comm, f"file://{tmp_path}/two", 1, 2, 0.3)))
        assert "it belongs to another job" in error[0]


def test_a_second_rank_0_at_a_file_is_told_of_the_first(tmp_path: Path) -> None:
    place = f"file://{tmp_path}/job"
    first = RankProcess(place, 0, 3)
    try:
        while not (tmp_path / "job").exists():
            assert first.process.poll() is None
        with comm_thread(place, 0, 3) as second:
            (told,) = blamed([second()])
        assert told[0].startswith("two processes say they are this rank")
        assert first.answer() == f"CommError {told}"
    finally:
        first.end()


@pytest.mark.parametrize("come", [[0], [0, 2]])
def test_a_job_that_does_not_come_together_leaves_no_file(tmp_path: Path, come: list[int]) -> None:
    place = f"file://{tmp_path}/job"
    ranks = [RankProcess(place, rank, 3, 0.5) for rank in come]
    for rank in ranks:
        assert "did not come within 0.5 s" in rank.answer()
        assert rank.process.wait(LONG) == 0
        rank.end()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file or directory"):
        open_comm(f"file://{tmp_path}/no/such/directory/job", 0, 2)


def test_what_rank_0_tells_can_be_read_again_and_other_texts_cannot() -> None:
    place = told_place()
    try:
        assert as_told(place.text).look_up() == place.look_up()
    finally:
        assert place.door
        place.door.close()
    for text in ("{", "[]", "3", '{"job": "x"}', '{"job": "x", "addresses": [3]}'):
        with pytest.raises(ValueError):
            as_told(text)


class FakeWorld:
    """What communicators of other libraries share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.told: list[Any] = [None]
        self.barrier = threading.Barrier(size)


class FakeMpi:
    """As much of an mpi4py communicator as is needed, without Ibcast."""

    def __init__(self, world: FakeWorld, rank: int) -> None:
        self._world, self._rank = world, rank

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return self._world.size

    def bcast(self, what: Any, root: int) -> Any:
        if self._rank == root:
            self._world.told[0] = what
        self._world.barrier.wait(LONG)
        return self._world.told[0]

    def allgather(self, what: Any) -> list[Any]:
        raise AssertionError("not needed")


def test_a_communicator_by_its_members_tells_the_ranks_where_to_meet() -> None:
    world = FakeWorld(3)
    comms = side_by_side(*(partial(open_comm, FakeMpi(world, rank)) for rank in range(3)))
    assert exchanged(comms) == [[b"0", b"1", b"2"]] * 3
    side_by_side(*(one.close for one in comms))


def test_a_communicator_knows_its_rank() -> None:
    with pytest.raises(ValueError, match="rank=1, but the communicator's is 0"):
        open_comm(FakeMpi(FakeWorld(2), 0), rank=1)
    assert isinstance(open_comm(FakeMpi(FakeWorld(1), 0), rank=0, size=1), LocalComm)


class NeverDone(FakeMpi):
    """A communicator of which another rank never takes part in the broadcast."""

    def Ibcast(self, buffer: bytearray, root: int) -> NeverDone:
        return self

    def Test(self) -> bool:
        return False


@pytest.mark.parametrize("rank", [0, 1])
def test_a_broadcast_that_does_not_end_is_over_at_the_limit(rank: int) -> None:
    with pytest.raises(CommError, match=r"rank 0: did not come within 0.2 s"):
        open_comm(NeverDone(FakeWorld(2), rank), timeout=0.2)
