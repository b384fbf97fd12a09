"""cuda.core 1.2.2, unmodified: devices, streams, events, buffers, mapped memory."""

import ctypes

import pytest
from cuda.bindings import driver as cu

from answers import ok, status

core = pytest.importorskip("cuda.core")
ORDINAL = 0  # see conftest.py
MIB = 1 << 20


def test_a_device_says_what_it_is(device):
    assert device.name == "NVIDIA H100 80GB HBM3"
    assert (device.compute_capability.major, device.compute_capability.minor) == (9, 0)
    assert device.properties.multicast_supported
    assert device.uuid.count("-") == 4


def test_streams_and_events_keep_order_and_time(device):
    stream = device.create_stream()
    timed = core.EventOptions(timing_enabled=True)
    first, last = stream.record(options=timed), stream.record(options=timed)
    stream.wait(first)
    last.sync()
    stream.sync()
    assert last.is_done
    assert 0 < last - first < 1000
    first.close(), last.close(), stream.close()


def test_buffers_are_filled_and_copied(device):
    stream, host = device.create_stream(), core.LegacyPinnedMemoryResource().allocate(MIB)
    one, other = device.allocate(MIB, stream=stream), device.allocate(MIB, stream=stream)
    assert one.is_device_accessible
    assert not one.is_host_accessible
    one.fill(7, stream=stream)
    other.copy_from(one, stream=stream)
    host.copy_from(other, stream=stream)
    stream.sync()
    assert ctypes.string_at(int(host.handle), MIB) == b"\7" * MIB
    for buffer in (one, other, host):
        buffer.close(stream)
    stream.close()


def test_mapped_memory_loses_a_reference_as_upstream_does(device):
    """VirtualMemoryResource retains the handle to release it, and releases it once: NVIDIA/cuda-python #2344."""
    buffer = core.VirtualMemoryResource(device).allocate(3 * MIB)
    assert buffer.size == 4 * MIB
    ok(cu.cuMemsetD8(int(buffer.handle), 1, buffer.size))
    handle = ok(cu.cuMemRetainAllocationHandle(int(buffer.handle)))
    ok(cu.cuMemRelease(handle))
    buffer.close()
    assert status(cu.cuMemRelease(handle)) == 0  # what should have been gone
    assert status(cu.cuMemRelease(handle)) == 1
