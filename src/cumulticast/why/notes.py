"""All observations of all inputs, by kind and in order, with a limit on how many of a kind are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cumulticast.why.observation import Observation

KEPT = 500  # of each kind; a log with a million equal failures says no more than one with 500


@dataclass(slots=True)
class Notes:
    """What the readers saw.

    Attributes
    ----------
    by_kind, counts
        Kind → observations, and how many there were.
    unread
        A sentence on each input that is no text: ``core.1234 is no text``.
    inputs
        How many inputs there were.
    """

    by_kind: dict[str, list[Observation]] = field(default_factory=dict[str, list[Observation]])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    unread: list[str] = field(default_factory=list[str])
    inputs: int = 0

    def add(self, seen: Iterable[Observation]) -> None:
        """Keep observations."""
        for one in seen:
            kept = self.by_kind.setdefault(one.kind, [])
            self.counts[one.kind] = self.counts.get(one.kind, 0) + 1
            if len(kept) < KEPT:
                kept.append(one)

    def of(self, *kinds: str) -> list[Observation]:
        """Answer the observations of some kinds, kind by kind in their order."""
        return [one for kind in kinds for one in self.by_kind.get(kind, ())]

    def has(self, *kinds: str) -> bool:
        """Whether there is one of any of these kinds."""
        return any(kind in self.by_kind for kind in kinds)

    def put(self, kind: str, ones: Iterable[Observation]) -> None:
        """Put others in the place of those of a kind."""
        replaced = list(ones)
        if replaced:
            self.by_kind[kind] = replaced
        else:
            self.by_kind.pop(kind, None)

    def __iter__(self) -> Iterator[Observation]:
        return (one for ones in self.by_kind.values() for one in ones)
