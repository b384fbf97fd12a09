"""Ranks that are killed, stopped and interrupted, in processes of their own."""

from __future__ import annotations

import signal

import pytest
from comm_ranks import RankProcess, processes


def all_say(ranks: list[RankProcess], line: str, answer: str) -> None:
    for one in ranks:
        one.tell(line)
    assert [one.answer() for one in ranks] == [answer] * len(ranks)


@pytest.mark.parametrize("killed", [0, 2])
def test_a_rank_that_is_killed_is_named_to_those_who_wait_and_who_come_later(killed: int) -> None:
    with processes(4) as ranks:
        all_say(ranks, "exchange first 30", "[b'0', b'1', b'2', b'3']")
        survivors = [one for number, one in enumerate(ranks) if number != killed]
        survivors[0].tell("exchange bind 30")
        ranks[killed].signal(signal.SIGKILL)
        told = f"CommError {{{killed}: 'its process ended'}}"
        assert survivors[0].answer() == told
        all_say(survivors[1:], "exchange bind 30", told)
        all_say(survivors, "exchange again 30", told)


def test_a_rank_that_ends_without_a_word_is_named() -> None:
    with processes(2) as ranks:
        assert ranks[1].process.stdin
        ranks[1].process.stdin.close()
        ranks[1].process.wait(30)
        all_say(ranks[:1], "exchange bind 30", "CommError {1: 'its process ended'}")


def test_a_rank_that_is_stopped_is_late_and_learns_it_when_it_goes_on() -> None:
    with processes(3) as ranks:
        ranks[1].signal(signal.SIGSTOP)
        ranks[1].tell("exchange bind 30")
        told = "CommError {1: \"did not come to 'bind' within 0.5 s\"}"
        all_say([ranks[0], ranks[2]], "exchange bind 0.5", told)
        ranks[1].signal(signal.SIGCONT)
        assert ranks[1].answer() == told


def test_rank_0_stopped_is_named_by_all_and_learns_it_when_it_goes_on() -> None:
    with processes(3) as ranks:
        ranks[0].signal(signal.SIGSTOP)
        told = "CommError {0: 'does not answer: it is stopped, or its host is out of reach'}"
        all_say(ranks[1:], "exchange bind 0.2", told)
        ranks[0].signal(signal.SIGCONT)
        all_say(ranks[:1], "exchange next 30", told)


def test_a_stop_that_is_shorter_than_the_limit_harms_nothing() -> None:
    with processes(3) as ranks:
        for stopped in (0, 1):
            ranks[stopped].signal(signal.SIGSTOP)
            for one in ranks:
                one.tell("exchange bind 30")
            ranks[stopped].signal(signal.SIGCONT)
            assert [one.answer() for one in ranks] == ["[b'0', b'1', b'2']"] * 3


@pytest.mark.parametrize("interrupted", [0, 2])
def test_ctrl_c_ends_a_wait_and_the_others_are_told(interrupted: int) -> None:
    with processes(3) as ranks:
        others = [one for number, one in enumerate(ranks) if number != interrupted]
        others[0].tell("exchange bind 30")
        ranks[interrupted].tell("interrupt bind 30")
        assert ranks[interrupted].answer() == "KeyboardInterrupt"
        told = f"CommError {{{interrupted}: \"left: KeyboardInterrupt at 'bind'\"}}"
        assert others[0].answer() == told
        all_say([others[1], ranks[interrupted]], "exchange bind 30", told)


def test_a_rank_that_leaves_and_ends_is_told_as_having_left() -> None:
    with processes(3) as ranks:
        for leaving in (ranks[1], ranks[0]):
            leaving.tell("close no memory")
            assert leaving.answer() == "closed"
            leaving.end()
        all_say(ranks[2:], "exchange bind 30", "CommError {1: 'left: no memory'}")


def test_rank_0_may_end_when_it_has_left_and_the_others_go_on_in_a_split() -> None:
    with processes(3) as ranks:
        all_say(ranks[1:], "split 2,1", "split")
        all_say(ranks[1:], "exchange first 30", "[b'2', b'1']")
        all_say(ranks[:1], "close done", "closed")
        assert ranks[0].process.stdin
        ranks[0].process.stdin.close()
        all_say(ranks[1:], "exchange second 30", "[b'2', b'1']")
        for one in ranks[1:]:
            one.end()
        assert ranks[0].process.wait(30) == 0


def test_the_end_of_rank_0_is_told_in_a_split_without_it() -> None:
    with processes(3) as ranks:
        all_say(ranks[1:], "split 2,1", "split")
        ranks[0].signal(signal.SIGKILL)
        all_say(ranks[1:], "exchange bind 30", "CommError {-1: 'its process ended'}")
