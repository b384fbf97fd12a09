"""The register of checks: name → function, and how each is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from cumulticast.doctor.result import Result

CheckFunction = Callable[[], Result]
#: The files of checks, in the order in which they run: quick ones first.
FILES = ("packages", "limits", "descriptors", "services", "driver", "devices", "fabric", "nvlink", "modes", "trial")


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes
    ----------
    name, title
        What it is called, and what it looks at.
    function
        Answers a `Result` whose ``check`` is the name.
    apart
        It loads a library of the driver, which may crash or hang: run it in a process of its own.
    """

    name: str
    title: str
    function: CheckFunction
    apart: bool

    @property
    def file(self) -> str:
        """The file of `FILES` that it stands in."""
        return self.function.__module__.rpartition(".")[2]


_CHECKS: dict[str, Check] = {}


def check(name: str, title: str, *, apart: bool = False) -> Callable[[CheckFunction], CheckFunction]:
    """Register the decorated function."""

    def register(function: CheckFunction) -> CheckFunction:
        _CHECKS[name] = Check(name, title, function, apart)
        return function

    return register


@cache
def checks() -> dict[str, Check]:
    """Answer all checks in order."""
    for file in FILES:
        import_module(f"cumulticast.doctor.checks.{file}")
    return dict(sorted(_CHECKS.items(), key=lambda item: FILES.index(item[1].file)))
