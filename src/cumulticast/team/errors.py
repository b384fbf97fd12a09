"""What went wrong in a team: at which rank, in which step, by which call, and what the others were doing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .comm import name_of

_CODE = re.compile(r"\bMC\d{3,4}\b")
_VERSION = re.compile(r"_v\d$")
NOT_READY = 802  # CUDA_ERROR_SYSTEM_NOT_READY

#: Rank → the step it was at, the call that failed there, and its status; call and status are None where none failed.
Ranks = Mapping[int, tuple[str, str | None, int | None]]


class TeamError(RuntimeError):
    """Say which rank made the team fail, and how. All ranks that live raise the same one.

    When it is raised, this rank holds nothing of what was being set up, and neither does any other that raised it.

    Attributes
    ----------
    rank
        The culprit: the first rank that failed, died or did not come. -1: the process of the rank 0 that all splits
        come from, in a split without it; it carries what ranks tell each other.
    stage
        The step it failed in: ``join``, ``agree``, ``create``, ``import``, ``add_device``, ``bind``, ``map``, or a
        later one: ``barrier``, the name of a collective.
    call
        The C name of the call that failed, as ``cuMulticastBindMem``; None when no call of the driver did.
    status
        Its CUresult, or None.
    rule
        The rule that was broken, as ``MC304``, where the driver logged one (``cumulticast rules MC304``).
    reason
        What the driver logged, or what happened to the rank.
    ranks
        Rank → (stage, call, status), for all ranks whose state is known.
    """

    def __init__(
        self,
        rank: int,
        stage: str,
        call: str | None = None,
        status: int | None = None,
        rule: str | None = None,
        reason: str = "",
        ranks: Ranks | None = None,
    ) -> None:
        self.rank, self.stage, self.call, self.status = rank, stage, call, status
        self.rule, self.reason = rule, reason
        self.ranks: Ranks = dict(ranks or {rank: (stage, call, status)})
        super().__init__(rank, stage, call, status, rule, reason, self.ranks)  # so that it survives pickling

    @property
    def barred(self) -> bool:
        """Whether file descriptors could not be passed between processes, for a reason that no driver gave."""
        return self.call is None and self.reason.startswith("DescriptorError:")

    def __str__(self) -> str:
        """Say who, where and why in one line, then what the other ranks did."""
        what = f"{self.call} answered {self.status}" if self.call else ""
        told = ": ".join(filter(None, (f"{name_of(self.rank)} failed at {self.stage}", what, self.reason)))
        others = {rank: state for rank, state in self.ranks.items() if rank != self.rank}
        return f"{told} ({_others(others)})" if others else told


def _others(ranks: Ranks) -> str:
    """Tell the states of ranks, those in one state together."""
    by_state: dict[str, list[int]] = {}
    for rank, (stage, call, status) in sorted(ranks.items()):
        state = f"{call} answered {status}" if call else f"good at {stage}"
        by_state.setdefault(state, []).append(rank)
    return "; ".join(f"{'ranks' if len(r) > 1 else 'rank'} {_runs(r)}: {state}" for state, r in by_state.items())


def _runs(ranks: list[int]) -> str:
    """Write ascending numbers short: ``0-2, 5``."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed at one rank. It travels to the others."""

    stage: str
    call: str | None
    status: int | None
    rule: str | None
    reason: str

    @classmethod
    def of(cls, stage: str, error: BaseException) -> Failure:
        """Describe an exception."""
        status, name = getattr(error, "status", None), getattr(error, "call", None)
        notes: list[str] = [str(note) for note in getattr(error, "__notes__", ())]
        found = _CODE.match(notes[0]) if notes else None
        reason = notes[0] if notes else f"{type(error).__name__}: {error}"
        return cls(
            stage,
            None if name is None else c_name(name),
            None if status is None else int(status),
            found[0] if found else None,
            reason,
        )

    def error(self, rank: int, ranks: Ranks) -> TeamError:
        """Answer the exception that every rank raises."""
        return TeamError(rank, self.stage, self.call, self.status, self.rule, self.reason, ranks)


def c_name(name: str) -> str:
    """Answer the C name of a function of the bindings: ``multicast_bind_mem`` → ``cuMulticastBindMem``.

    The rule book spells those that it has rules for, ``memcpy_dtoh_v2`` among them. The others go by words.
    """
    words = _VERSION.sub("", name).split("_")
    by_words = "".join(["cu", *(word.capitalize() for word in words), *_VERSION.findall(name)])
    return _c_names().get(name, by_words)


@cache
def _c_names() -> Mapping[str, str]:
    from cumulticast.rules.book import all_rules
    from cumulticast.rules.text import python_name

    calls: set[Any] = {call for rule in all_rules() for call in rule.calls}
    return {python_name(call): call for call in calls}
