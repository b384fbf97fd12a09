"""The time limit of kernels: 702, which sticks, and words about where the kernel was."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

TIMEOUT = 702
TEXT = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry waits(.param .u64 p)
{
  .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d;
  ld.param.u64 %d, [p];
  mov.u32 %r1, %ctaid.x;
  setp.lt.u32 %q, %r1, 5;
  @%q bra done;
again:
  ld.acquire.sys.global.u32 %r2, [%d];
  setp.eq.u32 %q, %r2, 0;
  @%q bra again;
done:
  ret;
}
.visible .entry parts()
{
  .reg .pred %q; .reg .b32 %r;
  mov.u32 %r, %tid.x;
  setp.ge.u32 %q, %r, 32;
  @%q bra done;
  bar.sync 1, 96;
done:
  ret;
}
\0"""


@pytest.fixture
def flag(context):
    """Allocate a word that host and kernels see."""
    address = int(ok(cu.cuMemAllocHost(8)))
    ctypes.memset(address, 0, 8)
    yield address
    if status(cu.cuMemFreeHost(address)):  # the context has failed
        ok(cu.cuDevicePrimaryCtxReset(0))


def launch(name: bytes, blocks: int, threads: int, *arguments: int) -> None:
    """Launch a kernel of the text in the default stream."""
    kernel = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(TEXT)), name))
    given = (arguments, (ctypes.c_void_p,) * len(arguments)) if arguments else 0
    ok(cu.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, 0, given, 0))


def reason(cuda_machine) -> str:
    """Answer the log's word about what broke the context."""
    return next(line for line in cuda_machine.log if "an earlier kernel failed" in line)


@pytest.mark.cuda_machine(kernel_limit=0.8)
def test_a_kernel_beyond_the_limit_ends_with_702_that_sticks(cuda_machine, flag):
    began = time.monotonic()
    launch(b"waits", 8, 64, flag)
    assert status(cu.cuCtxSynchronize()) == TIMEOUT
    assert time.monotonic() - began >= 0.8
    assert status(cu.cuMemAlloc(16)) == status(cu.cuStreamQuery(0)) == TIMEOUT
    assert ok(cu.cuDeviceGetCount()) == 8
    said = reason(cuda_machine)
    assert "kernel waits: it ran longer than its time limit of 0.8 s; 3 of 8 blocks have not ended" in said
    assert "block (5, 0, 0), thread (0, 0, 0) was last at line 12 (ld.acquire.sys.global.u32 %r2, [%d];)" in said


@pytest.mark.cuda_machine(kernel_limit=0.8)
def test_threads_that_wait_at_a_barrier_for_ever_are_told_from_those_that_spin(cuda_machine, context):
    launch(b"parts", 1, 64)
    assert status(cu.cuCtxSynchronize()) == TIMEOUT
    assert "1 of 1 blocks have not ended, and all threads that are left wait at a barrier" in reason(cuda_machine)


@pytest.mark.cuda_machine(kernel_limit=60)
def test_a_kernel_within_the_limit_is_left_alone(cuda_machine, flag):
    launch(b"waits", 8, 64, flag)
    assert status(cu.cuStreamQuery(0)) == 600
    ctypes.memset(flag, 1, 4)
    ok(cu.cuCtxSynchronize())


def test_without_a_limit_there_is_none(context, flag):
    launch(b"waits", 6, 1, flag)
    time.sleep(0.3)
    assert status(cu.cuStreamQuery(0)) == 600
    ctypes.memset(flag, 1, 4)
    ok(cu.cuCtxSynchronize())


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_limit_is_a_time(limit):
    from cumulticast import sim

    with pytest.raises(ValueError, match="a number of seconds above 0 is"):
        sim.start(kernel_limit=limit)


PROGRAM = """
import ctypes
from cuda.bindings import driver as cu
def ok(answer):
    assert int(answer[0]) == 0, answer
    return answer[1] if len(answer) > 1 else None
ok(cu.cuInit(0)); ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(0))))
flag = ok(cu.cuMemAlloc(8)); ok(cu.cuMemsetD8(flag, {value}, 8))
kernel = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData({text!r})), b"waits"))
ok(cu.cuLaunchKernel(kernel, 6, 1, 1, 1, 1, 1, 0, 0, ((int(flag),), (ctypes.c_void_p,)), 0))
print(int(cu.cuCtxSynchronize()[0]))
"""


@pytest.mark.parametrize(
    ("value", "limit", "by_option", "answer"),
    [(0, "0.3", True, "702\n"), (0, "0.3", False, "702\n"), (1, "40", True, "0\n")],
)
def test_run_sets_the_limit(value, limit, by_option, answer, monkeypatch):
    options = ["--kernel-limit", limit] if by_option else []
    if not by_option:
        monkeypatch.setenv("CUMULTICAST_KERNEL_LIMIT", limit)
    program = PROGRAM.format(text=TEXT, value=value)
    command = [sys.executable, "-m", "cumulticast.cli", "run", *options, "--", sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.stdout == answer, done.stderr
