"""What ``@pytest.mark.cuda_machine`` may say."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import pytest

LEAKS = ("fail", "ignore")


@dataclass(frozen=True, slots=True)
class Choices:
    """What a test wants of its machine; all but ``leaks`` is for `cumulticast.sim.start`, in its words.

    Attributes
    ----------
    leaks
        ``fail``: what the test leaves behind fails it; ``ignore``: it may leave what it likes.
    """

    machine: str = "hgx-h100-8"
    devices: int | None = None
    nodes: int = 1
    profile: Literal["strict", "hardware"] = "hardware"
    faults: tuple[str, ...] = ()
    block_limit: float | None = None
    kernel_limit: float | None = None
    hopeless: Literal["fail", "wait"] = "fail"
    memory: str = "plain"
    leaks: Literal["fail", "ignore"] = "fail"

    def for_start(self) -> dict[str, Any]:
        """Answer the arguments of `cumulticast.sim.start`."""
        return {name: getattr(self, name) for name in NAMES if name != "leaks"}


NAMES = tuple(field.name for field in fields(Choices))


def chosen(node: pytest.Item) -> Choices:
    """Read the markers of a test: what stands nearer to it (function, class, module) counts for more.

    Raises
    ------
    ValueError
        A marker says something that there is no place for; the text names what there is.
    """
    said: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("cuda_machine"))):
        if marker.args:
            raise ValueError(f"the marker takes keywords only, not {marker.args!r}: {', '.join(NAMES)}")
        unknown = [name for name in marker.kwargs if name not in NAMES]
        if unknown:
            raise ValueError(f"the marker knows no {', '.join(unknown)}; it takes {', '.join(NAMES)}")
        said |= marker.kwargs
    if said.get("leaks", "fail") not in LEAKS:
        raise ValueError(f"leaks={said['leaks']!r} is none of {', '.join(LEAKS)}")
    if isinstance(said.get("faults"), str):
        raise ValueError(f"faults={said['faults']!r} is a string; give a list: faults=[{said['faults']!r}]")
    said["faults"] = tuple(said.get("faults", ()))
    return Choices(**said)
