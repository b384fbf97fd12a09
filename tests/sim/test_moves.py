"""Nothing is unmapped under a copy or a multimem operation, and no signal makes others wait for one that is over."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim
from cumulticast.sim.moves import Moves

STEP = 2 << 20
SIZE = 32 * STEP


@pytest.fixture
def machine() -> Iterator[None]:
    sim.start(devices=2)
    driver.init(0)
    driver.ctx_set_current(driver.device_primary_ctx_retain(0))
    yield
    sim.stop()


def a_team(size: int) -> int:
    """Make an object of two devices, bound on both, and answer it."""
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 2, size
    mc = driver.multicast_create(prop)
    for device in range(2):
        driver.multicast_add_device(mc, device)
    kind = driver.MemAllocationProp_v1()
    kind.type, kind.location.type = 1, 1
    for device in range(2):
        kind.location.id = device
        driver.multicast_bind_mem(mc, 0, driver.mem_create(size, kind, 0), 0, size, 0)
    return mc


def mapped(mc: int, size: int) -> int:
    ptr = driver.mem_address_reserve(size, 0, 0, 0)
    driver.mem_map(ptr, size, 0, mc, 0)
    access = driver.MemAccessDesc_v1()
    access.location.type, access.location.id, access.flags_ = 1, 0, 3
    driver.mem_set_access(ptr, size, access, 1)
    return ptr


def until_refused(work: Callable[[], Any], ready: threading.Barrier, said: list[str]) -> threading.Thread:
    """Do something again and again in a thread, until it is refused."""

    def again() -> None:
        try:
            work()
            ready.wait(10)
            while True:
                work()
        except (ValueError, RuntimeError) as error:
            said.append(str(error))

    thread = threading.Thread(target=again)
    thread.start()
    return thread


ENDS: dict[str, tuple[Callable[[int, int], Any], str]] = {
    "unbind": (lambda mc, ptr: driver.multicast_unbind(mc, 0, 0, SIZE), "nothing bound"),
    "unmap": (lambda mc, ptr: driver.mem_unmap(ptr, SIZE), "nothing mapped"),
    "stop": (lambda mc, ptr: sim.stop(), "no simulated machine|was stopped"),
}


@pytest.mark.parametrize("end", list(ENDS))
@pytest.mark.usefixtures("machine")
def test_a_multimem_operation_is_not_robbed_of_its_memory(end: str) -> None:
    mc = a_team(SIZE)
    ptr, numbers = mapped(mc, SIZE), np.ones(SIZE // 4, np.float32)
    said, ready = list[str](), threading.Barrier(3)
    works = [lambda: multimem.store(ptr, numbers), lambda: multimem.load_reduce(ptr, numbers.shape)]
    threads = [until_refused(work, ready, said) for work in works]
    ready.wait(10)
    ENDS[end][0](mc, ptr)
    for thread in threads:
        thread.join(10)
    assert len(said) == 2
    assert all(re.search(ENDS[end][1], text) for text in said), said


@pytest.mark.usefixtures("machine")
def test_a_thread_does_not_wait_for_itself() -> None:
    moves = Moves()
    moves.moving.add(threading.get_ident())
    moves.settle()


INTERRUPTED = """
import itertools, linecache, signal, sys, threading
import numpy as np
from cuda.bindings._v2 import driver
from cumulticast import multimem, sim
sys.path.insert(0, {here!r})
from test_moves import STEP, a_team, mapped, sim

sim.start(devices=2)
driver.init(0)
driver.ctx_set_current(driver.device_primary_ctx_retain(0))
ptr, numbers = mapped(a_team(STEP), STEP), np.ones(64, np.float32)
plain, moving = driver.mem_alloc_v2(4096), sim.current().process.moves.moving

# No handler runs right before these: handlers run after calls, at the beginning of functions and of rounds of loops.
NEVER = ("process.moves.moving.discard(me)", "if collects:", "gc.enable()")

class Struck(Exception):
    pass

def strike(*_):
    raise Struck

def at_every_line(work):
    # Raise as a signal handler would, at one line after the other, until the work comes through.
    signal.signal(signal.SIGUSR1, strike)
    for wanted in itertools.count(1):
        seen = 0
        def trace(frame, event, arg):
            nonlocal seen
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            if event == "line" and "cumulticast" in frame.f_code.co_filename and line not in NEVER:
                seen += 1
                if seen == wanted:
                    sys.settrace(None)
                    signal.raise_signal(signal.SIGUSR1)
            return trace
        sys.settrace(trace)
        try:
            work()
        except Struck:
            pass
        else:
            if seen < wanted:
                return wanted
        finally:
            sys.settrace(None)
        assert not moving, (wanted, moving)

lines = at_every_line(lambda: multimem.store(ptr, numbers))
lines += at_every_line(lambda: driver.memcpy_htod_v2(plain, numbers.ctypes.data, numbers.nbytes))
import gc
assert gc.isenabled()
print(lines)
"""


def test_a_signal_leaves_no_mark(request: pytest.FixtureRequest) -> None:
    """In a process of its own: where it fails, things hang."""
    code = INTERRUPTED.format(here=str(request.path.parent))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60
