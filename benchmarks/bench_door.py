"""A trivial call through the door against the same call into an empty C stub of libcuda, in turn."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 9
PROGRAM = """
import time
{start}
from cuda.bindings._v2 import driver
driver.init(0)
def once(n=20000, call=driver.device_get_count):
    begin = time.perf_counter()
    for _ in range(n):
        call()
    return (time.perf_counter() - begin) / n
print(min(once() for _ in range(5)))
"""
OURS = "import cumulticast.sim as sim; sim.start()"


def seconds(start: str, library_directory: str | None) -> float:
    """Time one call in a process of its own."""
    environment = dict(os.environ)
    if library_directory:
        environment["LD_LIBRARY_PATH"] = library_directory
    command = [sys.executable, "-c", PROGRAM.format(start=start)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def run() -> list[dict]:
    """Measure in turn and compare the medians."""
    with tempfile.TemporaryDirectory() as directory:
        stub = Path(__file__).with_name("stub.c")
        command = ["gcc", "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", f"{directory}/libcuda.so.1"]
        subprocess.run([*command, str(stub)], check=True)
        pairs = [(seconds(OURS, None), seconds("", directory)) for _ in range(ROUNDS)]
    ratio = statistics.median(ours / empty for ours, empty in pairs)
    ours = statistics.median(ours for ours, _ in pairs)
    return [
        {
            "name": "trivial call, against an empty stub",
            "value": ratio,
            "unit": "x",
            "bound": "<= 8",
            "holds": ratio <= 8,
        },
        {"name": "trivial call (cuDeviceGetCount)", "value": ours * 1e6, "unit": "us", "bound": "", "holds": True},
    ]
