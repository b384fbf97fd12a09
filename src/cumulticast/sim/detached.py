"""Binds that ended because their memory went: an unbind that comes later is told apart from one of nothing."""

from __future__ import annotations

from collections.abc import Iterable

Place = tuple[int, int, int]  # multicast object, device, mc_offset


class Detached:
    """The places of this process's memory that went while it was bound."""

    def __init__(self) -> None:
        self._places: set[Place] = set()

    def __contains__(self, place: Place) -> bool:
        return place in self._places

    def add(self, places: Iterable[Place]) -> None:
        """Note binds whose memory is gone."""
        self._places.update(places)

    def forget(self, place: Place, size: int = 1) -> None:
        """The place was unbound after all, or ``size`` bytes from there are bound anew."""
        if self._places:
            obj, device, start = place
            inside = range(start, start + size)
            self._places -= {p for p in self._places if p[:2] == (obj, device) and p[2] in inside}

    def forget_object(self, obj: int) -> None:
        """The object is gone from this process."""
        if self._places:
            self._places = {p for p in self._places if p[0] != obj}
