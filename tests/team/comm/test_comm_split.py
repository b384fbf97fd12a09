"""Comms of some of the ranks, on the same connections."""

from __future__ import annotations

import os

import pytest
from comm_ranks import LONG, blamed, exchanged, joined, side_by_side


def test_the_order_of_ranks_gives_the_new_numbers() -> None:
    with joined(4) as comms:
        some = comms.split([3, 1])
        assert [(one.rank, one.size) for one in some] == [(0, 2), (1, 2)]
        assert exchanged(some) == [[b"0", b"1"]] * 2
        assert exchanged(comms) == [[b"0", b"1", b"2", b"3"]] * 4


def test_two_splits_side_by_side_and_a_split_of_a_split() -> None:
    with joined(4) as comms:
        low, high = comms.split([0, 1]), comms.split([2, 3])
        assert side_by_side(lambda: exchanged(low), lambda: exchanged(high)) == [[[b"0", b"1"]] * 2] * 2
        alone = low[1].split([1])
        assert alone.exchange(b"me", "x", LONG) == [b"me"]
        alone.close()


def test_two_splits_of_the_same_ranks_are_two() -> None:
    with joined(2) as comms:
        first, second = comms.split([0, 1]), comms.split([0, 1])
        results = side_by_side(
            lambda: first[0].exchange(b"f0", "x", LONG),
            lambda: second[0].exchange(b"s0", "x", LONG),
            lambda: second[1].exchange(b"s1", "x", LONG),
            lambda: first[1].exchange(b"f1", "x", LONG),
        )
        assert results == [[b"f0", b"f1"], [b"s0", b"s1"], [b"s0", b"s1"], [b"f0", b"f1"]]


def test_the_end_of_a_split_is_not_the_end_of_the_parent_nor_the_reverse() -> None:
    with joined(3) as comms:
        some, others = comms.split([1, 2]), comms.split([2, 1])
        some[0].close("done")
        assert blamed(exchanged([some[1]])) == [{0: "left: done"}]
        assert exchanged(comms) == [[b"0", b"1", b"2"]] * 3
        for one in comms:
            one.close()
        assert exchanged(others) == [[b"0", b"1"]] * 2


def test_a_failure_stays_in_the_comm_where_it_happened() -> None:
    with joined(3) as comms:
        some = comms.split([0, 2])
        assert blamed(exchanged(comms[:2], "bind", 0.2)) == [{2: "did not come to 'bind' within 0.2 s"}] * 2
        assert exchanged(some) == [[b"0", b"1"]] * 2
        rest = comms.split([0, 1])
        assert exchanged(rest) == [[b"0", b"1"]] * 2


def test_a_rank_that_has_gone_reaches_comms_that_it_never_came_to() -> None:
    with joined(3) as comms:
        some = comms.split([2, 0], of=[0])
        comms[2].close("no memory")
        assert blamed(exchanged(some)) == [{0: "left: no memory"}]
        late = comms.split([1, 2], of=[1])
        assert blamed(exchanged(late)) == [{1: "left: no memory"}]


@pytest.mark.parametrize(
    ("ranks", "message"),
    [([0, 3], "there is no rank 3; ranks are 0 to 2"), ([0, 0], "named twice"), ([1, 2], "this rank, 0, is not among")],
)
def test_ranks_that_cannot_be_split_off_are_refused(ranks: list[int], message: str) -> None:
    with joined(3) as comms:
        with pytest.raises(ValueError, match=message):
            comms[0].split(ranks)
        assert exchanged(comms.split([0, 1])) == [[b"0", b"1"]] * 2


def test_many_splits_leave_nothing_behind() -> None:
    with joined(2) as comms:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(50):
            some = comms.split([1, 0])
            assert exchanged(some) == [[b"0", b"1"]] * 2
            side_by_side(*(one.close for one in some))
        assert len(os.listdir("/proc/self/fd")) == before
