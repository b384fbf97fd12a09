"""Streams that wait for values in memory, and write some."""

from __future__ import annotations

import ctypes
import struct

import pytest
from cuda.bindings import driver as cu
from streams_held import Told, held, ready

from answers import ok, status

pytestmark = pytest.mark.timeout(60)
INVALID_VALUE, NOT_SUPPORTED = 1, 801
GEQ, EQ, AND, NOR = range(4)
TOP = (1 << 32) - 1


@pytest.fixture
def memory(context):
    """Allocate pinned memory, which host and device see."""
    address = int(ok(cu.cuMemAllocHost(4096)))
    ctypes.memset(address, 0, 4096)
    yield address
    ok(cu.cuMemFreeHost(address))


@pytest.mark.parametrize(
    ("flags", "value", "not_yet", "enough"),
    [
        (EQ, 7, 8, 7),
        (GEQ, 7, 6, 7),
        (GEQ, 7, 6, 9),
        (GEQ, 2, TOP - 3, 1 << 31),  # cyclic: 2 is 6 behind TOP - 3
        (AND, 6, 9, 4),
        (NOR, TOP - 1, 1, 0),
    ],
)
def test_a_stream_waits_until_the_value_is_as_wanted(stream, memory, flags, value, not_yet, enough):
    word, told = ctypes.c_uint32.from_address(memory), Told()
    word.value = not_yet
    ok(cu.cuStreamWaitValue32(stream, memory, value, flags))
    told.tell(stream, 1)
    assert not ready(stream)
    word.value = enough
    ok(cu.cuStreamSynchronize(stream))
    assert told.seen == [1]


def test_64_bits_are_compared_whole(stream, memory):
    word = ctypes.c_uint64.from_address(memory)
    word.value = 7
    ok(cu.cuStreamWaitValue64(stream, memory, 7 + (1 << 40), EQ))
    assert not ready(stream)
    word.value = 7 + (1 << 40)
    ok(cu.cuStreamSynchronize(stream))


def test_writes_come_in_stream_order_and_let_another_stream_go(stream, memory):
    other, told = ok(cu.cuStreamCreate(1)), Told()
    ok(cu.cuStreamWaitValue32(other, memory, 3, EQ))
    told.tell(other, 1)
    with held(stream, memory):
        ok(cu.cuStreamWriteValue32(stream, memory, 3, 0))
        ok(cu.cuStreamWriteValue64(stream, memory + 8, 1 << 50, 1))
        assert not ready(other)
        assert ctypes.string_at(memory, 16) == bytes(16)
    ok(cu.cuStreamSynchronize(other))
    ok(cu.cuStreamSynchronize(stream))
    assert struct.unpack("<QQ", ctypes.string_at(memory, 16)) == (3, 1 << 50)
    ok(cu.cuStreamDestroy(other))


def wait_or_write(operation: int, address: int, value: int, flags: int = 0) -> cu.CUstreamBatchMemOpParams:
    """Make one operation of a batch."""
    params = cu.CUstreamBatchMemOpParams()
    raw = struct.pack("<I4xQQI", operation, address, value, flags)
    ctypes.memmove(params.getPtr(), raw, len(raw))
    return params


def test_a_batch_is_done_in_order(stream, memory):
    ops = [wait_or_write(1, memory, 1, EQ), wait_or_write(6, 0, 0), wait_or_write(2, memory + 4, 9)]
    ok(cu.cuStreamBatchMemOp(stream, len(ops), ops, 0))
    assert not ready(stream)
    assert ctypes.string_at(memory + 4, 4) == bytes(4)
    ctypes.c_uint32.from_address(memory).value = 1
    ok(cu.cuStreamSynchronize(stream))
    assert ctypes.string_at(memory + 4, 1) == b"\x09"
    assert status(cu.cuStreamBatchMemOp(stream, 1, [wait_or_write(7, memory, 0)], 0)) == INVALID_VALUE
    assert status(cu.cuStreamBatchMemOp(stream, 1, [wait_or_write(8, memory, 0)], 0)) == NOT_SUPPORTED
    assert status(cu.cuStreamBatchMemOp(stream, 1, ops[2:], 1)) == INVALID_VALUE
    ok(cu.cuStreamBatchMemOp(stream, 1, ops[2:], 0))


def test_places_and_flags_are_checked(stream, memory):
    managed = int(ok(cu.cuMemAllocManaged(64, 1)))
    for address in (memory + 2, 0, 0x1234000, managed):
        assert status(cu.cuStreamWriteValue32(stream, address, 1, 0)) == INVALID_VALUE
    assert status(cu.cuStreamWriteValue64(stream, memory + 4, 1, 0)) == INVALID_VALUE
    assert status(cu.cuStreamWriteValue32(stream, memory + 4, 1, 2)) == INVALID_VALUE
    assert status(cu.cuStreamWaitValue32(stream, memory, 0, 4)) == INVALID_VALUE
    assert status(cu.cuStreamWaitValue32(stream, memory, 0, 1 << 30)) in (0, NOT_SUPPORTED)
    ok(cu.cuStreamWriteValue32(stream, memory + 4, 1, 0))
    ok(cu.cuStreamWaitValue32(stream, memory + 4, 1, EQ))
    ok(cu.cuMemFree(managed))
