"""mbarrier against a model: phases, states, parities, bytes owed; and that a wait never waits."""

from __future__ import annotations

import numpy as np
import pytest
import straight
from warps import Warp

LANES = np.arange(32, dtype=np.uint64)
ONE = 0x0000_0001  # one lane acts
DECLARE = ".reg .b64 %s, %t; .reg .b32 %a, %n, %c, %d; .reg .pred %p, %q, %r;"


class Barrier:
    """A barrier at offset 64 of shared memory, on which single lanes act."""

    def __init__(self, count: int) -> None:
        self.warp = Warp(granules=1)
        self.act("init", count=count)

    def run(self, body: str, outputs: list[str], active: int, **inputs: int) -> dict[str, np.ndarray]:
        values = {"%a": LANES * 0 + 64, **{f"%{name}": np.full(32, value, np.uint64) for name, value in inputs.items()}}
        return straight.run(DECLARE, body, values, outputs, warp=self.warp.address, active=active)

    def act(self, what: str, *, count: int | None = None, lanes: int = ONE) -> None:
        operand = "" if count is None else ", %n"
        self.run(f"mbarrier.{what}.shared::cta.b64 [%a]{operand};", [], lanes, n=count or 0)

    def arrive(self, what: str = "arrive", *, count: int | None = None, lanes: int = ONE) -> int:
        operand = "" if count is None else ", %n"
        body = f"mbarrier.{what}.shared::cta.b64 %s, [%a]{operand};"
        states = self.run(body, ["%s"], lanes, n=count or 0)["%s"]
        return int(states[lanes.bit_length() - 1])

    def over(self, state: int) -> bool:
        """Ask test_wait and try_wait, which have to agree."""
        body = """mbarrier.test_wait.shared::cta.b64 %p, [%a], %s; mbarrier.try_wait.shared::cta.b64 %q, [%a], %s;
                  mbarrier.try_wait.acquire.cta.shared::cta.b64 %r, [%a], %s, %n;"""
        out = self.run(body, ["%p", "%q", "%r"], 0xFFFFFFFF, s=state, n=1000)
        answers = {int(value) for name in ("%p", "%q", "%r") for value in out[name]}
        assert len(answers) == 1
        return answers.pop() == 1

    def parity_over(self, parity: int) -> bool:
        body = """mbarrier.test_wait.parity.shared::cta.b64 %p, [%a], %n;
                  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %q, [%a], %n, %c;"""
        out = self.run(body, ["%p", "%q"], 0xFFFFFFFF, n=parity, c=9)
        assert (out["%p"] == out["%q"]).all() and len(set(out["%p"].tolist())) == 1
        return bool(out["%p"][0])

    def pending(self, state: int) -> int:
        return int(self.run("mbarrier.pending_count.b64 %d, %s;", ["%d"], 0xFFFFFFFF, s=state)["%d"][0])


def test_a_phase_ends_with_its_last_arrival() -> None:
    barrier = Barrier(3)
    assert not barrier.parity_over(0) and barrier.parity_over(1)  # the phase before the first counts as over
    states = [barrier.arrive() for _ in range(2)]
    assert [barrier.pending(state) for state in states] == [3, 2]
    assert not barrier.over(states[0]) and not barrier.parity_over(0)
    last = barrier.arrive()
    assert barrier.pending(last) == 1
    assert barrier.over(states[0]) and barrier.over(last) and barrier.parity_over(0) and not barrier.parity_over(1)
    second = barrier.arrive(count=3)
    assert barrier.pending(second) == 3 and barrier.over(second) and barrier.parity_over(1)


def test_lanes_arrive_in_order() -> None:
    barrier = Barrier(32)
    out = barrier.run("mbarrier.arrive.shared::cta.b64 %s, [%a];", ["%s"], 0xFFFFFFFF)
    assert [barrier.pending(int(state)) for state in out["%s"]] == list(range(32, 0, -1))
    assert barrier.parity_over(0)


def test_a_uniform_arrival_is_each_lanes() -> None:
    barrier = Barrier(31)
    inputs = {"%a": LANES * 0 + 64}
    straight.run(
        DECLARE, "mbarrier.arrive.shared::cta.b64 _, [%a];", inputs, [], warp=barrier.warp.address, uniform=True
    )
    assert barrier.parity_over(0)


def test_bytes_owed_hold_a_phase_up() -> None:
    barrier = Barrier(1)
    state = barrier.arrive("arrive.expect_tx", count=96)
    assert not barrier.over(state)
    barrier.act("complete_tx.relaxed.cta", count=64)
    assert not barrier.over(state)
    barrier.act("complete_tx.relaxed.cta", count=32)
    assert barrier.over(state)


def test_bytes_may_come_before_they_are_announced() -> None:
    barrier = Barrier(2)
    barrier.act("complete_tx.relaxed.cta", count=128)
    state = barrier.arrive()
    assert not barrier.over(state)
    barrier.act("expect_tx.relaxed.cta", count=256)
    barrier.arrive()
    assert not barrier.over(state)
    barrier.act("complete_tx.relaxed.cta", count=128)
    assert barrier.over(state)


def test_who_drops_is_missed_no_more() -> None:
    barrier = Barrier(3)
    barrier.arrive("arrive_drop")
    state = barrier.arrive(count=2)
    assert barrier.over(state)
    assert barrier.pending(barrier.arrive()) == 2  # of the next phase
    state = barrier.arrive("arrive_drop.expect_tx", count=16)
    assert not barrier.over(state)
    barrier.act("complete_tx.relaxed.cta", count=16)
    assert barrier.over(state) and barrier.pending(barrier.arrive()) == 1


def test_no_complete_answers_the_state() -> None:
    barrier = Barrier(4)
    assert barrier.pending(barrier.arrive("arrive.noComplete", count=3)) == 4
    assert not barrier.parity_over(0)
    assert barrier.pending(barrier.arrive()) == 1 and barrier.parity_over(0)


def test_a_barrier_that_was_given_up_is_memory() -> None:
    barrier = Barrier(7)
    assert barrier.warp.shared[64:72].any()
    barrier.act("inval")
    assert not barrier.warp.shared[64:72].any()
    barrier.act("init", count=1)
    assert barrier.over(barrier.arrive())


@pytest.mark.parametrize("noinc", [False, True])
def test_copies_arrive(noinc: bool) -> None:
    barrier = Barrier(1)
    word = "noinc." if noinc else ""
    barrier.run(f"cp.async.mbarrier.arrive.{word}shared::cta.b64 [%a];", [], ONE)
    assert barrier.parity_over(0) == noinc
