"""Questions about devices, links, cliques and entries: what is asked for must exist."""

import ctypes
import os
import resource

import pytest
from builders import accepted, ask, memory, raw, refused
from cuda.bindings import driver as v1
from cuda.bindings._v2 import driver

from cumulticast import sim

DEVICES = pytest.mark.parametrize("dev", [-1, 8, 1 << 30])


@pytest.fixture(autouse=True)
def eight(start) -> None:
    start("hgx-h100-8", profile="strict")


@DEVICES
def test_devices_that_do_not_exist(dev: int) -> None:
    attribute = driver.DeviceAttribute.MULTICAST_SUPPORTED
    calls = [
        (driver.device_get, dev),
        (driver.device_get_name, 80, dev),
        (driver.device_get_attribute, attribute, dev),
        (driver.device_total_mem_v2, dev),
        (driver.device_get_uuid_v2, dev),
        (driver.device_primary_ctx_retain, dev),
        (driver.device_get_clique_count, dev),
    ]
    for call, *args in calls:
        assert refused(call, *args) == (101, "MC004"), call.__name__
        assert accepted(call, *args[:-1], 7) == "", call.__name__
    driver.device_primary_ctx_release_v2(7)


@pytest.mark.parametrize("attribute", [0, -1, 99_999])
def test_attributes_that_do_not_exist(attribute: int) -> None:
    assert refused(driver.device_get_attribute, attribute, 0) == (1, "MC101")
    assert driver.device_get_attribute(driver.DeviceAttribute.COMPUTE_CAPABILITY_MAJOR, 0) == 9


def test_bus_ids() -> None:
    bus_id = driver.device_get_pci_bus_id(80, 3).rstrip(b"\0")
    assert driver.device_get_by_pci_bus_id(bus_id) == 3
    assert refused(driver.device_get_by_pci_bus_id, b"nonsense") == (1, "MC103")
    assert refused(driver.device_get_by_pci_bus_id, b"ffff:ff:1f.0") == (101, "MC104")
    assert refused(driver.device_get_pci_bus_id, len(bus_id), 3) == (1, "MC102")
    assert accepted(driver.device_get_pci_bus_id, len(bus_id) + 1, 3) == ""


def test_links() -> None:
    query = driver.device_get_p2p_attribute
    assert refused(query, 1, 2, 2) == (101, "MC110")
    assert refused(query, 1, 2, 8) == (101, "MC110")
    assert refused(query, 77, 2, 3) == (1, "MC111")
    assert query(driver.DeviceP2PAttribute.ACCESS_SUPPORTED, 2, 3) == 1


def test_cliques() -> None:
    count = driver.device_get_clique_count(0)
    assert accepted(driver.device_get_clique_info, 0) == ""
    answer = ask(v1.cuDeviceGetCliqueInfo, count - 1, 0)
    assert (answer.status, answer.found) == (0, ("MC121",))
    assert ask(v1.cuDeviceGetCliqueInfo, count, 0).found == ()


def test_error_names() -> None:
    assert driver.get_error_name(719) == "CUDA_ERROR_LAUNCH_FAILED"
    assert refused(driver.get_error_name, 123_456) == (1, "MC011")


def test_entries_that_are_newer_than_the_driver() -> None:
    found, status = ctypes.c_void_p(), ctypes.c_int(77)
    ask_for = raw("cuGetProcAddress_v2")
    arguments = ctypes.byref(found), 99_990, ctypes.c_uint64(0), ctypes.byref(status)
    assert refused(ask_for_named, ask_for, *arguments) == (1, "MC012")
    arguments = ctypes.byref(found), 12_010, ctypes.c_uint64(0), ctypes.byref(status)
    assert accepted(ask_for_named, ask_for, *arguments) == ""
    assert found.value
    assert status.value == 0


def ask_for_named(function, *arguments):
    """Ask for cuMulticastBindMem; a status other than 0 becomes the bindings' exception."""
    status = function(b"cuMulticastBindMem", *arguments)
    if status:
        raise driver.DriverError(status)


def test_entries_that_are_not_simulated() -> None:
    assert refused(driver.logical_endpoint_id_reserve, 1) == (801, "MC008")


def test_machines_without_a_fabric(start) -> None:
    sim.stop()
    start("pcie-h100-2")
    assert refused(driver.device_get_clique_count, 0) == (801, "MC120")
    assert refused(driver.device_get_clique_info, 0) == (801, "MC120")
    assert refused(driver.device_get_fabric_cluster_uuid, 0) == (801, "MC120")


def test_a_host_without_room() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    full = os.dup(0)  # the lowest descriptor that is free
    os.close(full)
    resource.setrlimit(resource.RLIMIT_NOFILE, (full, hard))
    try:
        assert refused(memory) == (2, "MC346")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert accepted(memory) == ""


def test_a_forked_child_has_no_driver() -> None:
    mem = memory()
    child = os.fork()
    if not child:
        statuses = [
            ask_in_child(driver.device_get_count),
            ask_in_child(driver.init, 0),
            ask_in_child(driver.mem_release, mem),
        ]
        os._exit(0 if statuses == [3, 3, 3] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert accepted(driver.mem_release, mem) == ""


def ask_in_child(call, *args) -> int:
    """Answer the status alone: a child has no simulator to ask for reasons."""
    try:
        call(*args)
    except driver.DriverError as error:
        return int(error.status)
    return 0
