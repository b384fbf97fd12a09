"""Kernels in streams: order, progress while they spin, time limits, faults that stick."""

from __future__ import annotations

import ctypes
import time

import pytest
from cuda.bindings import driver as cu
from streams_held import ADD, SPIN, TRAP, Kernel, Told, held, ready

from answers import ok, status

pytestmark = pytest.mark.timeout(60)
TIMEOUT, TRAPPED = 702, 719


@pytest.fixture
def memory(context):
    """Allocate pinned memory, which host and device see."""
    address = int(ok(cu.cuMemAllocHost(4096)))
    ctypes.memset(address, 0, 4096)
    yield address
    ok(cu.cuMemFreeHost(address))


def test_a_kernel_runs_every_block(stream, memory):
    kernel = Kernel(ADD)
    kernel.launch(stream, memory, blocks=1000)
    ok(cu.cuStreamSynchronize(stream))
    assert ctypes.c_uint32.from_address(memory).value == 1000


def test_kernels_copies_and_host_functions_keep_their_order(stream, memory):
    kernel, told = Kernel(ADD), Told()
    with held(stream, memory):
        for number in range(20):
            kernel.launch(stream, memory, blocks=10)
            ok(cu.cuMemcpyDtoDAsync(memory + 64 + 4 * number, memory, 4, stream))
            told.tell(stream, number)
        assert not ready(stream)
    ok(cu.cuStreamSynchronize(stream))
    assert told.seen == list(range(20))
    assert list((ctypes.c_uint32 * 20).from_address(memory + 64)) == list(range(10, 210, 10))


def test_a_kernel_that_spins_is_let_go_by_another_stream(stream, memory):
    spin, add, other = Kernel(SPIN), Kernel(ADD), ok(cu.cuStreamCreate(1))
    spin.launch(stream, memory, blocks=300)
    assert not ready(stream)
    add.launch(other, memory)
    ok(cu.cuStreamSynchronize(other))
    ok(cu.cuStreamSynchronize(stream))
    ok(cu.cuStreamDestroy(other))


def test_a_kernel_that_spins_is_let_go_by_a_value_written_in_a_stream(stream, memory):
    spin, other = Kernel(SPIN), ok(cu.cuStreamCreate(1))
    spin.launch(stream, memory)
    assert not ready(stream)
    ok(cu.cuStreamWriteValue32(other, memory, 1, 0))
    ok(cu.cuStreamSynchronize(stream))
    ok(cu.cuStreamDestroy(other))


def test_a_kernel_is_timed_by_events(stream, memory):
    spin = Kernel(SPIN)
    first, last = ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(0))
    ok(cu.cuEventRecord(first, stream))
    spin.launch(stream, memory)
    ok(cu.cuEventRecord(last, stream))
    time.sleep(0.05)
    ctypes.c_uint32.from_address(memory).value = 1
    ok(cu.cuEventSynchronize(last))
    assert 45 < ok(cu.cuEventElapsedTime(first, last)) < 20_000
    for event in (first, last):
        ok(cu.cuEventDestroy(event))


@pytest.fixture
def own(machine):
    """Make a context that may fail, with a stream and memory of another context that lives on."""
    primary = ok(cu.cuDevicePrimaryCtxRetain(0))
    ok(cu.cuCtxSetCurrent(primary))
    memory = int(ok(cu.cuMemAllocHost(4096)))
    ctypes.memset(memory, 0, 4096)
    context = ok(cu.cuCtxCreate(None, 0, 0))
    yield context, ok(cu.cuStreamCreate(1)), memory
    ok(cu.cuCtxDestroy(context))
    ok(cu.cuMemFreeHost(memory))
    ok(cu.cuDevicePrimaryCtxRelease(0))


def test_a_fault_sticks_to_its_context_until_that_ends(own):
    _, stream, memory = own
    trap, told = Kernel(TRAP), Told()
    event = ok(cu.cuEventCreate(0))
    trap.launch(stream, memory)
    assert status(cu.cuStreamSynchronize(stream)) == TRAPPED
    assert [fault.status for fault in trap.faults] == [TRAPPED]
    for answer in (
        cu.cuCtxSynchronize(), cu.cuStreamQuery(stream), cu.cuEventQuery(event), cu.cuMemAlloc(16),
        cu.cuMemsetD8(memory, 0, 4), cu.cuStreamCreate(0), cu.cuMemAllocAsync(16, stream),
    ):  # fmt: skip
        assert status(answer) == TRAPPED
    assert len(trap.faults) == 1
    assert told.seen == []
    assert ok(cu.cuDeviceGetCount()) == 8
    va = ok(cu.cuMemAddressReserve(2 << 20, 0, 0, 0))
    ok(cu.cuMemAddressFree(va, 2 << 20))


def test_work_behind_a_fault_is_dropped_but_callbacks_hear_of_it(own):
    _, stream, memory = own
    trap, add, told, seen = Kernel(TRAP), Kernel(ADD), Told(), []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *got: seen.append(got[1]))
    with held(stream, memory):
        trap.launch(stream, memory)
        add.launch(stream, memory)
        ok(cu.cuMemsetD8Async(memory + 8, 1, 8, stream))
        told.tell(stream, 1)
        ok(cu.cuStreamAddCallback(stream, cu.CUstreamCallback(ctypes.cast(callback, ctypes.c_void_p).value), 0, 0))
    assert status(cu.cuStreamSynchronize(stream)) == TRAPPED
    assert ctypes.string_at(memory, 16) == bytes(16)
    assert (told.seen, seen) == ([], [TRAPPED])


def test_another_context_goes_on(own):
    _, stream, memory = own
    trap, add = Kernel(TRAP), Kernel(ADD)
    trap.launch(stream, memory)
    assert status(cu.cuCtxSynchronize()) == TRAPPED
    ok(cu.cuCtxPopCurrent())
    other = ok(cu.cuStreamCreate(0))
    add.launch(other, memory)
    ok(cu.cuCtxSynchronize())
    assert ctypes.c_uint32.from_address(memory).value == 1
    ok(cu.cuStreamDestroy(other))


def test_a_time_limit_ends_a_kernel_that_spins_for_ever(own):
    _, stream, memory = own
    spin = Kernel(SPIN)
    spin.launch(stream, memory, seconds=0.1)
    assert status(cu.cuStreamSynchronize(stream)) == TIMEOUT
    assert "0.1 s" in spin.faults[0].reason


def test_a_kernel_within_its_time_limit_is_left_alone(stream, memory):
    spin = Kernel(SPIN)
    spin.launch(stream, memory, seconds=30)
    ctypes.c_uint32.from_address(memory).value = 1
    ok(cu.cuStreamSynchronize(stream))
    assert spin.faults == []


def test_the_end_of_a_context_ends_a_kernel_that_spins_for_ever(machine):
    context = ok(cu.cuCtxCreate(None, 0, 0))
    memory, stream, spin = int(ok(cu.cuMemAllocHost(64))), ok(cu.cuStreamCreate(0)), Kernel(SPIN)
    ctypes.memset(memory, 0, 64)
    spin.launch(stream, memory, blocks=4)
    ok(cu.cuCtxDestroy(context))
    assert spin.faults == []
