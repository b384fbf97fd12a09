"""What the system around the GPUs answers: Fabric Manager, illegal states, IMEX channels."""

import time

import pytest
from builders import STEP, Bind, accepted, memory, piece, refused, reserve, team
from cuda.bindings._v2 import driver

from cumulticast import sim

bind = driver.multicast_bind_mem


def test_a_stopped_fabric_manager(start, bind: Bind) -> None:
    start(devices=2, faults=["fm=stopped"])
    mc, mem, ptr = team(), piece(), reserve()  # creating and adding go on
    assert refused(bind, mc, 0, mem) == (802, "MC343")
    assert refused(driver.mem_map, ptr, STEP, 0, mc, 0) == (401, "MC508")  # its answers have no 802
    sim.faults.clear()
    assert accepted(bind, mc, 0, mem) == ""
    assert accepted(driver.mem_map, ptr, STEP, 0, mc, 0) == ""


@pytest.mark.parametrize("fault", ["state=illegal", "fm=restarted"])
def test_an_illegal_state(start, bind: Bind, fault: str) -> None:
    start(devices=2, faults=[fault])
    mc, mem, ptr = team(), piece(), reserve()
    assert refused(bind, mc, 0, mem) == (401, "MC344")
    assert refused(driver.mem_map, ptr, STEP, 0, mc, 0) == (401, "MC508")
    sim.faults.clear(fault)
    assert accepted(bind, mc, 0, mem) == ""
    assert accepted(driver.mem_map, ptr, STEP, 0, mc, 0) == ""


def test_older_drivers_say_invalid_value_after_a_restart(start, bind: Bind) -> None:
    start(devices=2, faults=["fm=restarted:1"])
    mc, mem, ptr = team(), piece(), reserve()
    assert refused(bind, mc, 0, mem) == (1, "MC344")
    assert refused(driver.mem_map, ptr, STEP, 0, mc, 0) == (1, "MC508")
    sim.faults.set("fm=restarted")
    assert refused(bind, mc, 0, mem) == (401, "MC344")


def test_what_the_caller_got_wrong_comes_first(start) -> None:
    start(devices=2, profile="strict", faults=["fm=stopped"])
    assert refused(bind, team(), 0, memory(), 0, 2 * STEP, 0) == (1, "MC310")


def test_a_fabric_manager_that_never_ran() -> None:
    sim.start(devices=2, faults=["fm=never"])
    try:
        assert refused(driver.init, 0) == (802, "MC013")
        with pytest.raises(driver.NotInitializedError):
            driver.device_get_count()
        sim.faults.clear()
        assert accepted(driver.init, 0) == ""
    finally:
        sim.stop()


def test_a_fabric_manager_that_is_starting(start) -> None:
    start(devices=2)
    mc, mem = team(), memory()
    sim.faults.set("fm=starting:0.3")
    assert refused(bind, mc, 0, mem, 0, STEP, 0) == (802, "MC343")
    time.sleep(0.35)
    assert accepted(bind, mc, 0, mem, 0, STEP, 0) == ""


def test_plain_memory_needs_none_of_it(start) -> None:
    start(devices=2, faults=["fm=stopped", "state=illegal", "imex=none"])
    mem, ptr = memory(), reserve()
    assert accepted(driver.mem_map, ptr, STEP, 0, mem, 0) == ""
    assert team()
