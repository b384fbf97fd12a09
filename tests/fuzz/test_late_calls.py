"""Driver calls while the interpreter goes away: answered 4 (deinitialized), silently."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = """
import cumulticast.sim as sim
sim.start(devices=2)
from cuda.bindings._v2 import driver
driver.init(0)
"""

DESTRUCTOR = """
import os
class Last:
    def __init__(self):
        self.call, self.error, self.write = driver.device_get_count, driver.DeinitializedError, os.write
    def __del__(self):
        try:
            self.call()
        except self.error as error:
            self.write(1, b"%d" % error.status)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=50, check=False
    )


@pytest.mark.parametrize(
    "tail", ["last = Last()", "last = Last(); last.itself = last", "import builtins; builtins.last = Last()"]
)
def test_destructors_at_exit_are_answered_4(tail: str) -> None:
    done = run(START + DESTRUCTOR + tail)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4", "")


def test_exit_handlers_of_the_program_still_reach_the_driver() -> None:
    """They run before the simulator's own, which was registered earlier: the last one in is the first one out."""
    done = run(START + "import atexit; atexit.register(lambda: print(driver.device_get_count()))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_exit_handlers_older_than_the_simulator_are_answered_4() -> None:
    early = (
        "import atexit\n"
        "@atexit.register\n"
        "def late():\n"
        "    try: driver.device_get_count()\n"
        "    except driver.DeinitializedError as e: print(e.status)\n"
    )
    done = run(early + START)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


def test_thread_that_outlives_the_main_one_is_answered_4_or_served() -> None:
    code = START + (
        "import threading, time\n"
        "def work():\n"
        "    while True:\n"
        "        try: driver.device_get_count()\n"
        "        except driver.DeinitializedError: return\n"
        "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.1)\n"
    )
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


CORE = START + "from cuda.core import Device\ndevice = Device(0); device.set_current()\n"


def test_cuda_core_objects_alive_at_exit_are_silent() -> None:
    pytest.importorskip("cuda.core")
    done = run(CORE + "stream = device.create_stream(); event = stream.record(); buffer = None\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_cuda_core_buffer_alive_at_exit_is_answered_4() -> None:
    """cuda.core 1.2 reports any status but 0 of a free by itself; we add nothing."""
    pytest.importorskip("cuda.core")
    done = run(CORE + "stream = device.create_stream(); buffer = device.allocate(1 << 20, stream=stream)\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr in ("", "Warning: cuMemFreeAsync failed during resource destruction (CUDA error 4)\n")
