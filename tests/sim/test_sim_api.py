"""cumulticast.sim: start, stop, reset, faults, findings; and what it refuses to do."""

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from cuda.bindings._v2 import driver

from cumulticast import sim
from cumulticast.sim.picture import Picture


@pytest.fixture(autouse=True)
def stopped():
    yield
    sim.stop()


def memory(size: int = 2 << 20) -> int:
    prop = driver.MemAllocationProp_v1()
    prop.type, prop.location.type = driver.MemAllocationType.PINNED, driver.MemLocationType.DEVICE
    return driver.mem_create(size, prop, 0)


# ---- starting and stopping


def test_starting_twice_is_refused() -> None:
    sim.start(devices=2)
    with pytest.raises(RuntimeError, match=r"runs in this process already; sim.stop\(\) it first, or sim.reset\(\)"):
        sim.start()
    driver.init(0)
    assert driver.device_get_count() == 2


def test_stop_start_again() -> None:
    sim.start(devices=2)
    driver.init(0)
    first, path = memory(), sim.world().path
    sim.stop()
    assert not path.exists()
    with pytest.raises(driver.NotInitializedError):
        driver.device_get_count()
    sim.stop()  # nothing more to do
    sim.start("gb200-nvl72")
    with pytest.raises(driver.NotInitializedError):
        driver.device_get_count()
    driver.init(0)
    assert driver.device_get_count() == 4
    with pytest.raises(driver.InvalidValueError):
        driver.mem_release(first)


def test_reset_keeps_the_options_and_nothing_else() -> None:
    sim.start(devices=3, profile="strict", faults=["slots=128"])
    driver.init(0)
    memory()
    sim.faults.set("imex=none")
    path = sim.world().path
    sim.reset()
    assert not path.exists()
    driver.init(0)
    assert driver.device_get_count() == 3
    assert sim.current().profile == "strict"
    assert sim.faults.specs == ("slots=128",)
    assert sim.world().allocations == ()
    assert sim.findings() == []


@pytest.mark.parametrize("use", [sim.reset, sim.current, sim.findings, sim.world, lambda: sim.faults])
def test_without_a_machine(use) -> None:
    with pytest.raises(RuntimeError, match="no simulated machine runs in this process"):
        use()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machine": "hgx-h100"}, "machine 'hgx-h100' is unknown; nearest hgx-h100-8"),
        ({"devices": 9}, "hgx-h100-8 has 8 devices per node: 9 is not between 1 and 8; nearest 8"),
        ({"devices": 0}, "0 is not between 1 and 8; nearest 1"),
        ({"nodes": 2}, "hgx-h100-8 has 1 nodes: 2 is not between 1 and 1; nearest 1"),
        ({"profile": "lax"}, "profile 'lax' is none of strict, hardware"),
        ({"hopeless": "never"}, "hopeless 'never' is none of fail, wait"),
        ({"faults": ["sluts=3"]}, "'sluts' is none of fm, state, imex, slots"),
    ],
)
def test_wrong_options_say_what_is_possible(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sim.start(**options)
    sim.start(devices=1)  # nothing is left of the attempt
    driver.init(0)


def test_another_libcuda_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "stub.c"
    source.write_text("int cuInit(unsigned flags) { return flags ? 1 : 0; }\n")
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, source], check=True)
    code = f"""
        import ctypes
        ctypes.CDLL({str(library)!r})
        import cumulticast.sim as sim
        try:
            sim.start()
        except RuntimeError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.startswith(f"another libcuda is loaded in this process ({library}); start the simulator before")
    assert done.stderr == ""


def test_the_library_has_a_path() -> None:
    assert sim.library_path().name == "libcuda.so.1"
    assert sim.library_path().is_file()


# ---- faults


def test_faults_are_set_and_cleared_while_it_runs() -> None:
    sim.start(devices=2, faults=["slots=100"])
    sim.faults.set("fm=stopped", "imex=none")
    assert set(sim.faults.specs) == {"slots=100", "fm=stopped", "imex=none"}
    sim.faults.set("fm=restarted")  # a state has one value
    assert set(sim.faults.specs) == {"slots=100", "fm=restarted", "imex=none"}
    sim.faults.clear("imex=none")
    assert set(sim.faults.specs) == {"slots=100", "fm=restarted"}
    sim.faults.clear()
    assert sim.faults.specs == ()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("slots", "'slots' is none of fm,"),
        ("slots=many", "slots= takes a whole number, not 'many'"),
        ("fm=slow", "fm='slow'; fm is one of stopped, never, starting, stalled, restarted"),
        ("fm=starting", "seconds are missing, such as fm=starting:2"),
        ("fm=starting:soon", "seconds are missing, such as fm=starting:2"),
        ("fm=restarted:7", "restarted takes no '7', only 1"),
        ("fm=stopped:7", "stopped takes no '7'"),
        ("cliques=a,b", "cliques= takes whole numbers such as 4,4, not 'a,b'"),
        ("fail:MulticastBindMem:status=1", "'MulticastBindMem' is no C name of a call"),
        ("fail:cuMemMap", "status= is missing"),
        ("fail:cuMemMap:status=77777", "'77777' is no CUresult"),
        ("fail:cuMemMap:status=NO_SUCH", "'NO_SUCH' is no CUresult"),
        ("fail:cuMemMap:seconds=1", "'seconds' is none of rank, nth, status"),
        ("delay:cuMemMap", "seconds= is missing"),
    ],
)
def test_faults_that_are_none(spec: str, message: str) -> None:
    sim.start(devices=1)
    with pytest.raises(ValueError, match=message):
        sim.faults.set(spec)
    assert sim.faults.specs == ()


def test_a_call_is_told_to_fail_the_nth_time() -> None:
    sim.start(devices=1, faults=["fail:cuMemCreate:nth=2:status=CUDA_ERROR_NOT_READY"])
    driver.init(0)
    memory()
    with pytest.raises(driver.NotReadyError):
        memory()
    memory()


def test_a_call_is_delayed() -> None:
    sim.start(devices=1, faults=["delay:cuMemCreate:seconds=0.2"])
    driver.init(0)
    begun = time.monotonic()
    memory()
    assert time.monotonic() - begun >= 0.2


# ---- findings


def test_findings_are_what_the_documents_do_not_promise() -> None:
    sim.start(devices=2)
    driver.init(0)
    assert sim.findings() == []
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 3, 2 << 20
    driver.multicast_create(prop)
    (finding,) = sim.findings()
    assert (finding.rule, finding.call) == ("MC209", "cuMulticastCreate")
    assert "3" in finding.message
    assert finding.at >= 0


# ---- pictures


def test_a_picture_of_a_team() -> None:
    sim.start(devices=2)
    driver.init(0)
    mem = memory()
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = 2, 4 << 20
    mc = driver.multicast_create(prop)
    driver.multicast_add_device(mc, 0)
    before = sim.world()
    assert (before.multicast[0].devices, before.multicast[0].missing, before.slots) == ((0,), 1, 0)
    driver.multicast_add_device(mc, 1)
    driver.multicast_bind_mem(mc, 2 << 20, mem, 0, 2 << 20, 0)
    after = sim.world()
    (obj,), (allocation,) = after.multicast, after.allocations
    assert (obj.size, obj.devices, obj.missing, obj.slot, after.slots) == (4 << 20, (0, 1), 0, True, 1)
    assert obj.bindings == allocation.bound
    (bound,) = obj.bindings
    assert (bound.device, bound.mc_offset, bound.size, bound.allocation) == (0, 2 << 20, 2 << 20, allocation.id)
    assert (allocation.size, allocation.location, allocation.device) == (2 << 20, "DEVICE", 0)
    assert [(device.id, device.used) for device in after.devices] == [(0, 2 << 20), (1, 0)]
    assert {device.total for device in after.devices} == {driver.device_total_mem_v2(0)}
    assert obj.holders == allocation.holders == tuple(process.pid for process in after.processes)
    assert before.multicast[0].missing == 1  # a picture does not change


def test_a_picture_is_read_only_and_goes_into_json() -> None:
    sim.start(devices=1)
    driver.init(0)
    memory()
    picture = sim.world()
    assert isinstance(picture, Picture)
    with pytest.raises(AttributeError):
        picture.machine = "another"  # type: ignore[misc]
    document = json.loads(json.dumps(picture.as_dict()))
    assert document["machine"] == "hgx-h100-8"
    assert document["path"] == str(picture.path)
    assert document["allocations"][0]["size"] == 2 << 20
