"""Each kind of thing that a test can leave behind. Every function makes one and answers how it is given back."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

import pytest
from cuda.bindings import driver as cu

from answers import ok

MIB = 1 << 20
FD = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
GiveBack = Callable[[], Any]
KEPT: list[Any] = []


def properties() -> cu.CUmemAllocationProp:
    prop = cu.CUmemAllocationProp()
    prop.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    prop.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    prop.requestedHandleTypes = FD
    return prop


def allocated() -> Any:
    return ok(cu.cuMemCreate(2 * MIB, properties(), 0))


def in_context() -> Any:
    context = ok(cu.cuDevicePrimaryCtxRetain(0))
    ok(cu.cuCtxSetCurrent(context))
    return context


def handle() -> GiveBack:
    made = ok(cu.cuMemCreate(2 * MIB, properties(), 0))  # <- handle
    return lambda: cu.cuMemRelease(made)


def multicast() -> GiveBack:
    prop = cu.CUmulticastObjectProp()
    prop.numDevices, prop.size = 2, 2 * MIB
    made = ok(cu.cuMulticastCreate(prop))  # <- multicast
    return lambda: cu.cuMemRelease(made)


def imported() -> GiveBack:
    first = allocated()
    fd = ok(cu.cuMemExportToShareableHandle(first, FD, 0))
    made = ok(cu.cuMemImportFromShareableHandle(fd, FD))  # <- imported
    os.close(fd)
    ok(cu.cuMemRelease(first))
    return lambda: cu.cuMemRelease(made)


def reservation() -> GiveBack:
    at = ok(cu.cuMemAddressReserve(2 * MIB, 0, 0, 0))  # <- reservation
    return lambda: cu.cuMemAddressFree(at, 2 * MIB)


def mapping() -> GiveBack:
    memory, at = allocated(), ok(cu.cuMemAddressReserve(2 * MIB, 0, 0, 0))
    ok(cu.cuMemMap(at, 2 * MIB, 0, memory, 0))  # <- mapping
    ok(cu.cuMemRelease(memory))
    return lambda: (ok(cu.cuMemUnmap(at, 2 * MIB)), ok(cu.cuMemAddressFree(at, 2 * MIB)))


def allocation() -> GiveBack:
    in_context()
    at = ok(cu.cuMemAlloc(4096))  # <- allocation
    return lambda: cu.cuMemFree(at)


def host() -> GiveBack:
    in_context()
    at = ok(cu.cuMemHostAlloc(4096, 0))  # <- host
    return lambda: cu.cuMemFreeHost(at)


def pool() -> GiveBack:
    prop = cu.CUmemPoolProps()
    prop.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    prop.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    made = ok(cu.cuMemPoolCreate(prop))  # <- pool
    return lambda: cu.cuMemPoolDestroy(made)


def stream() -> GiveBack:
    in_context()
    made = ok(cu.cuStreamCreate(0))  # <- stream
    return lambda: cu.cuStreamDestroy(made)


def event() -> GiveBack:
    in_context()
    made = ok(cu.cuEventCreate(0))  # <- event
    return lambda: cu.cuEventDestroy(made)


def context() -> GiveBack:
    made = ok(cu.cuCtxCreate(None, 0, 0))  # <- context
    return lambda: cu.cuCtxDestroy(made)


def descriptor() -> GiveBack:
    memory = allocated()
    fd = ok(cu.cuMemExportToShareableHandle(memory, FD, 0))  # <- descriptor
    ok(cu.cuMemRelease(memory))
    KEPT.append(fd)
    return lambda: os.close(KEPT.pop())


def sent() -> GiveBack:
    memory, ends = allocated(), socket.socketpair()
    fd = ok(cu.cuMemExportToShareableHandle(memory, FD, 0))
    socket.send_fds(ends[0], [b"x"], [fd])
    os.close(fd)
    ok(cu.cuMemRelease(memory))
    KEPT.extend(ends)
    return close_kept


def bound() -> GiveBack:
    prop, memory = cu.CUmulticastObjectProp(), allocated()
    prop.numDevices, prop.size, prop.handleTypes = 2, 2 * MIB, FD
    team = ok(cu.cuMulticastCreate(prop))
    for device in range(2):
        ok(cu.cuMulticastAddDevice(team, device))
    ok(cu.cuMulticastBindMem(team, 0, memory, 0, 2 * MIB, 0))
    ok(cu.cuMemRelease(team))
    return lambda: cu.cuMemRelease(memory)


def close_kept() -> None:
    while KEPT:
        thing = KEPT.pop()
        os.close(thing) if isinstance(thing, int) else thing.close()


MAKERS = [handle, multicast, imported, reservation, mapping, allocation, host, pool, stream, event, context]
MAKERS += [descriptor, bound, sent]
every = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@pytest.fixture(autouse=True)
def _close() -> Any:
    """Close, when the machine is gone, what a test meant to leave open."""
    yield
    close_kept()


@pytest.fixture
def initialised(_close: None, cuda_machine: Any) -> None:
    ok(cu.cuInit(0))


@every
def test_left(initialised: None, make: Callable[[], GiveBack]) -> None:
    make()


@every
def test_given_back(initialised: None, make: Callable[[], GiveBack]) -> None:
    answer = make()()
    assert not isinstance(answer, tuple) or not answer or int(answer[0] or 0) == 0


@pytest.mark.cuda_machine(leaks="ignore")
@every
def test_ignored(initialised: None, make: Callable[[], GiveBack]) -> None:
    make()


def test_failed(initialised: None) -> None:
    handle()
    pytest.fail("for a reason of its own")


def test_stopped(initialised: None) -> None:
    from cumulticast import sim

    handle()
    sim.stop()


def test_collected(initialised: None) -> None:
    class Holder:
        def __init__(self) -> None:
            self.me, self.give_back = self, handle()

        def __del__(self) -> None:
            self.give_back()

    Holder()
