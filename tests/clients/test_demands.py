"""Demands that clients make of a driver and that the sequences beside this file do not show by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cuda.bindings import driver as v1
from cuda.bindings._v2 import driver

from cumulticast import sim

STEP = 2 << 20
FABRIC = v1.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_FABRIC


@pytest.fixture
def machine() -> Iterator[None]:
    sim.start(devices=2)
    driver.init(0)
    yield
    sim.stop()


def memory(types: int = 0) -> int:
    prop = driver.MemAllocationProp_v1()
    prop.type, prop.location.type, prop.requested_handle_types = 1, 1, types
    return int(driver.mem_create(STEP, prop, 0))


def ok(answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    assert status == v1.CUresult.CUDA_SUCCESS
    return values[0] if len(values) == 1 else values


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("as_what", [bytes, bytearray])
def test_a_fabric_handle_travels_as_its_64_bytes(as_what: type) -> None:
    handle = ok(v1.cuMemExportToShareableHandle(memory(8), FABRIC, 0))
    assert len(handle.data) == 64
    imported = ok(v1.cuMemImportFromShareableHandle(as_what(handle.data), FABRIC))
    assert int(ok(v1.cuMemGetAllocationPropertiesFromHandle(imported)).location.id) == 0


@pytest.mark.usefixtures("machine")
def test_an_unbind_for_another_device_fails_and_changes_nothing() -> None:
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 2, STEP
    mc = driver.multicast_create(prop)
    for device in range(2):
        driver.multicast_add_device(mc, device)
    driver.multicast_bind_mem(mc, 0, memory(), 0, STEP, 0)
    for device, error in ((1, driver.InvalidValueError), (-1, driver.InvalidDeviceError)):
        with pytest.raises(error):
            driver.multicast_unbind(mc, device, 0, STEP)
    assert len(sim.world().multicast[0].bindings) == 1
    driver.multicast_unbind(mc, 0, 0, STEP)
