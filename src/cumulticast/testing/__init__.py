"""For the tests of your own code: simulated machines and ranks as pytest fixtures.

The plugin is found by pytest when the package is installed. Importing it loads no CUDA and no numpy; a test that asks
for neither fixture pays nothing.

    plugin.py     the fixtures ``cuda_machine`` and ``run_ranks``, and the marker
    choices.py    what the marker may say
    machine.py    a simulated machine in this process, fresh for each test
    births.py     which call made what, and where it stands
    leaks.py      what a test left behind
    job.py        a function or a program as something that a rank can run
    rank.py       the other side: one rank runs its function
    ranks.py      starts the ranks, holds them to a time limit, collects what they answer
    report.py     what is shown when a rank failed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cumulticast.testing.machine import CudaMachine
    from cumulticast.testing.ranks import RunRanks
    from cumulticast.testing.report import Outcome, RanksFailed, Waiting

__all__ = ["CudaMachine", "Outcome", "RanksFailed", "RunRanks", "Waiting"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: pytest imports this package for every run, also of tests that need none of it."""
    from importlib import import_module

    homes = {"CudaMachine": "machine", "RunRanks": "ranks"}
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"cumulticast.testing.{homes.get(name, 'report')}"), name)
