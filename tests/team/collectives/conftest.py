"""Teams for the tests of collectives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from collective_seats import LocalSeats, Seated


@pytest.fixture
def seated(machine: Any) -> Iterator[Seated]:
    """Give a function that seats a team on the devices 0, 1, … of this process."""
    made: list[LocalSeats] = []

    def seat(ranks: int = 4, *, multicast: bool = True, **options: Any) -> LocalSeats:
        made.append(LocalSeats(tuple(range(ranks)), multicast, **options))
        return made[-1]

    yield seat
    for seats in reversed(made):
        seats.close()
