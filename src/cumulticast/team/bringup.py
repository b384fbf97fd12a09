"""The voted bring-up of a block: create, share, import, add device, vote, bind, vote, map, vote.

A bind or a map waits until every device has been added, in the driver, where nobody can help it. So no rank binds
before all have said that theirs was added; a rank that fails says so in the vote instead of staying away, and one that
dies or does not come ends the vote for everybody (`comm`). Whatever happens, all ranks leave the same step with the
same answer. Then all have the block, or each undoes its own steps, last one first, and all raise the same TeamError.

A status of 802 may pass (the Fabric Manager sets teams up one after the other, and can be slow: NCCLX has met seven
seconds). Then all ranks undo everything, wait, and begin again with a new object, together.

What the sequences of others taught (docs/how-others-do-it.md): every rank, the creator too, uses an imported handle;
the creator's own reference outlives all imports; descriptors are kept until all have theirs; unbind before the memory
goes.
"""

from __future__ import annotations

import time
from contextlib import suppress
from types import TracebackType

from .block import Block
from .comm import CommError
from .errors import NOT_READY, Failure, TeamError
from .members import Members
from .steps import Stages, Steps, Wanted
from .vote import Ballot, cast, verdict, why_left


def bring_up(members: Members, wanted: Wanted) -> Block:
    """Set a block up on all ranks; all ranks call this with the same request.

    Raises
    ------
    TeamError
        A rank failed, died or did not come; the same on all ranks.
    """
    for attempt in range(members.retries + 1):
        with Attempt(members, wanted) as now:
            error = now.run()
        if error is None:
            return now.block
        if error.status != NOT_READY or attempt == members.retries:
            raise error
        time.sleep(members.backoff * 2**attempt)
    raise ValueError(f"retries {members.retries}: 0 or more")


class Attempt:
    """One try: what it made is undone unless all ranks went through all steps."""

    def __init__(self, members: Members, wanted: Wanted) -> None:
        self.block = Block()
        self._members, self._wanted = members, wanted
        self._steps = Steps(members, wanted, self.block)
        self._good = False

    def __enter__(self) -> Attempt:
        """Answer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Undo, if it is no success; tell the others why this rank is gone, if it was struck from outside."""
        problems = self._undo()
        if error is None:
            return
        for problem in problems:
            error.add_note(f"this rank could not undo a step: {problem}")
        if not isinstance(error, TeamError):
            self._members.comm.close(why_left(error))

    def run(self) -> TeamError | None:
        """Go through the steps.

        Returns
        -------
        None when all ranks did, or the error that one of them met; by then all ranks have undone their steps.

        Raises
        ------
        TeamError
            A rank is gone: the others raise it as well.
        """
        said: list[Ballot] = []
        for stages in self._steps.between_votes():
            ballots = self._carry_out(stages, said)
            said = cast(self._members.comm, ballots, list(stages)[-1], self._members.timeout)
            if error := verdict(said) or self._wanted.compare(said):
                self._undo_together(error)
                return error
        self._good = True
        return None

    def _carry_out(self, stages: Stages, said: list[Ballot]) -> list[Ballot]:
        """Carry steps out for each of our ranks, up to the first that fails; answer what to say in the vote."""
        ballots = [Ballot(list(stages)[-1]) for _ in self._members.mine]
        for stage, step in stages.items():
            for seat, ballot in enumerate(ballots):
                try:
                    brings = step(seat, said)
                except Exception as error:
                    ballots[seat] = Ballot(stage, Failure.of(stage, error))
                    return ballots
                ballots[seat] = Ballot(ballot.stage, None, {**ballot.brings, **(brings or {})})
        return ballots

    def _undo_together(self, error: TeamError) -> None:
        """Undo, and wait until the others have: what a new try needs, a multicast slot say, is free again then."""
        for problem in self._undo():
            error.add_note(f"this rank could not undo a step: {problem}")
        with suppress(CommError):  # one that died meanwhile has nothing left to undo
            if self._members.comm.size > 1:
                self._members.comm.exchange(b"", "undone", self._members.timeout)

    def _undo(self) -> list[Exception]:
        """Give back what was needed between the steps, and the block, unless all went well; answer what failed."""
        problems: list[Exception] = []
        for made in () if self._good else (self.block, self._steps):
            try:
                made.close()
            except Exception as problem:
                problems.append(problem)
        return problems
