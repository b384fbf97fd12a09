"""The matrix: a rank is struck at a driver call of its bring-up, and what must hold of it and of all others.

The ranks are processes that are used again from case to case; whoever dies is replaced.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matrix_part as steps
from matrix_part import Told
from ranks_here import Job, Rank, RankDied, eventually

from cumulticast.ranks import free_port

LONG = 15.0  # a time limit that only a hang reaches
PATIENCE = 25.0  # seconds for an answer: so a rank that waits in vain tells where
SHORT = 1.0  # one that a rank is delayed beyond
DELAY = 1.8
STATUSES = (1, 2, 401, 719, 800, 909, 999)
KINDS = ("fail", "delay", "kill-before", "kill-after")


@dataclass(frozen=True, slots=True)
class Case:
    """A rank, a use of a driver call, and what strikes there."""

    kind: str
    rank: int
    call: str
    nth: int
    status: int

    @property
    def spec(self) -> str:
        """The fault that does it."""
        what = {"fail": f":status={self.status}", "delay": f":seconds={DELAY}"}.get(self.kind, "")
        return f"{self.kind}:{self.call}:rank={self.rank}:nth={self.nth}{what}"

    @property
    def kills(self) -> bool:
        return self.kind.startswith("kill")


class Crew:
    """Ranks on one world. Whoever died is replaced before the next team comes up."""

    def __init__(self, job: Job, size: int, meetings: Path) -> None:
        self.job, self.size = job, size
        self.meetings, self._count = meetings, itertools.count()
        self.ranks = list(job.ranks)
        self._first = list(job.ranks)

    def place(self) -> str:
        """Answer an address where nobody has met before: a file's and a port's in turn."""
        number = next(self._count)
        return f"tcp://127.0.0.1:{free_port()}" if number % 2 else f"file://{self.meetings}/{number}"

    @property
    def living(self) -> list[Rank]:
        return [rank for rank in self.ranks if rank.ended is None]

    def all(self, function: Callable[..., Any], *arguments: Any) -> dict[int, Any]:
        """Run the same in all ranks that live; answer what those who did not die in it answer."""
        for rank in self.living:
            rank.begin(function, *arguments)
        return dict(self._answers())

    def _answers(self) -> Iterator[tuple[int, Any]]:
        for rank in self.living:
            try:
                yield rank.number, rank.result(PATIENCE)
            except RankDied:
                rank.wait()

    def meet(self, function: Callable[..., Any], timeout: float = LONG, *arguments: Any) -> dict[int, Any]:
        """Have all ranks meet somewhere and do something."""
        return self.all(function, self.place(), self.size, timeout, *arguments)

    def replace(self) -> None:
        """Start a rank for each that died."""
        for rank in self.ranks:
            if rank.ended is not None:
                self.ranks[rank.number] = self.job.start(rank.number)

    def comes_up(self) -> None:
        """See that a new team comes up, works, and leaves nothing."""
        self.replace()
        answers = self.meet(steps.attempt)
        assert answers == dict.fromkeys(range(self.size), (float(self.size),)), answers
        self.nothing_left()

    def nothing_left(self) -> None:
        """See that the world holds nothing of the living, nor they descriptors of its objects."""
        left = self.job.left()
        assert left.pop("process", 0) <= len(self.living) and not left, left
        assert {counts[1] for counts in self.all(steps.left_here).values()} == {0}

    def steady(self, before: dict[int, tuple[int, int, int]]) -> None:
        """See that the ranks that have lived from the beginning have no more descriptors and threads than then."""

        def same() -> bool:
            now = self.all(steps.left_here)
            old = [rank for rank in self.living if rank in self._first]
            return all(h <= b for rank in old for h, b in zip(now[rank.number], before[rank.number], strict=True))

        assert eventually(same), (before, self.all(steps.left_here))

    # ---- cases

    def cases(self, kind: str, rank: int) -> Iterator[Case]:
        """Answer a case for each driver call of a rank's bring-up."""
        calls = self.meet(steps.calls_of_a_join)[rank]
        uses: Counter[str] = Counter()
        for number, call in enumerate(calls):
            uses[call] += 1
            if kind == "delay" and 1 < uses[call] < calls.count(call):
                continue  # a call that is late is late, whichever of its uses between the first and the last it is
            yield Case(kind, rank, call, uses[call], STATUSES[number % len(STATUSES)])

    def run(self, case: Case) -> Told:
        """Strike, and hold what comes of it to what must; answer what all were told."""
        self.job.faults.set(case.spec)
        answers = self.meet(steps.attempt, SHORT if case.kind == "delay" else LONG)
        self.job.faults.clear()
        told = self._the_same(case, answers)
        if case.kind == "fail" and case.call == "cuMemRelease":
            self.ranks[case.rank].kill()  # its driver refused to let go
        self.nothing_left()
        self.comes_up()
        return told

    def _the_same(self, case: Case, answers: dict[int, Any]) -> Told:
        assert len(answers) == self.size - case.kills, (case.spec, answers)
        first = next(iter(answers.values()))
        assert isinstance(first, Told), (case.spec, answers)
        assert all(one == first for one in answers.values()), (case.spec, answers)
        assert first.rank == case.rank, (case.spec, first)
        if case.kind == "fail":
            assert first.call and first.call.removesuffix("_v2") == case.call.removesuffix("_v2"), (case.spec, first)
            assert first.status == case.status and "injected fault" in first.reason, (case.spec, first)
            return first
        reason = "its process ended" if case.kills else f"did not come to {first.stage!r} within {SHORT} s"
        assert (first.call, first.status, first.reason) == (None, None, reason), (case.spec, first)
        return first
