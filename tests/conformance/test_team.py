"""Objects and their teams: multicast_create, multicast_add_device, multicast_get_granularity."""

import pytest
from builders import FABRIC, MIB, PAGE, STEP, accepted, ask, bare_object, memory, object_prop, refused, team
from cuda.bindings import driver as v1
from cuda.bindings._v2 import driver

from cumulticast import sim

create, add = driver.multicast_create, driver.multicast_add_device


# ---- creating


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("size", [1, MIB, STEP - 1, STEP + 4096, (1 << 64) - 1])
def test_the_size_is_a_multiple_of_the_minimum(size: int) -> None:
    assert refused(create, object_prop(size=size)) == (1, "MC201")
    assert accepted(create, object_prop(size=STEP)) == ""


@pytest.mark.usefixtures("strict")
def test_size_zero() -> None:
    assert refused(create, object_prop(size=0)) == (1, "MC202")


@pytest.mark.usefixtures("strict")
def test_a_size_off_the_recommended_granularity_is_advised_against() -> None:
    assert accepted(create, object_prop(size=PAGE)) == ""
    assert accepted(create, object_prop(size=PAGE + STEP)) == "MC203"


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("devices", [0, 0xFFFF_FFFF])
def test_the_team_size(devices: int) -> None:
    assert refused(create, object_prop(devices)) == (1, "MC204")
    assert accepted(create, object_prop(1)) == ""


@pytest.mark.usefixtures("strict")
def test_a_team_larger_than_the_machine_is_only_remarkable() -> None:
    assert accepted(create, object_prop(2)) == ""
    assert accepted(create, object_prop(3)) == "MC209"


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("flags", [1, 1 << 63])
def test_flags_are_zero(flags: int) -> None:
    assert refused(create, object_prop(flags=flags)) == (1, "MC205")


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("types", [2, 4, 16, 1 << 40])
def test_handle_types_that_linux_lacks(types: int) -> None:
    assert refused(create, object_prop(handle_types=types)) == (801, "MC206")
    assert accepted(create, object_prop(handle_types=9)) == ""


@pytest.mark.usefixtures("strict")
def test_no_properties_at_all() -> None:
    assert refused(create, None) == (1, "MC003")
    assert refused(driver.multicast_get_granularity, None, 0) == (1, "MC003")


@pytest.mark.parametrize("machine", ["hgx-a100-8", "pcie-h100-2", "h200-vm-1"])
def test_machines_without_multicast(start, machine: str) -> None:
    start(machine)
    assert driver.device_get_attribute(driver.DeviceAttribute.MULTICAST_SUPPORTED, 0) == 0
    assert refused(create, object_prop(1)) == (801, "MC208")
    assert refused(driver.multicast_get_granularity, object_prop(1), 0) == (801, "MC208")


def test_a_fabric_object_needs_an_imex_channel(start) -> None:
    start(faults=["imex=none"])
    assert refused(create, object_prop(handle_types=FABRIC)) == (800, "MC604")
    assert accepted(create, object_prop(handle_types=1)) == ""


def test_a_fresh_object_holds_nothing(start) -> None:
    start()
    used = [device.used for device in sim.world().devices]
    bare_object(8, PAGE)
    assert [device.used for device in sim.world().devices] == used
    assert sim.world().slots == 0


# ---- the team


@pytest.mark.usefixtures("strict")
def test_a_device_is_added_once() -> None:
    mc = bare_object(2)
    assert accepted(add, mc, 0) == ""
    assert refused(add, mc, 0) == (1, "MC224")
    assert accepted(add, mc, 1) == ""


def test_no_more_devices_than_the_team_has(start) -> None:
    start(devices=4)
    mc = bare_object(2)
    assert accepted(add, mc, 0) == accepted(add, mc, 3) == ""
    assert refused(add, mc, 1) == (1, "MC223")
    assert refused(add, mc, 0) == (1, "MC223")  # the kernel driver looks for room first


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("dev", [2, 8, -1, 1 << 30])
def test_a_device_that_does_not_exist(dev: int) -> None:
    mc = bare_object(2)
    assert refused(add, mc, dev) == (101, "MC004")
    assert accepted(add, mc, 1) == ""


def test_a_device_of_another_clique(start) -> None:
    start(faults=["cliques=4,4"])
    mc = bare_object(2)
    assert accepted(add, mc, 5) == ""
    assert refused(add, mc, 3) == (101, "MC122")
    assert accepted(add, mc, 4) == ""


def test_the_cliques_that_can_be_asked_for_are_those_that_count(start) -> None:
    start(faults=["cliques=4,4"])
    ids = [{clique.id for clique in driver.device_get_clique_info(dev)} for dev in range(8)]
    assert ids[0] == ids[3] != ids[4] == ids[7]


@pytest.mark.usefixtures("strict")
def test_the_team_belongs_to_an_object() -> None:
    assert refused(add, 0, 0) == (1, "MC006")
    assert refused(add, memory(), 0) == (1, "MC220")
    released = bare_object()
    driver.mem_release(released)
    assert refused(add, released, 0) == (1, "MC007")
    assert accepted(add, bare_object(), 0) == ""


# ---- granularity


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("size", [0, 1, STEP, PAGE - 1])
def test_granularity_of_small_objects(size: int) -> None:
    for prop in (object_prop(size=size), object_prop(devices=0, size=size)):
        assert [driver.multicast_get_granularity(prop, option) for option in (0, 1)] == [STEP, STEP]


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("size", [PAGE, PAGE + 1, 1 << 40])
def test_granularity_of_large_objects(size: int) -> None:
    prop = object_prop(size=size)
    assert [driver.multicast_get_granularity(prop, option) for option in (0, 1)] == [STEP, PAGE]


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("option", [2, -1, 1 << 20])
def test_granularity_options(option: int) -> None:
    assert refused(driver.multicast_get_granularity, object_prop(), option) == (1, "MC451")
    assert accepted(driver.multicast_get_granularity, object_prop(), 1) == ""


# ---- the first bindings


@pytest.mark.usefixtures("strict")
def test_the_first_bindings_answer_the_same() -> None:
    prop = v1.CUmulticastObjectProp()
    prop.numDevices, prop.size = 2, STEP
    assert ask(v1.cuMulticastGetGranularity, prop, 0).value == STEP
    mc = ask(v1.cuMulticastCreate, prop).value
    assert refused(v1.cuMulticastAddDevice, mc, 2) == (101, "MC004")
    assert accepted(v1.cuMulticastAddDevice, mc, 0) == accepted(v1.cuMulticastAddDevice, mc, 1) == ""
    assert refused(v1.cuMulticastBindMem, mc, 0, memory(), 0, STEP - 1, 0) == (1, "MC304")
    assert accepted(v1.cuMulticastBindMem, mc, 0, memory(), 0, STEP, 0) == ""
    assert accepted(v1.cuMulticastBindMem_v2, mc, 1, 0, memory(1), 0, STEP, 0) == ""
    assert refused(v1.cuMulticastUnbind, mc, 0, STEP, STEP) == (1, "MC403")
    assert accepted(v1.cuMulticastUnbind, mc, 0, 0, STEP) == ""


def test_a_whole_rack_can_be_asked_for(start) -> None:
    start("gb200-nvl72", nodes=18)
    assert accepted(create, object_prop(72, PAGE)) == ""
    assert driver.device_get_count() == 4
    assert team(4, PAGE)
