"""Child process: what every entry answers before cuInit, in a forked child, and after the machine was stopped."""

from __future__ import annotations

import faulthandler
import json
import os
import sys

from entry_calls import ENTRIES, function, nulls

from cumulticast import sim


def statuses() -> dict[str, int]:
    """Call everything but cuInit with null arguments."""
    return {name: function(entry)(*nulls(entry)) for name, entry in ENTRIES.items() if name != "cuInit"}


def in_child() -> dict[str, int]:
    """Fork, let the child call everything (cuInit too), and answer what it was answered."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        answers = statuses() | {"cuInit": function(ENTRIES["cuInit"])(0)}
        os.write(writing, json.dumps(answers).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answers = json.load(pipe)
    assert os.waitpid(child, 0)[1] == 0
    return answers


def main() -> None:
    faulthandler.enable()
    faulthandler.dump_traceback_later(50, exit=True)
    sim.start(devices=2)
    answers = {"before": statuses()}
    assert function(ENTRIES["cuInit"])(0) == 0
    answers["forked"] = in_child()
    parent_lives_on = function(ENTRIES["cuCtxGetCurrent"])(0)
    sim.stop()
    answers["stopped"] = statuses() | {"cuInit": function(ENTRIES["cuInit"])(0)}
    sim.start(devices=2)
    assert function(ENTRIES["cuInit"])(0) == 0
    print(json.dumps(answers | {"parent": parent_lives_on}))


if __name__ == "__main__":
    sys.exit(main())
