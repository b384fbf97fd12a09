"""Words for teams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def devices_text(devices: Sequence[int]) -> str:
    """Say ascending devices as ranges: ``0-3, 6``."""
    return ", ".join(_runs(devices))


def _runs(devices: Sequence[int]) -> Iterator[str]:
    begin = 0
    for place in range(1, len(devices) + 1):
        if place == len(devices) or devices[place] != devices[place - 1] + 1:
            first, last = devices[begin], devices[place - 1]
            yield str(first) if first == last else f"{first}-{last}"
            begin = place
