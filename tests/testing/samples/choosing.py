"""What the marker may say, where it may stand, and what the fixture gives."""

from __future__ import annotations

from typing import Any

import pytest
from cuda.bindings._v2 import driver
from leaking import bound

from cumulticast import sim

pytestmark = pytest.mark.cuda_machine(devices=4)


def test_module(cuda_machine: Any) -> None:
    driver.init(0)
    assert (cuda_machine.machine, cuda_machine.devices, cuda_machine.nodes) == ("hgx-h100-8", 4, 1)
    assert driver.device_get_count() == 4
    assert cuda_machine.world().machine == "hgx-h100-8"
    assert cuda_machine.profile == "hardware"


@pytest.mark.cuda_machine(machine="hgx-b200-8", profile="strict", faults=["slots=128"])
class TestNearer:
    def test_class(self, cuda_machine: Any) -> None:
        assert (cuda_machine.machine, cuda_machine.devices) == ("hgx-b200-8", 4)
        assert (cuda_machine.profile, cuda_machine.faults.specs) == ("strict", ("slots=128",))

    @pytest.mark.cuda_machine(devices=2)
    def test_function(self, cuda_machine: Any) -> None:
        assert (cuda_machine.machine, cuda_machine.devices) == ("hgx-b200-8", 2)


def test_faults_set_and_cleared(cuda_machine: Any) -> None:
    driver.init(0)
    prop = driver.MemAllocationProp_v1()
    prop.type, prop.location.type = 1, 1
    cuda_machine.faults.set("fail:cuMemCreate:status=2")
    with pytest.raises(driver.OutOfMemoryError):
        driver.mem_create(2 << 20, prop, 0)
    assert "injected fault" in cuda_machine.log[0]
    cuda_machine.faults.clear()
    handle = driver.mem_create(2 << 20, prop, 0)
    assert [str(leak).partition(",")[0] for leak in cuda_machine.leaks()] == [
        f"handle {handle:#x} of memory on device 0"
    ]
    driver.mem_release(handle)
    assert cuda_machine.leaks() == []


def test_findings(cuda_machine: Any) -> None:
    driver.init(0)
    assert cuda_machine.findings == []
    give_back = bound()
    assert [finding.call for finding in cuda_machine.findings] == ["cuMemRelease"]
    assert "multicast" in cuda_machine.findings[0].message
    give_back()


@pytest.mark.cuda_machine(device=2)
def test_unknown_keyword(cuda_machine: Any) -> None: ...


@pytest.mark.cuda_machine("hgx-h100-8")
def test_positional(cuda_machine: Any) -> None: ...


@pytest.mark.cuda_machine(machine="hgx-h100-9")
def test_unknown_machine(cuda_machine: Any) -> None: ...


@pytest.mark.cuda_machine(devices=9)
def test_too_many(cuda_machine: Any) -> None: ...


@pytest.mark.cuda_machine(faults=["slot=1"])
def test_unknown_fault(cuda_machine: Any) -> None: ...


@pytest.mark.cuda_machine(faults="slots=1")
def test_faults_string(cuda_machine: Any) -> None: ...


@pytest.mark.cuda_machine(leaks="maybe")
def test_unknown_leaks(cuda_machine: Any) -> None: ...


@pytest.fixture
def running() -> Any:
    sim.start("hgx-h100-8")
    yield
    sim.stop()


def test_second_machine(running: None, cuda_machine: Any) -> None: ...
