"""What keeps memory and objects alive, in which order things may go, and what is left."""

import itertools

import numpy as np
import pytest
from builders import STEP, accepted, ask, mapped, memory, read, refused, reserve, team, unmapped, use, write
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim

bind, release, retain = driver.multicast_bind_mem, driver.mem_release, driver.mem_retain_allocation_handle

pytestmark = pytest.mark.usefixtures("either")


@pytest.mark.parametrize("make", [memory, team], ids=["memory", "object"])
def test_a_mapping_outlives_the_handle(make) -> None:
    handle = make()
    ptr = mapped(handle)
    assert accepted(release, handle) == ""
    assert len(sim.world().allocations) + len(sim.world().multicast) == 1
    assert accepted(driver.mem_unmap, ptr, STEP) == ""
    assert len(sim.world().allocations) + len(sim.world().multicast) == 0


@pytest.mark.parametrize("make", [memory, team], ids=["memory", "object"])
@pytest.mark.parametrize("inside", [0, 1, 4096, STEP - 1])
def test_retaining_from_any_address_gives_the_handle(make, inside: int) -> None:
    handle = make()
    ptr = mapped(handle)
    assert retain(ptr + inside) == handle
    release(handle)
    assert accepted(release, handle) == ""
    assert refused(release, handle) == (1, "MC861")


def test_retaining_revives_a_released_handle() -> None:
    mem = memory()
    ptr = mapped(mem)
    release(mem)
    assert refused(bind, team(), 0, mem, 0, STEP, 0) == (1, "MC007")
    assert retain(ptr) == mem
    assert accepted(bind, team(), 0, mem, 0, STEP, 0) == ""


def test_retaining_from_nothing() -> None:
    ptr = mapped(memory())
    assert refused(retain, 0) == (1, "MC862")
    assert refused(retain, reserve()) == (1, "MC862")
    assert refused(retain, ptr + STEP)[0] == 1
    assert ask(retain, ptr).status == 0


@pytest.mark.parametrize("order", list(itertools.permutations(["object", "memory", "mapping", "unbind"])))
def test_any_order_of_release_leaves_nothing(order: tuple[str, ...]) -> None:
    mc, mem = team(), memory()
    bind(mc, 0, mem, 0, STEP, 0)
    ptr = mapped(mc, STEP, [0, 1])
    steps = {
        "object": lambda: release(mc),
        "memory": lambda: release(mem),
        "mapping": lambda: unmapped(ptr),
        "unbind": lambda: ask(driver.multicast_unbind, mc, 0, 0, STEP),
    }
    for step in order:
        steps[step]()
    world = sim.world()
    assert world.allocations == world.multicast == ()
    assert [device.used for device in world.devices] == [0, 0]


def test_releasing_a_bound_object_leaves_it_until_the_binds_go() -> None:
    mc, mem = team(), memory()
    bind(mc, 0, mem, 0, STEP, 0)
    assert accepted(release, mc) == "MC866"
    (obj,) = sim.world().multicast
    assert obj.slot
    assert obj.holders == ()
    assert refused(driver.multicast_unbind, mc, 0, 0, STEP) == (1, "MC007")
    release(mem)
    assert sim.world().multicast == ()


def test_unmapping_the_last_of_a_bound_object_is_found() -> None:
    mc, mem = team(), memory()
    bind(mc, 0, mem, 0, STEP, 0)
    ptr = mapped(mc)
    assert accepted(release, mc) == ""
    assert accepted(driver.mem_unmap, ptr, STEP) == "MC866"


def test_memory_that_goes_while_bound_leaves_a_hole() -> None:
    mc, mems = team(), [memory(dev) for dev in (0, 1)]
    for mem in mems:
        bind(mc, 0, mem, 0, STEP, 0)
    ptr = mapped(mc, STEP, [0, 1])
    multimem.store(ptr, np.ones(16, np.float32))
    assert accepted(release, mems[1]) == "MC865"
    with pytest.raises(ValueError, match=r"device 1 has nothing bound at bytes \[0, 64\)"):
        multimem.store(ptr, np.ones(16, np.float32))
    bind(mc, 0, memory(1), 0, STEP, 0)
    multimem.store(ptr, np.ones(16, np.float32))
    assert (multimem.load_reduce(ptr, 16) == 2).all()


def test_mapped_memory_does_not_go_with_its_handle() -> None:
    mc, mem = team(1), memory()
    use(0)
    unicast = mapped(mem)
    bind(mc, 0, mem, 0, STEP, 0)
    ptr = mapped(mc)
    assert accepted(release, mem) == ""
    multimem.store(ptr, np.arange(64, dtype=np.uint8))
    assert (read(unicast, 64) == np.arange(64)).all()
    assert accepted(driver.mem_unmap, unicast, STEP) == "MC865"


def test_a_handle_value_is_never_used_again() -> None:
    seen = set()
    for _ in range(50):
        handle = memory()
        release(handle)
        seen.add(handle)
    assert len(seen) == 50


def test_device_memory_comes_back() -> None:
    use(0)
    free = driver.mem_get_info_v2()[0]
    mem = memory(size=64 * STEP)
    assert driver.mem_get_info_v2()[0] == free - 64 * STEP
    ptr = mapped(mem, 64 * STEP)
    release(mem)
    assert driver.mem_get_info_v2()[0] == free - 64 * STEP
    unmapped(ptr, 64 * STEP)
    assert driver.mem_get_info_v2()[0] == free


def test_a_handle_that_never_was() -> None:
    assert refused(release, 12345) == (1, "MC861")
    assert refused(release, 0) == (1, "MC861")


def test_writes_before_the_bind_are_seen_through_it() -> None:
    mc, mem = team(1), memory()
    use(0)
    unicast = mapped(mem)
    write(unicast, np.full(STEP // 4, 7, np.uint32))
    bind(mc, 0, mem, 0, STEP, 0)
    assert (multimem.load_reduce(mapped(mc), STEP // 4, np.uint32) == 7).all()


@pytest.mark.parametrize(
    ("make", "releases", "found"),
    [
        (memory, 2, []),
        (memory, 1, ["from cuMemCreate still has 1 reference(s)"]),
        (team, 0, ["from cuMulticastCreate still has 2 reference(s)"]),
        (team, 2, []),
    ],
)
def test_a_reference_that_is_left_at_the_end_is_a_finding(make, releases: int, found: list[str]) -> None:
    handle, here = make(), sim.current()
    ptr = mapped(handle)
    assert retain(ptr) == handle
    for _ in range(releases):
        release(handle)
    before = len(here.findings)
    sim.stop()
    late = here.findings[before:]
    assert [finding.rule for finding in late] == ["MC864"] * len(found)
    assert [finding.message for finding in late] == [f"handle {handle:#x} {words}" for words in found]
