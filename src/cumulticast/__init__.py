"""CUDA multicast memory for Python: a software CUDA driver, a team, and an answer when it fails.

How the house is laid out:

    rules/        the book: every documented rule once, with its status, source, evidence, page and check
    sim/          the software CUDA driver: devices, memory, multicast objects, all of it real memory
    libcuda/      the door: the C ABI of libcuda.so.1 in front of sim; libnvml/: NVML by the same door
    driver.py     drop-in for cuda.bindings._v2.driver whose errors say why
    multimem.py   store, load_reduce and reduce through a multicast address, with numpy arrays
    team/         the team: symmetric arrays, collectives, multicast objects, on any driver
    why/          from logs, statuses, calls to a cause, its evidence and a remedy: `cumulticast.explain`
    layout/       which arrays go where in which multicast objects: `cumulticast.plan`
    doctor/       whether multicast can work on the machine at hand, and if not, why
    kept.py       what is compiled, on disk for later processes
    launch.py     start a program on a machine; ranks.py: start many
    testing/      pytest fixtures for your own tests
    cli/          the command line

Arrows run one way: cli, testing, team, driver, multimem -> libcuda -> sim -> rules. Importing this package imports
neither numpy nor CUDA.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cumulticast.layout import Existing, Plan, Request, plan
    from cumulticast.team import (
        Binding,
        Mapping,
        MulticastObject,
        PhysicalMemory,
        SymmetricArray,
        Team,
        TeamError,
    )
    from cumulticast.why import Diagnosis, explain

__all__ = [
    "Binding",
    "Diagnosis",
    "Existing",
    "Mapping",
    "MulticastObject",
    "PhysicalMemory",
    "Plan",
    "Request",
    "SymmetricArray",
    "Team",
    "TeamError",
    "__version__",
    "explain",
    "plan",
]

__version__ = "0.1.0"

_TEAM = ("Binding", "Mapping", "MulticastObject", "PhysicalMemory", "SymmetricArray", "Team", "TeamError")
_LATE = {
    **dict.fromkeys(("Diagnosis", "explain"), "cumulticast.why"),
    **dict.fromkeys(("Existing", "Plan", "Request", "plan"), "cumulticast.layout"),
    **dict.fromkeys(_TEAM, "cumulticast.team"),
}


def __getattr__(name: str) -> Any:
    """Import what is public and heavy when it is first asked for."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value
