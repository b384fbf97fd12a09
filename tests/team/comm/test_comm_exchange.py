"""What ranks get from each other, and what they are told when one of them fails. Ranks are threads here."""

from __future__ import annotations

import pickle
import threading

import pytest
from comm_ranks import LONG, blamed, exchanged, joined, side_by_side

from cumulticast.team.comm import CommError, LocalComm
from cumulticast.team.comm.frames import PART_LIMIT


def test_every_rank_gets_every_payload_in_order() -> None:
    with joined(4) as comms:
        assert [(one.rank, one.size) for one in comms] == [(rank, 4) for rank in range(4)]
        for label in ("first", "second"):
            assert exchanged(comms, label) == [[b"0", b"1", b"2", b"3"]] * 4


def test_payloads_may_be_large_empty_and_different() -> None:
    payloads = [b"", bytes(range(256)) * (PART_LIMIT // 256), b"x" * 70_000]
    with joined(3) as comms:
        parts = [
            lambda one=one, part=part: one.exchange(part, "big", LONG)
            for one, part in zip(comms, payloads, strict=True)
        ]
        assert side_by_side(*parts) == [payloads] * 3


def test_a_rank_that_does_not_come_is_named_to_all_and_told_itself() -> None:
    with joined(3) as comms:
        told = blamed(exchanged(comms[:1] + comms[2:], "bind", 0.3))
        late = blamed(exchanged([comms[1]], "bind"))
        assert told + late == [{1: "did not come to 'bind' within 0.3 s"}] * 3
        assert blamed(exchanged(comms, "later")) == [{1: "did not come to 'bind' within 0.3 s"}] * 3


def test_a_rank_at_another_step_is_named_to_all() -> None:
    with joined(3) as comms:
        labels = ["bind", "map", "bind"]
        results = side_by_side(
            *(
                lambda one=one, label=label: one.exchange(b"", label, LONG)
                for one, label in zip(comms, labels, strict=True)
            )
        )
        assert blamed(results) == [{1: "is at 'map' where others are at 'bind'"}] * 3
        assert {one.label for one in results} == {"bind"}


def test_a_rank_that_leaves_is_named_with_its_reason_to_those_who_wait_and_who_come_later() -> None:
    with joined(3) as comms:
        waiting, later, leaving = comms
        results = side_by_side(lambda: waiting.exchange(b"", "bind", LONG), lambda: leaving.close("no memory"))
        assert isinstance(results[0], CommError)
        results = [results[0], *exchanged([later], "bind")]
        assert blamed(results) == [{2: "left: no memory"}] * 2


def test_what_was_exchanged_before_a_rank_left_still_arrives() -> None:
    with joined(2) as comms:
        results = side_by_side(
            lambda: comms[0].exchange(b"a", "last", LONG),
            lambda: (comms[1].exchange(b"b", "last", LONG), comms[1].close("done"))[0],
        )
        assert results == [[b"a", b"b"]] * 2
        assert blamed(exchanged(comms[:1])) == [{1: "left: done"}]


def test_rank_0_may_leave_first() -> None:
    with joined(3) as comms:
        comms[0].close("done")
        assert blamed(exchanged(comms[1:])) == [{0: "left: done"}] * 2


def test_a_closed_comm_says_so() -> None:
    with joined(2) as comms:
        comms[1].close("done")
        comms[1].close("twice is fine")
        assert blamed(exchanged(comms[1:])) == [{1: "left: done"}]


def test_two_threads_in_one_comm_are_refused_and_the_first_goes_on() -> None:
    with joined(2) as comms:
        entered = threading.Event()

        def first() -> list[bytes]:
            entered.set()
            return comms[0].exchange(b"a", "x", LONG)

        def second() -> object:
            entered.wait(LONG)
            while True:  # until the first one is inside
                try:
                    comms[0].exchange(b"b", "x", 0.001)
                except RuntimeError as error:
                    return error
                finally:
                    comms[1].exchange(b"c", "x", LONG)

        results = side_by_side(first, second)
        assert "another thread" in str(results[1])
        assert results[0] == [b"a", b"c"]


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("inf"), float("nan")])
def test_a_limit_that_is_no_time_is_refused_and_the_comm_goes_on(timeout: float) -> None:
    with joined(2) as comms:
        with pytest.raises(ValueError, match="timeout="):
            comms[0].exchange(b"", "x", timeout)
        with pytest.raises(ValueError, match=f"at most {PART_LIMIT}"):
            comms[0].exchange(bytes(PART_LIMIT + 1), "x", LONG)
        with pytest.raises(ValueError, match="label"):
            comms[0].exchange(b"", "x" * 1001, LONG)
        assert exchanged(comms) == [[b"0", b"1"]] * 2


def test_a_rank_alone_exchanges_with_itself() -> None:
    comm = LocalComm()
    assert comm.exchange(b"a", "x", LONG) == [b"a"]
    assert comm.split([0]).exchange(b"b", "x", LONG) == [b"b"]
    with pytest.raises(ValueError, match="there is no rank 1"):
        comm.split([1])
    comm.close("done")
    with pytest.raises(CommError, match="left: done"):
        comm.exchange(b"a", "x", LONG)


def test_the_error_names_everybody_and_can_be_sent_elsewhere() -> None:
    error = CommError({2: "its process ended", 0: "left: done"}, "bind")
    assert str(error) == "rank 0: left: done; rank 2: its process ended (at 'bind')"
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.culprits, copy.label, str(copy)) == (error.culprits, "bind", str(error))
