"""The end of a machine or a process with work in flight: nothing hangs, nothing is carried out any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIMIT = 40.0  # seconds a program may take: far more than it needs, far less than for ever
BEGIN = """
import ctypes, os, sys, threading, time
sys.path[:0] = {paths!r}
import cumulticast.sim as sim
sim.start(devices=2)
from cuda.bindings import driver as cu
from answers import ok, status
from streams_held import ADD, SPIN, Gate, Kernel, Told, ready

def begin():
    ok(cu.cuInit(0))
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
    memory = int(ok(cu.cuMemAllocHost(4096)))
    ctypes.memset(memory, 0, 4096)
    return memory, [ok(cu.cuStreamCreate(1)) for _ in range(4)]

def occupy(memory, streams):
    # A kernel that spins, a wait that is never satisfied, a host function that blocks, and work behind each.
    Kernel(SPIN).launch(streams[0], memory, blocks=3)
    ok(cu.cuStreamWaitValue32(streams[1], memory + 64, 1, 1))
    gate = Gate()
    ok(cu.cuLaunchHostFunc(streams[2], gate.function, 0))
    for stream in streams:
        ok(cu.cuMemsetD8Async(memory + 128, 7, 16, stream))
    assert [ready(stream) for stream in streams] == [False, False, False, True]
    gate.entered.wait(20)
    return gate
"""


def run(program: str) -> str:
    """Run a program, and answer what it printed."""
    code = BEGIN.format(paths=[str(HERE), str(HERE.parent)]) + program
    environment = {key: value for key, value in os.environ.items() if key != "CUDA_LOG_FILE"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code],
        capture_output=True, text=True, timeout=LIMIT, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "inside the simulator" not in done.stderr, done.stderr
    return done.stdout


def test_a_process_ends_with_work_in_flight():
    assert run("gate = occupy(*begin()); print('over')") == "over\n"


def test_a_thread_that_waits_is_answered_when_the_machine_stops():
    program = """
memory, streams = begin()
occupy(memory, streams)
context, answers, asked = ok(cu.cuCtxGetCurrent()), [], threading.Event()
def wait():
    cu.cuCtxSetCurrent(context)
    asked.set()
    answers.append(status(cu.cuStreamSynchronize(streams[0])))
thread = threading.Thread(target=wait)
thread.start(); asked.wait(20); time.sleep(0.2)
sim.stop()
thread.join(20)
print(answers, status(cu.cuStreamQuery(streams[0])))
"""
    assert run(program) == "[3] 3\n"


@pytest.mark.parametrize("again", ["sim.reset()", "sim.stop(); sim.start()"])
def test_a_fresh_machine_begins_with_nothing_in_flight(again):
    program = f"""
gate = occupy(*begin())
{again}
memory, streams = begin()
assert all(ready(stream) for stream in streams)
kernel = Kernel(ADD)
kernel.launch(streams[0], memory, blocks=100)
ok(cu.cuMemcpyDtoDAsync(memory + 8, memory, 4, streams[0]))
ok(cu.cuStreamSynchronize(streams[0]))
gate.opened.set()
print(ctypes.c_uint32.from_address(memory + 8).value)
"""
    assert run(program) == "100\n"


def test_a_forked_child_leaves_its_parents_work_alone():
    program = """
memory, streams = begin()
gate = occupy(memory, streams)
child = os.fork()
if not child:
    answers = [status(cu.cuStreamQuery(stream)) for stream in streams]
    del streams, gate
    import gc; gc.collect()
    sys.exit(0 if answers == [3, 3, 3, 3] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ctypes.c_uint32.from_address(memory).value = 1
ok(cu.cuStreamSynchronize(streams[0]))
print(ctypes.string_at(memory + 128, 1))
"""
    assert run(program) == "0\nb'\\x07'\n"


def test_a_stopped_machine_can_be_left_behind_by_a_fork():
    program = """
occupy(*begin())
sim.stop()
child = os.fork()
if not child:
    sim.start()
    memory, streams = begin()
    kernel = Kernel(ADD)
    kernel.launch(streams[0], memory, blocks=100)
    ok(cu.cuStreamSynchronize(streams[0]))
    sys.stdout.write(f"{ctypes.c_uint32.from_address(memory).value} in the child\\n")
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(program) == "100 in the child\n0\n"


def test_a_context_is_destroyed_with_work_in_flight():
    program = """
memory, streams = begin()
gate = occupy(memory, streams)
threading.Timer(0.3, gate.opened.set).start()
ok(cu.cuDevicePrimaryCtxReset(0))
print(status(cu.cuStreamQuery(streams[0])), status(cu.cuCtxSynchronize()))
memory, streams = begin()
Kernel(ADD).launch(streams[0], memory, blocks=10)
ok(cu.cuStreamSynchronize(streams[0]))
print(ctypes.c_uint32.from_address(memory).value)
"""
    assert run(program) == "400 709\n10\n"
