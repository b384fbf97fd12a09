"""Binds: where they go, by handle and by address, with and without the calls that name a device, and aligned or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver as cu
from cuda.core import Buffer, Device, VirtualMemoryResource
from driver_calls import noted

from answers import ok
from cumulticast import MulticastObject, PhysicalMemory, driver, multimem, sim
from cumulticast.testing import CudaMachine

STEP = 2 << 20
RUBIN = pytest.mark.cuda_machine(machine="rubin-nvl72")

pytestmark = pytest.mark.usefixtures("cuda_machine")


@pytest.fixture
def mc() -> Iterator[MulticastObject]:
    """An object of the devices 0 and 1, with room for four granules."""
    with MulticastObject.create([0, 1], 4 * STEP) as made:
        yield made


@pytest.fixture
def memory() -> Iterator[PhysicalMemory]:
    """Two granules of device 0."""
    with PhysicalMemory.create(0, 2 * STEP) as made:
        yield made


@pytest.fixture
def old_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver of CUDA 13.0: it has no binds that name a device."""

    def absent(*_: Any) -> None:
        raise AssertionError("this driver has no such call")

    monkeypatch.setattr(driver, "driver_get_version", lambda: 13000)
    monkeypatch.setattr(driver, "multicast_bind_mem_v2", absent)
    monkeypatch.setattr(driver, "multicast_bind_addr_v2", absent)


def bound() -> list[tuple[int, int, int]]:
    """Answer what the driver says is bound: device, place in the object, bytes."""
    return [(piece.device, piece.mc_offset, piece.size) for mc in sim.world().multicast for piece in mc.bindings]


def test_memory_is_bound_whole_at_the_first_free_place(mc: MulticastObject, memory: PhysicalMemory) -> None:
    first = mc.bind_memory(memory)
    assert (first.device, first.mc_offset, first.size, first.occupied) == (0, 0, 2 * STEP, 2 * STEP)
    with PhysicalMemory.create(1, STEP) as other:
        assert mc.bind_memory(other).mc_offset == 0  # each device has its own places
        with mc.bind_memory(memory, size=STEP) as second:
            assert second.mc_offset == 2 * STEP
            assert bound() == [(0, 0, 2 * STEP), (0, 2 * STEP, STEP), (1, 0, STEP)]
        assert bound() == [(0, 0, 2 * STEP), (1, 0, STEP)]


def test_pieces_go_where_they_are_told_to(mc: MulticastObject, memory: PhysicalMemory) -> None:
    binding = mc.bind_memory(memory, mc_offset=2 * STEP, mem_offset=STEP, size=STEP)
    assert bound() == [(0, 2 * STEP, STEP)]
    binding.unbind()
    binding.unbind()
    assert bound() == [] and mc.bindings == [] and memory.bindings == []


def test_a_hole_is_filled_if_it_is_large_enough(mc: MulticastObject, memory: PhysicalMemory) -> None:
    first, _ = (mc.bind_memory(memory, size=STEP) for _ in range(2))
    mc.bind_memory(memory, mc_offset=3 * STEP, size=STEP)
    first.unbind()
    assert (mc.free_offset(0, STEP), mc.free_offset(0, 2 * STEP), mc.free_offset(1, 4 * STEP)) == (0, 4 * STEP, 0)
    assert mc.bind_memory(memory, size=STEP).mc_offset == 0
    assert mc.bind_memory(memory, size=STEP).mc_offset == 2 * STEP


def test_a_full_object_is_told(mc: MulticastObject, memory: PhysicalMemory) -> None:
    for _ in range(2):
        mc.bind_memory(memory)
    with pytest.raises(
        ValueError, match=f"no room for {2 * STEP} bytes .* the first place is at {4 * STEP}, where 0 are"
    ):
        mc.bind_memory(memory)
    assert bound() == [(0, 0, 2 * STEP), (0, 2 * STEP, 2 * STEP)]
    assert len(mc.bindings) == len(memory.bindings) == 2


def test_a_drivers_handle_is_bound_with_its_size(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with pytest.raises(TypeError, match="needs size"):
        mc.bind_memory(memory.handle)
    mc.bind_memory(memory.handle, size=STEP)
    assert bound() == [(0, 0, STEP)]


def test_memory_larger_than_the_object_is_told_what_fits(memory: PhysicalMemory) -> None:
    with MulticastObject.create([0, 1], STEP) as small:
        with pytest.raises(ValueError, match=f"no room for {2 * STEP} bytes .* is at 0, where {STEP} are left"):
            small.bind_memory(memory)
        assert small.bind_memory(memory, size=STEP).size == STEP


def test_a_mapping_is_bound_by_its_address(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with memory.map() as mapping:
        with pytest.raises(TypeError, match="a Mapping is no PhysicalMemory: bind_address binds"):
            mc.bind_memory(mapping)  # type: ignore[arg-type]
        assert mc.bind_address(mapping).size == 2 * STEP
        assert mc.bind_address(mapping, STEP).mc_offset == 2 * STEP
        assert bound() == [(0, 0, 2 * STEP), (0, 2 * STEP, STEP)]
    with pytest.raises(ValueError, match="closed"):
        mc.bind_address(mapping)


def test_a_buffer_is_no_memory(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with memory.map() as mapping:
        buffer = Buffer.from_handle(mapping.ptr, mapping.size)
        for size in None, STEP:
            with pytest.raises(TypeError, match="a Buffer is no PhysicalMemory: bind_address binds"):
                mc.bind_memory(buffer, size=size)  # type: ignore[arg-type]
        mc.bind_address(buffer)
        assert bound() == [(0, 0, 2 * STEP)]


@pytest.mark.parametrize("size", [0, -STEP])
def test_a_size_that_is_not_positive_is_refused(mc: MulticastObject, memory: PhysicalMemory, size: int) -> None:
    with pytest.raises(ValueError, match=f"size {size}: at least 1 byte"):
        mc.bind_memory(memory, size=size)


@pytest.mark.parametrize("offset", [-STEP, 2 * STEP, 3 * STEP])
def test_a_place_outside_of_the_memory_is_named_with_the_last_inside(
    mc: MulticastObject, memory: PhysicalMemory, offset: int
) -> None:
    with pytest.raises(ValueError, match=f"mem_offset {offset}: .* 0 to {2 * STEP - 1}"):
        mc.bind_memory(memory, mem_offset=offset)
    assert mc.bind_memory(memory, mem_offset=STEP).size == STEP


def test_sizes_off_the_granularity_are_refused_by_the_driver(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with pytest.raises(driver.InvalidValueError) as caught:
        mc.bind_memory(memory, size=STEP + 1)
    assert caught.value.__notes__[0].startswith("MC304") and str(2 * STEP) in caught.value.__notes__[0]
    assert mc.bindings == memory.bindings == []


# ---- which call


def test_a_named_device_goes_by_the_v2_calls(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with memory.map() as mapping, noted() as made:
        mc.bind_memory(memory, device=Device(0), size=STEP).close()
        mc.bind_memory(memory, size=STEP).close()
        mc.bind_address(mapping.ptr, STEP, device=0).close()
        mc.bind_address(mapping.ptr, STEP).close()
    binds = [name for name in made if "MulticastBind" in name]
    assert binds == ["cuMulticastBindMem_v2", "cuMulticastBindMem", "cuMulticastBindAddr_v2", "cuMulticastBindAddr"]


def test_memory_of_another_device_is_the_drivers_to_judge(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with pytest.raises(driver.DriverError):
        mc.bind_memory(memory, device=3)  # no member
    assert mc.bindings == []


@pytest.mark.usefixtures("old_driver")
def test_an_old_driver_binds_by_the_first_forms(mc: MulticastObject, memory: PhysicalMemory) -> None:
    assert mc.bind_memory(memory, device=0, size=STEP).device == 0
    with memory.map() as mapping:
        assert mc.bind_address(mapping.ptr + STEP, STEP, device=0).mc_offset == STEP
    with pytest.raises(ValueError, match=r"device 1 cannot be given the memory of device 0 .* CUDA 13\.1"):
        mc.bind_memory(memory, device=1, size=STEP)
    assert bound() == [(0, 0, STEP), (0, STEP, STEP)]


@pytest.mark.cuda_machine(machine="h200-vm-1")
def test_a_driver_of_13_0_has_no_v2_calls() -> None:
    from cumulticast.team.binding import has_v2

    driver.init(0)
    assert driver.driver_get_version() == 13000 and not has_v2()
    with PhysicalMemory.create(0, STEP) as memory, memory.map() as mapping:
        assert mapping.size == STEP


def test_a_driver_of_13_1_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from cumulticast.team.binding import has_v2

    monkeypatch.setattr(driver, "driver_get_version", lambda: 13010)
    assert has_v2()


# ---- by address


def test_addresses_and_buffers_are_bound(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with memory.map([0, 1]) as mapping, PhysicalMemory.create(1, STEP) as other:
        mc.bind_address(mapping.ptr + STEP, STEP)
        mc.bind_memory(other)
        with mc.map([0, 1], size=STEP) as shown:
            cu_context = ok(cu.cuDevicePrimaryCtxRetain(0))
            ok(cu.cuCtxSetCurrent(cu_context))
            multimem.store(shown.ptr, np.arange(8, dtype=np.float32))
            seen = np.zeros(8, np.float32)
            driver.memcpy_dtoh_v2(seen.ctypes.data, mapping.ptr + STEP, seen.nbytes)
            ok(cu.cuCtxSetCurrent(0))
            ok(cu.cuDevicePrimaryCtxRelease(0))
        assert seen.tolist() == list(range(8))


@pytest.mark.cuda_machine(leaks="ignore")  # cuda.core 1.2 retains a handle when it frees, and releases it once
def test_a_buffer_of_cuda_core_brings_its_size() -> None:
    mc = MulticastObject.create([4, 5], 4 * STEP)
    device = Device(5)  # cuda.core keeps its context for as long as the process lives: no other test has this one
    device.set_current()
    buffer = VirtualMemoryResource(device).allocate(2 * STEP)
    try:
        assert mc.bind_address(buffer).size == 2 * STEP
        assert mc.bind_address(buffer, STEP).mc_offset == 2 * STEP
    finally:
        mc.close()
        buffer.close()


def test_an_address_needs_a_size_and_memory_behind_it(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with memory.map() as mapping:
        with pytest.raises(TypeError, match="needs a size"):
            mc.bind_address(mapping.ptr)
        with pytest.raises(TypeError):
            mc.bind_address("0x1000", STEP)
    with pytest.raises(driver.DriverError):
        mc.bind_address(0x1000, STEP)
    assert mc.bindings == []


# ---- memory inside of a granule


@RUBIN
def test_an_unaligned_bind_takes_one_granule_of_headroom(mc: MulticastObject, memory: PhysicalMemory) -> None:
    binding = mc.bind_memory(memory, mem_offset=256, size=STEP)
    assert (binding.size, binding.occupied, mc.free_offset(0, STEP)) == (STEP, 2 * STEP, 2 * STEP)
    assert mc.bind_memory(memory, size=STEP).mc_offset == 2 * STEP
    binding.unbind()
    assert mc.free_offset(0, 2 * STEP) == 0


@RUBIN
def test_an_unaligned_address_too(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with memory.map() as mapping:
        binding = mc.bind_address(mapping.ptr + 512, STEP)
        assert (binding.occupied, mc.free_offset(0, STEP)) == (2 * STEP, 2 * STEP)
        assert mc.bind_address(mapping.ptr + STEP, STEP).mc_offset == 2 * STEP


@pytest.mark.cuda_machine(machine="rubin-nvl72", profile="strict")
def test_the_last_place_of_an_unaligned_bind_has_its_headroom_inside(
    mc: MulticastObject, memory: PhysicalMemory
) -> None:
    with mc.bind_memory(memory, mc_offset=2 * STEP, mem_offset=256, size=STEP) as binding:
        assert binding.occupied == 2 * STEP
    with pytest.raises(driver.InvalidValueError) as caught:
        mc.bind_memory(memory, mc_offset=3 * STEP, mem_offset=256, size=STEP)
    assert caught.value.__notes__[0].startswith("MC362")


@RUBIN
def test_the_stock_of_unaligned_binds_is_told_and_given_back(
    mc: MulticastObject, memory: PhysicalMemory, cuda_machine: CudaMachine
) -> None:
    cuda_machine.faults.set("unaligned=1")
    first = mc.bind_memory(memory, mem_offset=256, size=STEP)
    with pytest.raises(driver.DriverError) as caught:
        mc.bind_memory(memory, mem_offset=256, size=STEP)
    assert (caught.value.status, len(mc.bindings)) == (47, 1)
    first.unbind()
    assert mc.bind_memory(memory, mem_offset=256, size=STEP).mc_offset == 0


def test_other_machines_refuse_memory_inside_of_a_granule(mc: MulticastObject, memory: PhysicalMemory) -> None:
    with pytest.raises(driver.InvalidValueError) as caught:
        mc.bind_memory(memory, mem_offset=256, size=STEP)
    assert "256" in caught.value.__notes__[0]


@pytest.mark.parametrize("device", [0, 1])
def test_an_object_of_recommended_granularity_takes_small_memory_side_by_side(device: int) -> None:
    """The driver asks for multiples of the minimum granularity only, whatever the object was rounded to."""
    with (
        MulticastObject.create([0, 1], 512 << 20, granularity="recommended") as mc,
        PhysicalMemory.create(device, STEP) as memory,
    ):
        assert [mc.bind_memory(memory).mc_offset for _ in range(3)] == [0, STEP, 2 * STEP]


@RUBIN
def test_what_is_aligned_to_the_minimum_granularity_needs_no_headroom() -> None:
    with (
        MulticastObject.create([0, 1], 512 << 20, granularity="recommended") as mc,
        PhysicalMemory.create(0, 2 * STEP) as memory,
    ):
        assert mc.bind_memory(memory, mem_offset=STEP, size=STEP).occupied == STEP
        assert mc.bind_memory(memory, mem_offset=256, size=STEP).occupied == 2 * STEP
