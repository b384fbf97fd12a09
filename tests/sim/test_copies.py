"""Copies and memsets through NVIDIA's bindings: what arrives, and what may be touched."""

import ctypes
import mmap
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT = 1, 2, 201
MIB = 1 << 20
PAGE = 2 * MIB


def device(ordinal: int, flags: int) -> cu.CUmemAccessDesc:
    """Grant a device access."""
    grant = cu.CUmemAccessDesc()
    grant.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    grant.location.id = ordinal
    grant.flags = cu.CUmemAccess_flags(flags)
    return grant


def pinned_on(ordinal: int) -> cu.CUmemAllocationProp:
    """Ask for memory on a device."""
    prop = cu.CUmemAllocationProp()
    prop.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    prop.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    prop.location.id = ordinal
    return prop


@dataclass
class Mapped:
    """Two pages of device 0 side by side, and room behind them."""

    base: int

    def grant(self, ordinal: int, flags: int, page: int = 0, pages: int = 2) -> None:
        """Let a device touch them."""
        ok(cu.cuMemSetAccess(self.base + page * PAGE, pages * PAGE, [device(ordinal, flags)], 1))


@pytest.fixture
def mapped(context: int) -> Iterator[Mapped]:
    base = int(ok(cu.cuMemAddressReserve(4 * PAGE, 0, 0, 0)))
    for page in range(2):
        handle = ok(cu.cuMemCreate(PAGE, pinned_on(0), 0))
        ok(cu.cuMemMap(base + page * PAGE, PAGE, 0, handle, 0))
        ok(cu.cuMemRelease(handle))
    yield Mapped(base)
    for page in range(2):
        ok(cu.cuMemUnmap(base + page * PAGE, PAGE))
    ok(cu.cuMemAddressFree(base, 4 * PAGE))


@pytest.fixture
def two(context: int) -> Iterator[tuple[int, int]]:
    """Two allocations of a MiB."""
    made = [int(ok(cu.cuMemAlloc(MIB))) for _ in range(2)]
    yield made[0], made[1]
    for address in made:
        ok(cu.cuMemFree(address))


def test_bytes_go_round_in_every_direction(two):
    one, other = two
    sent, back = bytes(range(256)) * 16, bytearray(4096)
    ok(cu.cuMemcpyHtoD(one, sent, 4096))
    ok(cu.cuMemcpyDtoD(other, one, 4096))
    ok(cu.cuMemcpyDtoH(back, other, 4096))
    assert bytes(back) == sent


def test_addresses_tell_the_direction(two):
    one, other = two
    near, far = bytearray(b"multicast"), bytearray(9)
    here, there = (ctypes.addressof(ctypes.c_char.from_buffer(block)) for block in (near, far))
    ok(cu.cuMemcpy(one, here, 9))
    ok(cu.cuMemcpyAsync(other, one, 9, 0))
    ok(cu.cuMemcpy(there, other, 9))
    assert far == near
    ok(cu.cuMemcpy(there, here + 5, 4))
    assert far == b"castcast"[:4] + b"icast"


def test_overlapping_copies_keep_their_bytes(two):
    one, _ = two
    ok(cu.cuMemcpyHtoD(one, bytes(range(64)), 64))
    ok(cu.cuMemcpyDtoD(one + 16, one, 48))
    back = bytearray(64)
    ok(cu.cuMemcpyDtoH(back, one, 64))
    assert bytes(back) == bytes(range(16)) + bytes(range(48))


@pytest.mark.parametrize(
    ("set_it", "value", "bytes_of_one"),
    [
        (cu.cuMemsetD8, 0x11, b"\x11"),
        (cu.cuMemsetD16, 0x2233, b"\x33\x22"),
        (cu.cuMemsetD32, 0x44556677, b"\x77\x66\x55\x44"),
    ],
)
def test_memsets_write_exactly_their_elements(two, set_it, value, bytes_of_one):
    one, _ = two
    ok(cu.cuMemsetD8(one, 0, 64))
    ok(set_it(one + 8, value, 3))
    back = bytearray(64)
    ok(cu.cuMemcpyDtoH(back, one, 64))
    assert bytes(back) == (bytes(8) + bytes_of_one * 3).ljust(64, b"\0")


@pytest.mark.parametrize("size", [2, 4])
def test_memsets_are_aligned_to_their_element(two, size):
    one, _ = two
    set_it = {2: cu.cuMemsetD16, 4: cu.cuMemsetD32}[size]
    assert status(set_it(one + size // 2, 0, 1)) == INVALID_VALUE
    assert status(set_it(one + size, 0, 1)) == 0


def test_a_plain_allocation_ends_where_it_ends(two):
    one, other = two
    end = one + MIB
    assert status(cu.cuMemsetD8(end - 8, 1, 8)) == 0
    assert status(cu.cuMemsetD8(end - 8, 1, 9)) == INVALID_VALUE
    assert status(cu.cuMemcpyDtoD(other, end - 8, 9)) == INVALID_VALUE
    assert status(cu.cuMemcpyHtoD(0x1234, bytes(4), 4)) == INVALID_VALUE
    assert status(cu.cuMemcpyDtoD(0x1234, 0x5678, 0)) == 0


@pytest.mark.parametrize("wild", [0, 0x10, 1 << 47, (1 << 64) - 8])
def test_bad_host_pointers_are_answers_not_crashes(two, wild):
    one, _ = two
    assert status(cu.cuMemcpyHtoD(one, wild, 16)) == INVALID_VALUE
    assert status(cu.cuMemcpyDtoH(wild, one, 16)) == INVALID_VALUE
    assert status(cu.cuMemcpy(one, wild, 16)) == INVALID_VALUE
    assert status(cu.cuMemcpy(wild, one, 16)) == INVALID_VALUE


def test_read_only_host_memory_is_read_and_not_written(two):
    one, _ = two
    library, numbers = ctypes.CDLL(None), [ctypes.c_int] * 3
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *numbers, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    page = library.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert status(cu.cuMemcpyHtoD(one, page, 16)) == 0
    assert status(cu.cuMemcpyDtoH(page, one, 16)) == INVALID_VALUE
    assert library.munmap(page, mmap.PAGESIZE) == 0
    assert status(cu.cuMemcpyHtoD(one, page, 16)) == INVALID_VALUE


def test_a_copy_needs_a_context(machine):
    assert status(cu.cuMemcpyDtoD(0x1000, 0x2000, 4)) == INVALID_CONTEXT


def test_access_counts_for_each_device_not_for_the_process(mapped):
    mapped.grant(1, 3)  # the host protection now allows everything, device 0 still nothing
    assert status(cu.cuMemsetD8(mapped.base, 1, 16)) == INVALID_VALUE
    mapped.grant(0, 1)
    host = bytearray(16)
    assert status(cu.cuMemcpyDtoH(host, mapped.base, 16)) == 0
    assert status(cu.cuMemsetD8(mapped.base, 1, 16)) == INVALID_VALUE
    mapped.grant(0, 3)
    assert status(cu.cuMemsetD8(mapped.base, 1, 16)) == 0


def test_a_streams_device_acts_not_the_current_one(mapped):
    mapped.grant(0, 3)
    stream = ok(cu.cuStreamCreate(0))
    other = ok(cu.cuCtxCreate(None, 0, 1))
    assert status(cu.cuMemsetD8(mapped.base, 1, 16)) == INVALID_VALUE
    assert status(cu.cuMemsetD8Async(mapped.base, 1, 16, stream)) == 0
    ok(cu.cuCtxDestroy(other)), ok(cu.cuStreamDestroy(stream))


def test_copies_cross_from_one_mapping_into_the_next_but_not_into_a_hole(mapped):
    mapped.grant(0, 3)
    edge = mapped.base + PAGE - 32
    ok(cu.cuMemcpyHtoD(edge, bytes(range(64)), 64))
    back = bytearray(64)
    ok(cu.cuMemcpyDtoH(back, edge, 64))
    assert bytes(back) == bytes(range(64))
    assert status(cu.cuMemsetD8(mapped.base + 2 * PAGE - 8, 1, 8)) == 0
    assert status(cu.cuMemsetD8(mapped.base + 2 * PAGE - 8, 1, 9)) == INVALID_VALUE


def test_a_multicast_address_is_neither_copied_nor_set(context, machine):
    prop = cu.CUmulticastObjectProp()
    prop.numDevices, prop.size = 1, PAGE
    mc = ok(cu.cuMulticastCreate(prop))
    ok(cu.cuMulticastAddDevice(mc, 0))
    base = ok(cu.cuMemAddressReserve(PAGE, 0, 0, 0))
    ok(cu.cuMemMap(base, PAGE, 0, mc, 0))
    ok(cu.cuMemSetAccess(base, PAGE, [device(0, 3)], 1))
    assert status(cu.cuMemsetD8(base, 1, 16)) == INVALID_VALUE
    assert status(cu.cuMemcpyDtoH(bytearray(16), base, 16)) == INVALID_VALUE
    assert {finding.rule for finding in machine.findings} >= {"MC531"}
    ok(cu.cuMemUnmap(base, PAGE)), ok(cu.cuMemAddressFree(base, PAGE)), ok(cu.cuMemRelease(mc))


def test_rows_keep_their_pitches(two):
    one, other = two
    ok(cu.cuMemsetD2D8(one, 128, 0x22, 64, 4))
    plane = cu.CUDA_MEMCPY2D()
    plane.srcMemoryType = plane.dstMemoryType = cu.CUmemorytype.CU_MEMORYTYPE_DEVICE
    plane.srcDevice, plane.srcPitch, plane.dstDevice, plane.dstPitch = one, 128, other, 80
    plane.srcXInBytes, plane.dstY, plane.WidthInBytes, plane.Height = 60, 1, 8, 3
    ok(cu.cuMemsetD8(other, 0, 512))
    ok(cu.cuMemcpy2D(plane))
    back = bytearray(400)
    ok(cu.cuMemcpyDtoH(back, other, 400))
    row = b"\x22" * 4 + bytes(76)
    assert bytes(back) == bytes(80) + row * 3 + bytes(80)
    plane.srcPitch = 67  # x 60 + width 8 do not fit
    assert status(cu.cuMemcpy2D(plane)) == INVALID_VALUE
    plane.srcPitch = 68
    assert status(cu.cuMemcpy2DUnaligned(plane)) == 0


def test_a_full_file_system_is_an_answer(two, machine, monkeypatch):
    from cumulticast.sim import native

    def full(fd: int, offset: int, length: int) -> None:
        raise OSError(28, os.strerror(28))

    one, other = two
    ok(cu.cuMemsetD8(one, 1, 16))
    fresh = int(ok(cu.cuMemAlloc(2 * PAGE)))
    monkeypatch.setattr(native, "allocate", full)
    assert status(cu.cuMemsetD8(fresh, 1, 16)) == OUT_OF_MEMORY
    assert status(cu.cuMemcpyDtoD(one, other, 16)) == 0  # that chunk has memory already
    monkeypatch.undo()
    assert status(cu.cuMemsetD8(fresh, 1, 16)) == 0
    ok(cu.cuMemFree(fresh))


def test_unmapping_waits_for_the_copy(context, machine):
    """A free in the middle of another thread's copy must not pull the memory away under it."""
    size, rounds = 64 * MIB, 4
    source = int(ok(cu.cuMemAlloc(size)))
    ok(cu.cuMemsetD8(source, 1, size))
    answers: list[int] = []

    def copy(target: int) -> None:
        ok(cu.cuCtxSetCurrent(context))
        started.set()
        answers.append(status(cu.cuMemcpyDtoD(target, source, size)))

    for _ in range(rounds):
        target, started = int(ok(cu.cuMemAlloc(size))), threading.Event()
        thread = threading.Thread(target=copy, args=(target,))
        thread.start()
        started.wait(10)
        ok(cu.cuMemFree(target))
        thread.join(30)
    assert len(answers) == rounds
    assert set(answers) <= {0, INVALID_VALUE}  # before the free, or after it
    ok(cu.cuMemFree(source))


def test_mapped_device_memory_is_not_registered_as_host_memory(mapped):
    mapped.grant(1, 3)  # the host could write there; device 0 must not get in by this door
    assert status(cu.cuMemHostRegister(mapped.base, PAGE, 0)) == INVALID_VALUE
