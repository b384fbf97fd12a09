"""Teams that come up and go down while a killer is among them; what must hold of the survivors, whoever dies when."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import chaos_part as part
import rank_steps as steps
from ranks_here import Job, Rank, RankDied

RANKS = 8
LIMIT = 20.0  # seconds that a survivor may take for one phase before the test fails
PATIENCE = 0.4, 0.1  # seconds: a hopeless wait is given up sooner than it is (sim/waiting.py)
HOPELESS, HOLE = 909, 1


Kill = Callable[[str], None]


def nobody(phase: str) -> None:
    """Kill nobody."""


class Chaos:
    """Eight ranks; whoever dies is replaced before the next team comes up."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.ranks = [job.start(number) for number in range(RANKS)]
        self.died: list[int] = []
        for rank in self.ranks:
            rank(steps.set_patience, *PATIENCE)
            rank.begin(steps.begin, rank.number)
        for rank in self.ranks:
            rank.result()

    @property
    def living(self) -> list[Rank]:
        return [rank for rank in self.ranks if rank.ended is None]

    def team(self, kill: Kill = nobody) -> list[int]:
        """Bring a team up, use it and take it down; answer who died, after seeing that nothing was left.

        ``kill`` is called when a phase has begun in all ranks, and may kill some of them.
        """
        self.died = []
        self._up_and_used(kill)
        self._each(self.living, part.go_back, kill=kill)
        for rank in self.living:
            if rank.doomed:  # killed when it had answered for the last time
                self._dead(rank)
        left = self.job.left()
        assert left == {"process": len(self.living)}, f"after the deaths of {self.died} this is left: {left}"
        died = self.died
        self.replace()
        return died

    def _up_and_used(self, kill: Kill) -> bool:
        """Go through the phases until one of them fails for somebody."""
        value = 3.0
        return (
            self._each(self.ranks[:1], part.create, RANKS, kill=kill)
            and self._shared(kill)
            and self._each(self.ranks, part.add_and_bind, own=True, kill=kill)
            and self._each(self.ranks, part.map_team, own=True, kill=kill)
            and self._each(self.ranks[-1:], part.store, value, kill=kill)
            and self._each(self.ranks, part.check, value, RANKS, kill=kill)
        )

    def _shared(self, kill: Callable[[str], None]) -> bool:
        """Hand the object on to all others by one descriptor, which nobody keeps."""
        first, *others = self.ranks
        try:
            fd = first.descriptor(part.give)
        except RankDied:
            return self._dead(first)
        begun = self._begun(others, lambda rank: rank.begin_with_descriptor(fd, part.attempt, part.take))
        os.close(fd)
        kill("take")
        return self._over(begun)

    def _each(
        self, ranks: Sequence[Rank], phase: Callable[..., Any], *values: Any, kill: Kill, own: bool = False
    ) -> bool:
        """Do a phase in several ranks at the same time; ``own``: each is told its own device, its number."""
        begun = self._begun(
            ranks, lambda rank: rank.begin(part.attempt, phase, *([rank.number] if own else []), *values)
        )
        kill(phase.__name__)
        return self._over(begun)

    def _begun(self, ranks: Sequence[Rank], begin: Callable[[Rank], None]) -> list[Rank]:
        """Begin in all ranks that live, and answer them."""
        begun: list[Rank] = []
        for rank in ranks:
            try:
                begin(rank)
                begun.append(rank)
            except RankDied:
                self._dead(rank)
        return begun

    def _over(self, ranks: Sequence[Rank]) -> bool:
        """Collect the answers: those who live have done it, or were told why not, and only because somebody died."""
        answers: list[tuple[int, str]] = []
        for rank in ranks:
            try:
                answers.append(rank.result(LIMIT))
            except RankDied:
                self._dead(rank)
        for status, why in answers:
            assert status == 0 or (self.died and status in (HOPELESS, HOLE)), why
        return not self.died

    def _dead(self, rank: Rank) -> bool:
        assert rank.wait() == -9
        self.died.append(rank.number)
        return False

    def replace(self) -> None:
        """Start new ranks for the dead, and again for those that a fault kills as they come."""
        for number in [rank.number for rank in self.ranks if rank.ended is not None]:
            self.ranks[number] = self.job.start(number)
            self.ranks[number](steps.set_patience, *PATIENCE)
            try:
                self.ranks[number](steps.begin, number)
            except RankDied:
                self._dead(self.ranks[number])

    def close(self) -> None:
        """Let everybody leave by himself; nothing is left then, and the world can still be changed."""
        for rank in self.living:
            rank.leave()
        assert self.job.left() == {}
        assert self.job.world.dead() == []
        with self.job.world.transaction() as db:
            assert db.execute("select count(*) from process").fetchone() == (0,)
