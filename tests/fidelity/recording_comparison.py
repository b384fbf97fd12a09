"""Hold what the simulator answers against what a real driver answered: every status, every comparable output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]

Step = tuple[str, int | str, list[str]]

#: Numbers that name a thing of one run: addresses, handles, contexts, descriptors.
NAMES = re.compile(r"<CU(deviceptr|memGenericAllocationHandle|context|memoryPool|stream|event) (?:0x)?[0-9a-f]{4,}>")


def comparable(outputs: list[str]) -> list[str]:
    """Answer outputs with what differs from run to run taken out; the recordings cut them at 100 characters."""
    return [NAMES.sub(r"<CU\1>", output)[:100] for output in outputs]


def differences(
    recorded: list[Step], answered: list[Step], status_only: frozenset[str], declared: Mapping[str, str]
) -> Iterator[str]:
    """Say where a group's answers differ from its recording, except where ``declared`` gives the reason."""
    mine = {name: (status, outputs) for name, status, outputs in answered}
    for name, status, outputs in recorded:
        if name in declared or isinstance(status, str):  # SKIP, or refused by that version of the bindings
            continue
        if name not in mine:
            yield f"{name}: recorded {status}, not answered"
            continue
        got, shown = mine[name]
        if got != status:
            yield f"{name}: recorded status {status}, answered {got}"
        elif not name.startswith("time.") and name not in status_only and comparable(shown) != comparable(outputs):
            yield f"{name}: recorded {outputs}, answered {shown}"


WORKER = """
import sys
sys.path.insert(0, {recording!r})
import cumulticast.sim as sim
sim.start(machine="h200-vm-1")
import driver_probe
driver_probe.load()
driver_probe.work({group!r})
"""


@cache
def replayed(group: str) -> list[list]:
    """Run one group of the probe on the simulator, in an interpreter of its own."""
    code = WORKER.format(recording=str(TESTS / "recording"), group=group)
    environment = {key: value for key, value in os.environ.items() if key != "CUDA_LOG_FILE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, env=environment)
    assert "inside the simulator" not in done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
