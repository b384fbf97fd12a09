"""A kernel that spins for ever holds nobody back: waiting calls are interrupted, processes and machines end at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PATHS = [str(HERE.parent), str(HERE.parent / "conformance")]
PROMPT = 15.0  # seconds in which a process is gone: it needs two, and without an end it would never be
BEGIN = f"""
import ctypes, os, signal, sys, threading, time
sys.path[:0] = {PATHS!r}
import cumulticast.sim as sim
sim.start(devices=2)
from cuda.bindings import driver as cu
from cuda.bindings._v2 import driver as v2
from answers import ok, status
from kernel_texts import SPINS

def spin():
    ok(cu.cuInit(0))
    ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
    flag, device = int(ok(cu.cuMemAllocHost(64))), int(ok(cu.cuMemAlloc(64)))
    ctypes.memset(flag, 0, 64)
    kernel = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(SPINS)), b"spin"))
    params = ((flag, device), (ctypes.c_void_p, ctypes.c_void_p))
    ok(cu.cuLaunchKernel(kernel, 4, 1, 1, 64, 1, 1, 0, 0, params, 0))
    return flag, device

def later(seconds, what, *arguments):
    timer = threading.Timer(seconds, what, arguments)
    timer.daemon = True
    timer.start()

def strike(number, *seconds):
    for delay in seconds:
        later(delay, os.kill, os.getpid(), number)
"""
COPY = "(ctypes.c_char * 4)()"
CALLS = {
    "cuCtxSynchronize": "cu.cuCtxSynchronize()",
    "cuStreamSynchronize": "cu.cuStreamSynchronize(0)",
    "cuMemcpyDtoH": f"cu.cuMemcpyDtoH({COPY}, device, 4)",
    "ctx_synchronize": "v2.ctx_synchronize()",
    "stream_synchronize": "v2.stream_synchronize(0)",
    "memcpy_dtoh_v2": f"v2.memcpy_dtoh_v2(ctypes.addressof({COPY}), device, 4)",
}


def run(program: str, *command: str) -> tuple[int, str, str]:
    """Run a program; answer its exit code, what it printed, and what it printed on stderr."""
    words = command or [sys.executable, "-c", BEGIN + program]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            printed, errors = process.communicate(timeout=PROMPT)
        finally:
            process.kill()
    return process.returncode, printed, errors


def test_ctrl_c_reaches_the_program_and_the_kernel_goes_on() -> None:
    program = f"""
for name, call in {CALLS!r}.items():
    flag, device = spin()
    try:
        strike(signal.SIGINT, 0.2)
        exec(call)
    except KeyboardInterrupt:
        print(name, "interrupted", status(cu.cuStreamQuery(0)), end=" ")
    ctypes.memset(flag, 1, 4)
    exec(call)
    host = ctypes.c_uint32()
    print(status(cu.cuMemcpyDtoH(host, device, 4)), host.value)
"""
    assert run(program)[1] == "".join(f"{name} interrupted 600 0 9\n" for name in CALLS)


def test_a_harmless_handler_runs_while_the_call_waits_on() -> None:
    """The second time it ends what the call waits for; so the call did not end before."""
    program = f"""
def harmless(*_):
    seen.append(ended)
    strike(signal.SIGUSR1, 0.1) if len(seen) == 1 else ctypes.memset(flag, 1, 4)

signal.signal(signal.SIGUSR1, harmless)
for name, call in {CALLS!r}.items():
    seen, ended = [], False
    flag, device = spin()
    strike(signal.SIGUSR1, 0.1)
    exec(call)
    ended = True
    print(name, seen)
"""
    assert run(program)[1] == "".join(f"{name} [False, False]\n" for name in CALLS)


def test_an_exception_of_a_handler_reaches_the_program() -> None:
    program = """
class Late(Exception): pass
def late(*_): raise Late
signal.signal(signal.SIGALRM, late)
flag, device = spin()
try:
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    cu.cuCtxSynchronize()
except Late:
    print("late", status(cu.cuStreamQuery(0)))
"""
    assert run(program)[1] == "late 600\n"


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("", 0),
        ("sys.exit(5)", 5),
        ("raise OSError('over')", 1),
        ("os._exit(7)", 7),
        ("strike(signal.SIGTERM, 0.2); cu.cuCtxSynchronize()", -15),
        ("strike(signal.SIGINT, 0.2); cu.cuCtxSynchronize()", -2),
        ("sim.stop()", 0),
        ("sim.reset(); spin()", 0),
        ("ok(cu.cuDevicePrimaryCtxReset(0))", 0),
        ("threading.Thread(target=cu.cuCtxSynchronize, daemon=True).start(); time.sleep(0.2)", 0),
    ],
)
def test_a_process_ends_at_once(end: str, code: int) -> None:
    returned, _, errors = run(f"spin()\n{end}")
    assert returned == code, errors


def test_who_waits_takes_no_processor_and_the_spin_little() -> None:
    program = """
flag, device = spin()
later(1.5, ctypes.memset, flag, 1, 4)
began, waiter, everybody = time.monotonic(), time.thread_time(), time.process_time()
ok(cu.cuCtxSynchronize())
passed = time.monotonic() - began
print((time.thread_time() - waiter) / passed, (time.process_time() - everybody) / passed)
"""
    waiter, everybody = map(float, run(program)[1].split())  # shares of one processor
    assert waiter < 0.1
    assert everybody < 1, "two threads that never rest would take twice as much"


TIMED = """
def test_that_waits():
    spin()
    ok(cu.cuCtxSynchronize())

def test_that_runs_after_it():
    assert status(cu.cuStreamQuery(0)) == 600
"""


@pytest.mark.parametrize(("method", "words"), [("signal", "1 failed, 1 passed"), ("thread", "Timeout")])
def test_a_timeout_of_a_test_ends_the_wait(tmp_path: Path, method: str, words: str) -> None:
    file = tmp_path / "test_spin.py"
    file.write_text(BEGIN + TIMED)
    options = ("-p", "no:cacheprovider", "--timeout=1", f"--timeout-method={method}", "--rootdir", str(tmp_path))
    code, printed, errors = run("", sys.executable, "-m", "pytest", "-q", *options, str(file))
    assert code == 1
    assert words in printed + errors
