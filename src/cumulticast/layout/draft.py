"""A plan in the making: assemblies for every team under one granularity policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cumulticast.layout.assembly import Assembly, of_bin, place_windows
from cumulticast.layout.existing import Window
from cumulticast.layout.machines import Granularity, Limits
from cumulticast.layout.packing import Bin
from cumulticast.layout.planned import Total
from cumulticast.layout.request import Request
from cumulticast.layout.team import Choice, Effort, pack

Team = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one team wants: new arrays, and windows on existing memory; those for objects of their own apart."""

    arrays: Sequence[Request]
    separate: Sequence[Request]
    windows: Sequence[Window]
    separate_windows: Sequence[Window]


@dataclass(frozen=True, slots=True)
class Draft:
    """Assemblies under a policy, and the teams that waste more so that the slots suffice."""

    assemblies: Sequence[Assembly]
    merged: Sequence[Team]

    @property
    def total(self) -> Total:
        """What it costs."""
        waste = sum(
            len(one.team) * (one.memory - sum(request.nbytes for request, _ in one.arrays)) for one in self.assemblies
        )
        return Total(waste, len(self.assemblies))


def draft(wanted: Mapping[Team, Wanted], limits: Limits, policy: Granularity, most: int | None) -> Draft:
    """Decide what shares an object: the least waste, or more of it where slots are short otherwise."""
    effort = Effort()
    choices: dict[Team, Choice] = {}
    for team, wants in wanted.items():
        items = [(request.nbytes, request.alignment) for request in wants.arrays]
        choices[team] = pack(items, limits, policy, floor(most, limits, policy), effort)
    parts = {
        team: _assemblies(team, wanted[team], choice.least, limits, policy, most) for team, choice in choices.items()
    }
    merged: list[Team] = []
    for team in _cheapest_first(choices, limits, policy):
        if sum(map(len, parts.values())) <= limits.slots:
            break
        parts[team] = _assemblies(team, wanted[team], choices[team].fewest, limits, policy, most)
        merged.append(team)
    return Draft([one for part in parts.values() for one in part], merged)


def floor(most: int | None, limits: Limits, policy: Granularity) -> int | None:
    """Return the largest size of an object under the policy that is at most `most`."""
    if most is None:
        return None
    step = limits.recommended if policy == "recommended" and most >= limits.recommended else limits.granularity
    return most // step * step


def _cheapest_first(choices: Mapping[Team, Choice], limits: Limits, policy: Granularity) -> list[Team]:
    """Return the teams whose objects could be fewer, the least waste for a slot first."""

    def waste(team: Team, bins: Sequence[Bin]) -> int:
        return len(team) * sum(limits.rounded(one.end, policy) for one in bins)

    prices: list[tuple[float, Team]] = []
    for team, choice in choices.items():
        saved = len(choice.least) - len(choice.fewest)
        if saved > 0:
            prices.append(((waste(team, choice.fewest) - waste(team, choice.least)) / saved, team))
    return [team for _, team in sorted(prices)]


def _assemblies(
    team: Team, wants: Wanted, bins: Sequence[Bin], limits: Limits, policy: Granularity, most: int | None
) -> list[Assembly]:
    made = [of_bin(team, one, wants.arrays, limits.rounded(one.end, policy)) for one in bins]
    # A window is of whole granules only: an object whose size follows the recommended granularity takes none in.
    homes = made if policy == "minimum" else []
    made = [*made, *place_windows(team, wants.windows, homes, limits.granularity, most)]
    for request in wants.separate:
        alone = Bin(((0, 0),), request.nbytes)
        made.append(of_bin(team, alone, [request], limits.rounded(request.nbytes, policy)))
    for window in wants.separate_windows:
        made += place_windows(team, [window], [], limits.granularity, most)
    return made
