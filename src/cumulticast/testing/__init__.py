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

from cumulticast.testing.report import Outcome, RanksFailed, Waiting

__all__ = ["Outcome", "RanksFailed", "Waiting"]
