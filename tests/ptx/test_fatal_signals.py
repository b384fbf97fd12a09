"""Signals of bad accesses: those of kernels end the kernel, those of others go where they went before."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(60)

HEAD = f"""
import ctypes, faulthandler, mmap, os, sys, threading
sys.path[:0] = [{str(Path(__file__).parent)!r}]
import numpy as np
from grid import Grid, finish

TEXT = '''.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{{ .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p];
ld.global.u32 %r, [%a]; add.u32 %r, %r, 1; st.global.u32 [%a], %r; ret; }}
.visible .entry waits(.param .u64 p)
{{ .reg .b64 %a; .reg .b32 %r; .reg .pred %p; ld.param.u64 %a, [p];
again: ld.acquire.sys.global.u32 %r, [%a]; setp.eq.u32 %p, %r, 0; @%p bra again; ret; }}
'''
run = Grid(TEXT)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

def good():
    room = np.zeros(16, np.uint32)
    fault = run("k", 1, 1, [room])
    assert (fault.status, room[0]) == (0, 1), fault

def bad():
    '''Let a kernel write where the table of rights says yes and the host says no.'''
    place = libc.mmap(None, 4 << 20, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    run.rights.allow(place, 4 << 20)
    fault = run("k", 1, 1, [np.uint64(place + 64)])
    assert fault.status == 700 and "the host refuses" in fault.reason and fault.address == place + 64, fault
    assert fault.line == 6, fault

def beyond():
    '''Let a kernel write behind the end of a file, which the host has no page for.'''
    file = os.memfd_create("short")
    os.ftruncate(file, 4096)
    place = libc.mmap(None, 8192, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0)
    run.rights.allow(place, 8192)
    fault = run("k", 1, 1, [np.uint64(place + 4096)])
    assert fault.status == 700 and "no memory for this page" in fault.reason, fault

def foreign():
    ctypes.string_at(1)

"""


def done(*lines: str) -> tuple[int, str]:
    """Run Python in a process of its own; answer how it ended and what it said."""
    found = subprocess.run(
        [sys.executable, "-c", HEAD + "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=50,
    )
    return found.returncode, found.stdout + found.stderr


@pytest.mark.parametrize("before", ["", "faulthandler.enable()"], ids=["alone", "with faulthandler"])
@pytest.mark.parametrize("what", ["bad()", "beyond()"])
def test_a_kernel_s_signal_ends_the_kernel_and_nothing_else(before: str, what: str) -> None:
    code, said = done(before, "good()", what, "good()", what, "print('fine')")
    assert (code, said) == (0, "fine\n")


def test_faulthandler_that_came_later_is_asked_later() -> None:
    code, said = done(
        "good()", "faulthandler.enable()", "bad()", "good()", "faulthandler.disable()", "bad()", "print('fine')"
    )
    assert (code, said) == (0, "fine\n")


@pytest.mark.parametrize("before", [("good()",), ("bad()",), ("good()", "bad()", "beyond()")], ids="-".join)
def test_a_foreign_signal_ends_the_process_as_ever(before: tuple[str, ...]) -> None:
    code, said = done(*before, "print('so far', flush=True)", "foreign()", "print('never')")
    assert (code, said) == (-signal.SIGSEGV, "so far\n")


@pytest.mark.parametrize(
    "lines",
    [
        ("faulthandler.enable()", "good()"),
        ("good()", "faulthandler.enable()"),
        ("good()", "faulthandler.enable()", "good()"),
        ("faulthandler.enable()", "good()", "faulthandler.enable()", "bad()"),
    ],
    ids=", ".join,
)
def test_faulthandler_tells_of_a_foreign_signal_once(lines: tuple[str, ...]) -> None:
    code, said = done(*lines, "foreign()")
    assert code == -signal.SIGSEGV
    assert said.count("Fatal Python error: Segmentation fault") == 1
    assert "in foreign" in said


def test_a_foreign_signal_beside_a_kernel_that_runs_ends_the_process() -> None:
    code, said = done(
        "flag = np.zeros(16, np.uint32)",
        "launched = run.launch('waits', 1, 32, [flag])",
        "threading.Thread(target=finish, args=([launched],), kwargs={'limit': 30.0}, daemon=True).start()",
        "import time; time.sleep(0.3)",
        "print('runs', flush=True)",
        "foreign()",
    )
    assert (code, said) == (-signal.SIGSEGV, "runs\n")


def test_a_signal_that_is_sent_ends_the_process_unless_it_is_ignored() -> None:
    sent = "os.kill(os.getpid(), 11); print('later')"
    assert done("good()", sent) == (-signal.SIGSEGV, "")
    ignored = "import signal; signal.signal(signal.SIGSEGV, signal.SIG_IGN)"
    assert done(ignored, "good()", sent, "bad()", sent) == (0, "later\nlater\n")
    assert done(ignored, "good()", "foreign()") == (-signal.SIGSEGV, "")
