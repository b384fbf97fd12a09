"""Which ``.version`` is the newest here, and which ``.target`` runs on which device.

Source: PTX ISA, ".target" (architecture-specific ``a`` and family-specific ``f`` targets), held to ptxas 13.5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

#: What NVRTC and ptxas of CUDA 13.5 write and read.
NEWEST = (9, 5)

#: The last minor number of every major version.
_MINORS = {1: 5, 2: 3, 3: 2, 4: 3, 5: 1, 6: 5, 7: 8, 8: 8, 9: 5}

#: The least ``.version`` that knows a target; of the ``f`` targets none before 8.8.
_SINCE: dict[int, tuple[int, int]] = {
    **dict.fromkeys((10, 11), (1, 0)),
    **dict.fromkeys((12, 13), (1, 2)),
    **dict.fromkeys((20, 21), (2, 0)),
    **{30: (3, 0), 32: (4, 0), 35: (3, 1), 37: (4, 1), 50: (4, 0), 52: (4, 1), 53: (4, 2)},
    **{60: (5, 0), 61: (5, 0), 62: (5, 0), 70: (5, 1), 72: (6, 1), 75: (6, 3)},
    **{80: (7, 0), 86: (7, 1), 87: (7, 4), 88: (9, 0), 89: (7, 8), 90: (7, 8)},
    **{100: (8, 6), 103: (8, 8), 107: (9, 4), 110: (9, 0), 120: (8, 7), 121: (8, 8)},
}
_SUFFIXED = {"": 0, "a": 90, "f": 100}

_TARGET = re.compile(r"sm_(\d{2,3})([af]?)\Z", re.ASCII)

#: Devices that run the code of a family-specific target: those of the same family, from the target on.
_FAMILIES = ((100, 103, 107), (110,), (120, 121))


@dataclass(frozen=True, slots=True)
class Target:
    """An architecture: ``sm_100f`` is 100 and ``f``."""

    sm: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"sm_{self.sm}{self.suffix}"

    def runs_on(self, sm: int) -> bool:
        """Tell whether a device of this compute capability (times ten) runs code for the target."""
        if self.suffix == "a":
            return sm == self.sm
        if self.suffix == "f":
            return sm >= self.sm and any(self.sm in family and sm in family for family in _FAMILIES)
        return sm >= self.sm


def read_target(text: str) -> Target | None:
    """Read ``sm_90a``; None if there is no such architecture."""
    found = _TARGET.match(text)
    target = Target(int(found[1]), found[2]) if found else None
    return target if target and target.sm in _SINCE and target.sm >= _SUFFIXED[target.suffix] else None


def exists(version: tuple[int, int]) -> bool:
    """Tell whether there ever was such a ``.version``."""
    return version[1] <= _MINORS.get(version[0], -1)


def since(target: Target) -> tuple[int, int]:
    """Give the first ``.version`` that knows a target."""
    least = {"": (0, 0), "a": (8, 0), "f": (8, 8)}[target.suffix]
    return max(least, _SINCE[target.sm])


#: Targets that have an instruction, by the name that the table of forms uses.
TARGETS: dict[str, frozenset[str]] = {
    "family_100": frozenset(["100a", "100f", "103a", "103f", "107a", "107f"]),
    "multimem_fp8": frozenset(["100a", "100f", "103a", "103f", "107a", "107f", "110a", "110f", "120a", "121a"]),
    "accelerated": frozenset(["90a", *(f"{sm}{s}" for sm in (100, 103, 107, 110, 120, 121) for s in "af")]),
    "small_floats": frozenset(f"{sm}{s}" for sm in (100, 103, 107, 110, 120, 121) for s in "af"),
    "saturating": frozenset(["107a", "107f", "120a", "120f", "121a", "121f"]),
}


@cache
def has(target: Target, need: str) -> bool:
    """Tell whether a target meets one need of a form: ``90`` or a name of ``TARGETS``."""
    return target.sm >= int(need) if need.isdigit() else str(target)[3:] in TARGETS[need]
