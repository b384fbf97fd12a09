"""Fabric information in every version, following the machine and its faults."""

from __future__ import annotations

import ctypes
import struct
import time

import pytest
from nvml_here import handles, initialised

from cumulticast.libnvml import serve
from cumulticast.testing import CudaMachine

NOT_SUPPORTED, NOT_STARTED, IN_PROGRESS, COMPLETED = range(4)


def told(nvml) -> list[tuple[int, int, int]]:
    found = [nvml.device_get_gpu_fabric_info_v(handle) for handle in handles(nvml)]
    return [(int(one.state), one.clique_id, int(one.health_summary)) for one in found]


def test_a_healthy_fabric(cuda_machine: CudaMachine) -> None:
    with initialised() as nvml:
        assert told(nvml) == [(COMPLETED, 0, 1)] * 8
        info = nvml.device_get_gpu_fabric_info_v4(handles(nvml)[0])
        assert info.num_cliques == 2
        assert (int(info.state), int(info.health_summary)) == (COMPLETED, 1)
        assert not any(info.cluster_uuid)


def test_every_clique_type_is_told_in_order(cuda_machine: CudaMachine) -> None:
    """Read the structure itself: cuda.bindings 13.5.0 shows the first clique alone."""
    cuda_machine.faults.set("cliques=4,4")
    with initialised() as nvml:
        library, buffer = ctypes.CDLL(str(serve.library_path())), ctypes.create_string_buffer(548)
        assert library.nvmlDeviceGetGpuFabricInfo_v4(ctypes.c_void_p(handles(nvml)[7]), buffer) == 0
    cliques = [struct.unpack_from("B3xI", buffer, 20 + 8 * k) for k in range(3)]
    assert cliques == [(0, 1), (1, 1), (0, 0)]
    assert struct.unpack_from("IB3xIB", buffer, 20 + 8 * 64)[:2] == (2, COMPLETED)


@pytest.mark.cuda_machine(machine="gb200-nvl72", nodes=2)
def test_a_fabric_over_nodes_has_a_cluster(cuda_machine: CudaMachine) -> None:
    with initialised() as nvml:
        found = [nvml.device_get_gpu_fabric_info_v(handle) for handle in handles(nvml)]
        assert {bytes(one.cluster_uuid) for one in found} == {cuda_machine.driver.machine.device(0).cluster_uuid}
        assert any(found[0].cluster_uuid)
        assert nvml.device_get_gpu_fabric_info_v4(handles(nvml)[0]).num_cliques == 4


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ("fm=stopped", NOT_STARTED),
        ("fm=never", NOT_STARTED),
        ("fm=starting:60", IN_PROGRESS),
        ("fm=stalled:60", COMPLETED),
        ("fm=restarted", COMPLETED),  # a stale registration shows nowhere
        ("state=illegal", COMPLETED),
        ("slots=128", COMPLETED),
    ],
)
def test_a_fault_shows_in_the_state(cuda_machine: CudaMachine, fault: str, state: int) -> None:
    with initialised() as nvml:
        cuda_machine.faults.set(fault)
        assert {one[0] for one in told(nvml)} == {state}
        cuda_machine.faults.clear()
        assert {one[0] for one in told(nvml)} == {COMPLETED}


def test_a_start_is_over_in_time(cuda_machine: CudaMachine) -> None:
    with initialised() as nvml:
        cuda_machine.faults.set("fm=starting:0.5")
        assert told(nvml)[0][0] == IN_PROGRESS
        time.sleep(0.6)
        assert told(nvml)[0][0] == COMPLETED


def test_cliques_follow_the_fault(cuda_machine: CudaMachine) -> None:
    with initialised() as nvml:
        cuda_machine.faults.set("cliques=6,2")
        assert [clique for _, clique, _ in told(nvml)] == [0] * 6 + [1] * 2


@pytest.mark.cuda_machine(machine="hgx-a100-8")
def test_a_board_without_a_fabric(cuda_machine: CudaMachine) -> None:
    with initialised() as nvml:
        assert told(nvml)[0] == (NOT_SUPPORTED, 0, 0)


def test_the_versions_agree_and_unknown_ones_are_refused(cuda_machine: CudaMachine) -> None:
    import pynvml

    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        old = pynvml.c_nvmlGpuFabricInfo_t()
        assert pynvml.nvmlDeviceGetGpuFabricInfo(handle, pynvml.byref(old)) == 0
        second = pynvml.c_nvmlGpuFabricInfo_v2_t()
        assert pynvml.nvmlDeviceGetGpuFabricInfoV(handle, pynvml.byref(second)) == 0
        assert (old.state, old.cliqueId, old.status) == (second.state, second.cliqueId, second.status)
        second.version = pynvml.sizeof(second) | 9 << 24
        with pytest.raises(pynvml.NVMLError_ArgumentVersionMismatch):
            pynvml.nvmlDeviceGetGpuFabricInfoV(handle, pynvml.byref(second))
    finally:
        pynvml.nvmlShutdown()
