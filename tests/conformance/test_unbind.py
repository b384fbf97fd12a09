"""multicast_unbind: exactly what was bound, where it was bound."""

import pytest
from builders import FABRIC, STEP, accepted, ask, bare_object, memory, refused, team
from cuda.bindings._v2 import driver

bind, unbind = driver.multicast_bind_mem, driver.multicast_unbind


def bound(size: int = STEP, at: int = 0, total: int = 4 * STEP) -> int:
    """Make an object with one bind of device 0."""
    mc = team(size=total)
    bind(mc, at, memory(0, size), 0, size, 0)
    return mc


@pytest.mark.usefixtures("either")
def test_an_unbind_is_the_bind_again() -> None:
    mc = bound(2 * STEP, at=STEP)
    assert accepted(unbind, mc, 0, STEP, 2 * STEP) == ""
    assert accepted(bind, mc, 0, memory(0, 4 * STEP), 0, 4 * STEP, 0) == ""  # the whole range is free


@pytest.mark.usefixtures("either")
def test_twice() -> None:
    mc = bound()
    assert accepted(unbind, mc, 0, 0, STEP) == ""
    assert refused(unbind, mc, 0, 0, STEP) == (1, "MC406")


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("mc_offset", [0, 2 * STEP])
def test_a_wrong_offset(mc_offset: int) -> None:
    mc = bound(at=STEP)
    assert refused(unbind, mc, 0, mc_offset, STEP) == (1, "MC406")
    assert accepted(unbind, mc, 0, STEP, STEP) == ""


@pytest.mark.usefixtures("either")
def test_the_wrong_device_of_the_team() -> None:
    mc = bound()
    assert refused(unbind, mc, 1, 0, STEP) == (1, "MC406")
    assert accepted(unbind, mc, 0, 0, STEP) == ""


def test_a_device_outside_the_team(start) -> None:
    start(devices=3)
    mc = bound()
    assert refused(unbind, mc, 2, 0, STEP) == (101, "MC407")
    assert refused(unbind, mc, 3, 0, STEP) == (101, "MC004")
    assert accepted(unbind, mc, 0, 0, STEP) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("size", [STEP, 3 * STEP])
def test_a_wrong_size_is_refused_by_the_documents(size: int) -> None:
    mc = bound(2 * STEP)
    assert refused(unbind, mc, 0, 0, size) == (1, "MC405")
    assert accepted(unbind, mc, 0, 0, 2 * STEP) == ""


@pytest.mark.usefixtures("hardware")
@pytest.mark.parametrize("size", [STEP, 3 * STEP])
def test_a_wrong_size_is_overlooked_by_hardware(size: int) -> None:
    mc = bound(2 * STEP)
    assert accepted(unbind, mc, 0, 0, size) == "MC405"
    assert refused(unbind, mc, 0, 0, 2 * STEP) == (1, "MC406")  # all of it was unbound


@pytest.mark.usefixtures("strict")
def test_two_binds_are_two_unbinds() -> None:
    mc = bound(STEP)
    bind(mc, STEP, memory(), 0, STEP, 0)
    assert refused(unbind, mc, 0, 0, 2 * STEP) == (1, "MC405")
    assert accepted(unbind, mc, 0, 0, STEP) == accepted(unbind, mc, 0, STEP, STEP) == ""


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize(
    ("mc_offset", "size", "rule"),
    [
        (0, 0, "MC408"),
        (0, STEP - 1, "MC401"),
        (0, 1, "MC401"),
        (1, STEP, "MC402"),
        (STEP // 2, STEP, "MC402"),
        (0, 5 * STEP, "MC403"),
        (4 * STEP, STEP, "MC403"),
    ],
)
def test_values(mc_offset: int, size: int, rule: str) -> None:
    mc = bound(at=3 * STEP)
    assert refused(unbind, mc, 0, mc_offset, size) == (1, rule)
    assert accepted(unbind, mc, 0, 3 * STEP, STEP) == ""


@pytest.mark.usefixtures("strict")
def test_handles() -> None:
    mc, mem = bound(), memory()
    assert refused(unbind, 0, 0, 0, STEP) == (1, "MC006")
    assert refused(unbind, mem, 0, 0, STEP) == (1, "MC220")
    driver.mem_release(mc)
    assert refused(unbind, mc, 0, 0, STEP) == (1, "MC007")


@pytest.mark.usefixtures("strict")
def test_memory_that_is_gone_is_unbound_already_says_strict() -> None:
    mc, mem, other = team(size=2 * STEP), memory(), memory()
    bind(mc, 0, mem, 0, STEP, 0)
    bind(mc, STEP, other, 0, STEP, 0)
    assert accepted(driver.mem_release, mem) == "MC865"
    assert refused(unbind, mc, 0, 0, STEP) == (1, "MC409")
    assert accepted(unbind, mc, 0, STEP, STEP) == ""


@pytest.mark.usefixtures("hardware")
def test_memory_that_is_gone_is_unbound_with_a_finding_on_hardware() -> None:
    mc, mem = team(), memory()
    bind(mc, 0, mem, 0, STEP, 0)
    assert accepted(driver.mem_release, mem) == "MC865"
    assert accepted(unbind, mc, 0, 0, STEP) == "MC409"
    assert refused(unbind, mc, 0, 0, STEP) == (1, "MC406")  # the second time there is nothing to excuse
    mem = memory()
    bind(mc, 0, mem, 0, STEP, 0)
    assert accepted(unbind, mc, 0, 0, STEP) == ""


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("held", [True, False], ids=["held", "renewed"])
def test_an_object_made_anew_knows_nothing_of_former_binds(held: bool) -> None:
    mc, mem = bare_object(1, handle_types=FABRIC), memory(handle_types=FABRIC)
    shared = driver.mem_export_to_shareable_handle(mc, FABRIC, 0)
    driver.multicast_add_device(mc, 0)
    bind(mc, 0, mem, 0, STEP, 0)
    if not held:
        driver.mem_release(mc)  # now the bind alone keeps it
    driver.mem_release(mem)
    again = driver.mem_import_from_shareable_handle(shared.ptr, FABRIC)
    if held:  # it is the old one, and its bind went with the memory
        assert "MC409" in ask(unbind, again, 0, 0, STEP).found
    else:
        driver.multicast_add_device(again, 0)
        assert refused(unbind, again, 0, 0, STEP) == (1, "MC406")
