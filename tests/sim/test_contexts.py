"""Contexts through NVIDIA's bindings: primary and ordinary ones, stacks, peers."""

import threading

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE, INVALID_DEVICE, INVALID_CONTEXT, DESTROYED = 1, 101, 201, 709
ALREADY_ENABLED, NOT_ENABLED, UNSUPPORTED_PEER = 704, 705, 217


def test_a_primary_context_lives_from_the_first_retain_to_the_last_release(machine):
    assert ok(cu.cuDevicePrimaryCtxGetState(3)) == (0, 0)
    first, again = ok(cu.cuDevicePrimaryCtxRetain(3)), ok(cu.cuDevicePrimaryCtxRetain(3))
    assert int(first) == int(again)
    assert int(ok(cu.cuCtxGetCurrent())) == 0
    ok(cu.cuDevicePrimaryCtxRelease(3))
    assert ok(cu.cuDevicePrimaryCtxGetState(3)) == (0, 1)
    ok(cu.cuDevicePrimaryCtxRelease(3))
    assert ok(cu.cuDevicePrimaryCtxGetState(3)) == (0, 0)
    assert status(cu.cuDevicePrimaryCtxRelease(3)) == INVALID_CONTEXT


def test_calls_that_need_a_context_say_so(machine):
    assert status(cu.cuMemAlloc(16)) == INVALID_CONTEXT
    assert status(cu.cuCtxSynchronize()) == INVALID_CONTEXT
    assert status(cu.cuCtxPopCurrent()) == INVALID_CONTEXT
    assert status(cu.cuDevicePrimaryCtxRetain(8)) == INVALID_DEVICE


def test_a_released_primary_context_stays_on_the_stack_but_serves_no_more(machine):
    handle = ok(cu.cuDevicePrimaryCtxRetain(0))
    ok(cu.cuCtxSetCurrent(handle))
    memory = ok(cu.cuMemAlloc(16))
    ok(cu.cuDevicePrimaryCtxRelease(0))
    assert status(cu.cuCtxSynchronize()) == DESTROYED
    assert int(ok(cu.cuCtxGetCurrent())) == int(handle)
    assert int(ok(cu.cuDevicePrimaryCtxRetain(0))) == int(handle)
    assert status(cu.cuCtxSynchronize()) == 0
    assert status(cu.cuMemFree(memory)) == INVALID_VALUE  # it went with the context
    ok(cu.cuDevicePrimaryCtxRelease(0))
    ok(cu.cuCtxSetCurrent(0))


def test_each_thread_has_a_stack_of_its_own(context):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(int(ok(cu.cuCtxGetCurrent()))))
    thread.start()
    thread.join(10)
    assert seen == [0]
    assert int(ok(cu.cuCtxGetCurrent())) == context


def test_created_contexts_stack_up(machine):
    first = ok(cu.cuCtxCreate(None, 0, 1))
    second = ok(cu.cuCtxCreate(None, 4, 2))
    assert int(ok(cu.cuCtxGetDevice())) == 2
    assert ok(cu.cuCtxGetFlags()) == 4
    assert ok(cu.cuCtxGetId(first)) != ok(cu.cuCtxGetId(second))
    assert int(ok(cu.cuCtxPopCurrent())) == int(second)
    assert int(ok(cu.cuCtxGetDevice())) == 1
    ok(cu.cuCtxPushCurrent(second))
    ok(cu.cuCtxDestroy(second))
    assert int(ok(cu.cuCtxGetCurrent())) == int(first)
    assert status(cu.cuCtxPushCurrent(second)) == INVALID_CONTEXT
    ok(cu.cuCtxDestroy(first))
    assert int(ok(cu.cuCtxGetCurrent())) == 0


def test_what_a_context_owns_goes_with_it(machine):
    context = ok(cu.cuCtxCreate(None, 0, 0))
    free = ok(cu.cuMemGetInfo())[0]
    ok(cu.cuMemAlloc(4 << 20)), ok(cu.cuMemAllocHost(64)), ok(cu.cuStreamCreate(0)), ok(cu.cuEventCreate(0))
    assert ok(cu.cuMemGetInfo())[0] == free - (4 << 20)
    ok(cu.cuCtxDestroy(context))
    other = ok(cu.cuCtxCreate(None, 0, 0))
    assert ok(cu.cuMemGetInfo())[0] == free
    ok(cu.cuCtxDestroy(other))


@pytest.mark.parametrize("flags", [3, 5, 7, 0x1000])
def test_flags_are_known_and_agree(machine, flags):
    assert status(cu.cuCtxCreate(None, flags, 0)) == INVALID_VALUE
    assert status(cu.cuDevicePrimaryCtxSetFlags(0, flags)) == INVALID_VALUE
    assert status(cu.cuDevicePrimaryCtxSetFlags(0, 4)) == 0


def test_peer_access_opens_another_devices_allocations(machine):
    near, far = ok(cu.cuDevicePrimaryCtxRetain(0)), ok(cu.cuDevicePrimaryCtxRetain(1))
    ok(cu.cuCtxSetCurrent(far))
    memory = ok(cu.cuMemAlloc(64))
    ok(cu.cuCtxSetCurrent(near))
    assert status(cu.cuMemsetD8(memory, 1, 64)) == INVALID_VALUE
    assert status(cu.cuCtxDisablePeerAccess(far)) == NOT_ENABLED
    assert status(cu.cuCtxEnablePeerAccess(far, 1)) == INVALID_VALUE
    ok(cu.cuCtxEnablePeerAccess(far, 0))
    assert status(cu.cuCtxEnablePeerAccess(far, 0)) == ALREADY_ENABLED
    assert status(cu.cuMemsetD8(memory, 1, 64)) == 0
    ok(cu.cuCtxDisablePeerAccess(far))
    assert status(cu.cuMemsetD8(memory, 1, 64)) == INVALID_VALUE
    assert status(cu.cuCtxEnablePeerAccess(near, 0)) == UNSUPPORTED_PEER
    ok(cu.cuMemFree(memory))
    ok(cu.cuCtxSetCurrent(0))
    ok(cu.cuDevicePrimaryCtxRelease(0)), ok(cu.cuDevicePrimaryCtxRelease(1))
