"""Devices, memory, links and topology, as cuda.bindings.nvml reads them from the simulated machine."""

from __future__ import annotations

import pytest
from nvml_here import handles, initialised

from answers import ok
from cumulticast.sim.driver import Driver
from cumulticast.testing import CudaMachine

MIB = 1 << 20


def test_a_device_is_the_same_to_nvml_and_to_cuda(machine: Driver) -> None:
    from cuda.bindings import driver as cu

    with initialised() as nvml:
        found = handles(nvml)
        assert len(found) == ok(cu.cuDeviceGetCount()) == 8
        for k, handle in enumerate(found):
            uuid = "GPU-" + bytes(ok(cu.cuDeviceGetUuid(k)).bytes).hex()
            assert nvml.device_get_uuid(handle).replace("-", "") == uuid.replace("-", "")
            assert nvml.device_get_name(handle) == ok(cu.cuDeviceGetName(64, k)).rstrip(b"\0").decode()
            pci = nvml.device_get_pci_info_v3(handle)
            assert pci.bus_id.lower().endswith(ok(cu.cuDeviceGetPCIBusId(13, k)).rstrip(b"\0").decode().lower())
            assert tuple(nvml.device_get_cuda_compute_capability(handle)) == (9, 0)


def test_every_way_to_a_handle_leads_to_the_same(machine: Driver) -> None:
    with initialised() as nvml:
        for k, handle in enumerate(handles(nvml)):
            assert nvml.device_get_index(handle) == k
            assert nvml.device_get_handle_by_uuid(nvml.device_get_uuid(handle)) == handle
            assert nvml.device_get_handle_by_serial(nvml.device_get_serial(handle)) == handle
            assert nvml.device_get_handle_by_pci_bus_id_v2(nvml.device_get_pci_info_v3(handle).bus_id) == handle


def test_memory_is_that_of_the_books(machine: Driver, context: int) -> None:
    from cuda.bindings import driver as cu

    with initialised() as nvml:
        first, second, *_ = handles(nvml)
        before = [nvml.device_get_memory_info_v2(handle) for handle in (first, second)]
        assert before[0].free == machine.machine.total_memory
        assert before[0].total == before[0].free + before[0].reserved
        held = ok(cu.cuMemAlloc(64 * MIB))
        after = [nvml.device_get_memory_info_v2(handle) for handle in (first, second)]
        assert (after[0].used, after[0].free) == (64 * MIB, before[0].free - 64 * MIB)
        assert (after[1].used, after[1].free) == (before[1].used, before[1].free)
        processes = nvml.device_get_compute_running_processes_v3(first)
        assert [(one.pid, one.used_gpu_memory) for one in processes] == [(machine.pid, 64 * MIB)]
        ok(cu.cuMemFree(held))
        assert nvml.device_get_memory_info_v2(first).used == 0


def test_links_lead_to_switches(machine: Driver) -> None:
    with initialised() as nvml:
        handle = handles(nvml)[0]
        assert [int(nvml.device_get_nvlink_state(handle, link)) for link in range(18)] == [1] * 18
        with pytest.raises(nvml.NotSupportedError):
            nvml.device_get_nvlink_state(handle, 18)
        assert int(nvml.device_get_nvlink_version(handle, 17)) == 4
        assert {int(nvml.device_get_nvlink_remote_device_type(handle, k)) for k in range(18)} == {2}
        ends = {nvml.device_get_nvlink_remote_pci_info_v2(handle, k).bus_id for k in range(18)}
        assert len(ends) == 4


@pytest.mark.cuda_machine(machine="pcie-h100-2")
def test_a_bridge_leads_to_the_other_board(cuda_machine: CudaMachine) -> None:
    with initialised() as nvml:
        one, other = handles(nvml)
        assert int(nvml.device_get_nvlink_remote_device_type(one, 11)) == 0
        end = nvml.device_get_nvlink_remote_pci_info_v2(one, 11)
        assert end.bus_id == nvml.device_get_pci_info_v3(other).bus_id
        with pytest.raises(nvml.NotSupportedError):
            nvml.device_get_nvlink_state(one, 12)


def test_topology_knows_sockets_and_peers(machine: Driver) -> None:
    with initialised() as nvml:
        first, second, *_, last = handles(nvml)
        assert int(nvml.device_get_topology_common_ancestor(first, second)) == 40
        assert int(nvml.device_get_topology_common_ancestor(first, last)) == 50
        with pytest.raises(nvml.NotSupportedError):
            nvml.device_get_topology_common_ancestor(first, first)
        assert int(nvml.device_get_p2p_status(first, last, 2)) == 0
        assert int(nvml.device_get_p2p_status(first, last, 4)) == 5  # by NVLink, not by PCIe
        nearest = nvml.device_get_topology_nearest_gpus(first, 40)
        assert len(nearest) == 3


@pytest.mark.cuda_machine(machine="gb200-nvl72", nodes=2)
def test_nvml_sees_one_node(cuda_machine: CudaMachine) -> None:
    with initialised() as nvml:
        assert nvml.device_get_count_v2() == 4
        with pytest.raises(nvml.NotSupportedError):
            nvml.device_get_nvlink_remote_pci_info_v2(handles(nvml)[0], 0)


def test_a_machine_that_stopped_is_lost(cuda_machine: CudaMachine) -> None:
    from cumulticast import sim

    with initialised() as nvml:
        handle = handles(nvml)[0]
        assert nvml.device_get_memory_info_v2(handle).total
        sim.reset()
        with pytest.raises(nvml.UninitializedError):  # another machine, which nobody has initialised yet
            nvml.device_get_memory_info_v2(handle)
        nvml.init_v2()
        assert nvml.device_get_memory_info_v2(handles(nvml)[0]).total
