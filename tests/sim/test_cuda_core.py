"""cuda.core 1.2.2, unmodified: devices, streams, events, buffers, mapped memory."""

import ctypes

import pytest
from cuda.bindings import driver as cu

import cumulticast.sim as sim
from answers import ok, status
from cumulticast.testing.leaks import left_behind

core = pytest.importorskip("cuda.core")
MIB = 1 << 20


@pytest.fixture(scope="module")
def device():
    """Make device 0 current; one machine for all tests, since cuda.core keeps a context it once retained for ever."""
    sim.start(machine="hgx-h100-8")
    try:
        found = core.Device(0)
        found.set_current()
        yield found
        left = left_behind(sim.current())
        ok(cu.cuCtxSetCurrent(0))
    finally:
        sim.stop()
    assert not left, f"the tests left {', '.join(map(str, left))}"


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
