"""How ranks come together at an address: in order, again and again, and what they are told when they do not."""

from __future__ import annotations

import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from comm_ranks import LONG, RankProcess, address, blamed, comm_thread, exchanged, joined, processes, side_by_side

from cumulticast.ranks import free_port
from cumulticast.team.comm import open_comm


def opened(place: str, ranks: list[int], size: int, timeout: float = LONG) -> list[Any]:
    return side_by_side(*(partial(open_comm, place, rank, size, timeout) for rank in ranks))


def close(*comms: Any) -> None:
    side_by_side(*(one.close for one in comms))


def test_sessions_at_one_address_one_after_the_other() -> None:
    place = address()
    for _ in range(5):
        with joined(3, place) as comms:
            assert exchanged(comms) == [[b"0", b"1", b"2"]] * 3


def test_sessions_at_one_address_at_the_same_time() -> None:
    place = address()
    with joined(2, place) as first, joined(2, place) as second:
        assert exchanged(second) == [[b"0", b"1"]] * 2
        first.close()
        assert exchanged(second) == [[b"0", b"1"]] * 2


def test_ranks_that_never_came_are_named_to_all_who_came_and_a_new_try_works() -> None:
    place = address()
    assert (
        blamed(opened(place, [0, 2], 4, 0.5)) == [{1: "did not come within 0.5 s", 3: "did not come within 0.5 s"}] * 2
    )
    with joined(4, place) as comms:
        assert exchanged(comms) == [[b"0", b"1", b"2", b"3"]] * 4


def test_without_rank_0_the_others_say_where_they_looked() -> None:
    port = free_port()
    (told,) = blamed(opened(f"tcp://127.0.0.1:{port}", [1], 2, 0.3))
    assert list(told) == [0]
    assert told[0].startswith("did not come within 0.3 s (127.0.0.1 port ") and "Connection refused" in told[0]


def test_sizes_that_differ_are_named_to_all() -> None:
    place = address()
    results = side_by_side(*(partial(open_comm, place, rank, size, LONG) for rank, size in ((0, 3), (1, 3), (2, 5))))
    assert blamed(results) == [{2: "says there are 5 ranks, rank 0 says 3"}] * 3


def test_a_rank_that_comes_after_the_failure_is_told_it_too() -> None:
    place = address()
    results = side_by_side(partial(open_comm, place, 0, 3, LONG), partial(open_comm, place, 2, 5, LONG))
    results += opened(place, [1], 3)
    assert blamed(results) == [{2: "says there are 5 ranks, rank 0 says 3"}] * 3


@pytest.mark.parametrize("twice", [1, 0])
def test_two_processes_of_one_rank_are_named_to_all(twice: int) -> None:
    place = address()
    with comm_thread(place, 0, 3) as rank_0:
        first = RankProcess(place, 1, 3)
        second = RankProcess(place, twice, 3)
        try:
            answers = [first.answer(), second.answer()]
            (told,) = blamed([rank_0()])
            assert list(told) == [twice]
            assert told[twice].startswith("two processes say they are this rank: process ")
            assert str(second.process.pid) in told[twice]
            assert answers == [f"CommError {told}"] * 2
            assert blamed(opened(place, [2], 3)) == [told]
        finally:
            first.end()
            second.end()


def test_a_rank_that_died_before_the_start_is_replaced() -> None:
    place = address()
    with comm_thread(place, 0, 2 + 1) as rank_0:
        first = RankProcess(place, 1, 3)
        first.end()
        second, third = RankProcess(place, 1, 3), RankProcess(place, 2, 3)
        try:
            assert [second.answer(), third.answer()] == ["joined"] * 2
            rank_0().close()
        finally:
            second.end()
            third.end()


def test_a_port_taken_by_a_server_that_says_nothing_is_passed_over() -> None:
    foreign = socket.create_server(("127.0.0.1", 0))
    with foreign, joined(3, f"tcp://127.0.0.1:{foreign.getsockname()[1]}") as comms:
        assert exchanged(comms) == [[b"0", b"1", b"2"]] * 3


def test_jobs_whose_ports_lie_side_by_side_stay_apart() -> None:
    port = free_port()
    with joined(2, f"tcp://127.0.0.1:{port}") as one, joined(2, f"tcp://127.0.0.1:{port - 1}") as other:
        results = side_by_side(partial(exchanged, one), partial(exchanged, other))
        assert results == [[[b"0", b"1"]] * 2] * 2


def test_rank_0_may_come_last() -> None:
    place = address()
    results = list[Any]()
    others = threading.Thread(target=lambda: results.extend(opened(place, [1, 2], 3)))
    others.start()
    with comm_thread(place, 0, 3) as rank_0:
        comms = [rank_0()]
        others.join(LONG)
        comms += results
        assert exchanged(comms) == [[b"0", b"1", b"2"]] * 3
        close(*comms)


def test_a_name_that_nobody_knows_is_told() -> None:
    (told,) = blamed(opened("tcp://no-such-host.invalid:29500", [1], 2, 0.3))
    assert "no-such-host.invalid port 29500: " in told[0]


def test_an_address_of_localhost_by_name() -> None:
    with joined(2, f"tcp://localhost:{free_port()}") as comms:
        assert exchanged(comms) == [[b"0", b"1"]] * 2


FORK = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # of any fork, from Python 3.12 on


def in_forked_child(holds: Callable[[], object]) -> bool:
    """Fork; tell whether something holds in the child."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if holds() else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@FORK
def test_a_forked_child_has_no_part_in_the_comm_and_may_open_its_own() -> None:
    place = address()

    def child() -> bool:
        blamed(side_by_side(partial(comms[1].exchange, b"", "in the child", LONG)))
        both = blamed(opened(place, [0, 1], 2))  # the parent listens there
        with joined(2) as own:
            return exchanged(own) == [[b"0", b"1"]] * 2 and both[0] == both[1] and "two processes" in both[0][0]

    with joined(2, place) as comms:
        assert in_forked_child(child)
        assert exchanged(comms) == [[b"0", b"1"]] * 2


@FORK
def test_a_forked_child_does_not_hide_the_end_of_its_parent() -> None:
    with processes(2) as ranks:
        ranks[1].tell("fork")
        assert ranks[1].answer() == "forked"
        ranks[1].signal(signal.SIGKILL)
        ranks[0].tell("exchange bind 30")
        assert ranks[0].answer() == "CommError {1: 'its process ended'}"
