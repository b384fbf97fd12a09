"""Pinned and registered host memory through NVIDIA's bindings."""

import ctypes
import mmap

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

INVALID_VALUE, ALREADY_REGISTERED, NOT_REGISTERED = 1, 712, 713


@pytest.fixture
def pages():
    """Ordinary memory of four pages, and its address."""
    block = mmap.mmap(-1, 4 * mmap.PAGESIZE)
    view = ctypes.c_char.from_buffer(block)
    yield ctypes.addressof(view)
    del view
    block.close()


def test_pinned_memory_is_written_from_both_sides(context):
    address = int(ok(cu.cuMemAllocHost(64)))
    ok(cu.cuMemsetD8(address, 5, 64))
    assert ctypes.string_at(address, 64) == b"\5" * 64
    assert int(ok(cu.cuMemHostGetDevicePointer(address + 3, 0))) == address + 3
    assert status(cu.cuMemHostGetDevicePointer(address, 1)) == INVALID_VALUE
    ok(cu.cuMemFreeHost(address))


@pytest.mark.parametrize(("flags", "kept"), [(0, 2), (1, 2), (2, 2), (4, 6), (7, 6)])
def test_flags_that_count_are_kept(context, flags, kept):
    address = int(ok(cu.cuMemHostAlloc(64, flags)))
    assert ok(cu.cuMemHostGetFlags(address)) == kept
    ok(cu.cuMemFreeHost(address))


def test_wrong_frees_are_refused(context):
    assert status(cu.cuMemHostAlloc(64, 8)) == INVALID_VALUE
    address = int(ok(cu.cuMemAllocHost(64)))
    assert status(cu.cuMemFreeHost(address + 1)) == INVALID_VALUE
    assert status(cu.cuMemFree(address)) == INVALID_VALUE
    assert status(cu.cuMemHostUnregister(address)) == INVALID_VALUE
    ok(cu.cuMemFreeHost(address))
    assert status(cu.cuMemFreeHost(address)) == INVALID_VALUE
    assert status(cu.cuMemFreeHost(0)) == 0


def test_registered_memory_is_device_memory_until_it_is_let_go(context, pages):
    assert status(cu.cuMemsetD8(pages, 1, 16)) == INVALID_VALUE
    ok(cu.cuMemHostRegister(pages, 2 * mmap.PAGESIZE, 1))
    assert ok(cu.cuMemHostGetFlags(pages)) == 3
    ok(cu.cuMemsetD8(pages, 9, 16))
    assert ctypes.string_at(pages, 17) == b"\t" * 16 + b"\0"
    assert status(cu.cuMemHostRegister(pages + mmap.PAGESIZE, 2 * mmap.PAGESIZE, 0)) == ALREADY_REGISTERED
    assert status(cu.cuMemHostUnregister(pages + 1)) == INVALID_VALUE
    ok(cu.cuMemHostUnregister(pages))
    assert status(cu.cuMemHostUnregister(pages)) == NOT_REGISTERED
    assert status(cu.cuMemsetD8(pages, 1, 16)) == INVALID_VALUE


def test_what_is_registered_is_memory(context, pages):
    assert status(cu.cuMemHostRegister(0x10000, 4096, 0)) == INVALID_VALUE
    assert status(cu.cuMemHostRegister(pages, 0, 0)) == INVALID_VALUE
    assert status(cu.cuMemHostRegister(pages, 4096, 16)) == INVALID_VALUE
    ok(cu.cuMemHostRegister(pages, 4096, 8))
    ok(cu.cuMemHostUnregister(pages))


def test_registered_memory_that_is_gone_is_an_answer(context):
    block = mmap.mmap(-1, mmap.PAGESIZE)
    view = ctypes.c_char.from_buffer(block)
    address = ctypes.addressof(view)
    ok(cu.cuMemHostRegister(address, mmap.PAGESIZE, 0))
    del view
    block.close()
    assert status(cu.cuMemsetD8(address, 1, 16)) == INVALID_VALUE
    ok(cu.cuMemHostUnregister(address))
