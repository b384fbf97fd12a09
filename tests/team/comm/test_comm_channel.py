"""One group's exchanges: arrivals, labels, time. No sockets."""

from __future__ import annotations

import pytest

from cumulticast.team.comm.channel import JOIN, Answer, Channel, Failure, Part


def part(label: str = "bind", payload: bytes = b"", deadline: float = 100.0) -> Part:
    return Part(label, payload, 30.0, deadline)


def test_the_last_arrival_answers_all_in_the_order_of_ranks() -> None:
    channel = Channel("root", (4, 5, 6))
    assert channel.arrive(2, part(payload=b"c")) is None
    assert channel.arrive(0, part(payload=b"a")) is None
    assert channel.arrive(1, part(payload=b"b")) == Answer(0, (b"a", b"b", b"c"))
    assert channel.sequence == 1 and channel.deadline is None


def test_payloads_of_one_exchange_do_not_reach_the_next() -> None:
    channel = Channel("root", (0, 1))
    for payload in (b"x", b"y"):
        channel.arrive(0, part(payload=payload))
        answer = channel.arrive(1, part())
        assert isinstance(answer, Answer) and answer.payloads == (payload, b"")


@pytest.mark.parametrize(
    ("labels", "culprits"),
    [
        (["bind", "bind", "map"], {2}),
        (["map", "bind", "bind"], {0}),
        (["bind", "map"], {1}),  # a tie: the lowest rank is taken to be right
        (["map", "bind", "bind", "map"], {1, 2}),
        (["a", "b", "b", "c"], {0, 3}),
    ],
)
def test_ranks_at_another_step_than_most_are_named(labels: list[str], culprits: set[int]) -> None:
    channel = Channel("root", tuple(range(len(labels))))
    result = [channel.arrive(rank, part(label)) for rank, label in reversed(list(enumerate(labels)))][-1]
    assert isinstance(result, Failure) and set(result.culprits) == culprits


def test_the_words_for_another_step_and_for_lateness() -> None:
    channel = Channel("root", (0, 1, 2, 3))
    for rank, label in ((0, "bind"), (1, "bind"), (2, "map")):
        channel.arrive(rank, part(label))
    failure = channel.expire(100.0)
    assert failure == Failure(
        {2: "is at 'map' where others are at 'bind'", 3: "did not come to 'bind' within 30.0 s"}, "bind"
    )


def test_an_exchange_fails_at_its_deadline_and_not_before() -> None:
    channel = Channel("root", (0, 1))
    channel.arrive(1, part(deadline=7.0))
    assert channel.expire(6.9) is None
    failure = channel.expire(7.0)
    assert failure and failure.culprits == {0: "did not come to 'bind' within 30.0 s"}
    assert channel.failure is failure


def test_nothing_is_late_where_nobody_waits() -> None:
    channel = Channel("root", (0, 1))
    assert channel.deadline is None and channel.expire(1e9) is None


def test_the_shortest_limit_of_those_who_came_counts() -> None:
    channel = Channel("root", (0, 1, 2))
    channel.arrive(0, part(deadline=9.0))
    channel.arrive(2, part(deadline=5.0))
    assert channel.deadline == 5.0


def test_a_place_that_was_given_up_can_be_taken_again() -> None:
    channel = Channel("root", (0, 1))
    channel.arrive(0, part(JOIN))
    channel.withdraw(0, "its process ended")
    assert channel.arrive(1, part(JOIN)) is None
    assert isinstance(channel.arrive(0, part(JOIN)), Answer)


def test_a_place_that_nobody_took_again_is_told_as_such() -> None:
    channel = Channel("root", (0, 1))
    channel.arrive(0, part(JOIN))
    channel.withdraw(0, "its process ended")
    channel.arrive(1, part(JOIN))
    failure = channel.expire(100.0)
    assert failure and failure.culprits == {0: "its process ended, and another one did not come within 30.0 s"}
