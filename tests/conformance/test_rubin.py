"""SM_107: binds may begin at any 256 bytes of the memory, and what that costs."""

import numpy as np
import pytest
from builders import STEP, Bind, accepted, access, memory, piece, read, refused, reserve, team, use, write
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim

bind_mem = driver.multicast_bind_mem


def limits(bind: Bind) -> str:
    return "MC361" if bind.by_address else "MC360"


@pytest.mark.usefixtures("rubin")
@pytest.mark.parametrize("offset", [1, 128, 255, 257, STEP + 100])
def test_memory_begins_at_a_multiple_of_256(bind: Bind, offset: int) -> None:
    mc, mem = team(size=4 * STEP), piece(size=4 * STEP)
    assert refused(bind, mc, 0, mem, offset) == (1, limits(bind))
    assert accepted(bind, mc, 0, mem, 256) == ""


def test_only_there(start, bind: Bind) -> None:
    start("hgx-h100-8", devices=2)
    mc, mem = team(size=4 * STEP), piece(size=4 * STEP)
    assert refused(bind, mc, 0, mem, 256) == (1, "MC307" if bind.by_address else "MC306")
    assert accepted(bind, mc, 0, mem, STEP) == ""


@pytest.mark.usefixtures("rubin")
def test_size_and_mc_offset_keep_the_granularity(bind: Bind) -> None:
    mc, mem = team(size=4 * STEP), piece(size=4 * STEP)
    assert refused(bind, mc, 0, mem, 256, STEP + 256) == (1, "MC304")
    assert refused(bind, mc, 256, mem, 256) == (1, "MC305")


@pytest.mark.usefixtures("rubin")
def test_the_bind_ends_within_the_memory(bind: Bind) -> None:
    mc, mem = team(size=4 * STEP), piece(size=2 * STEP)
    assert refused(bind, mc, 0, mem, STEP + 256) == (1, "MC311" if bind.by_address else "MC310")
    assert accepted(bind, mc, 0, mem, STEP - 256) == ""


@pytest.mark.usefixtures("rubin")
def test_one_granule_of_headroom_in_the_object(bind: Bind) -> None:
    mc, mem = team(size=3 * STEP), piece(size=4 * STEP)
    assert refused(bind, mc, 0, mem, 256, 3 * STEP) == (1, "MC362")
    assert refused(bind, mc, STEP, mem, 256, 2 * STEP) == (1, "MC362")
    assert accepted(bind, mc, STEP, mem, 256, STEP) == ""


@pytest.mark.usefixtures("rubin")
def test_an_aligned_bind_needs_none(bind: Bind) -> None:
    assert accepted(bind, team(size=2 * STEP), 0, piece(size=4 * STEP), STEP, 2 * STEP) == ""


@pytest.mark.usefixtures("rubin")
def test_the_next_bind_lies_behind_the_headroom(bind: Bind) -> None:
    mc, first, second = team(size=4 * STEP), piece(size=4 * STEP), piece()
    assert accepted(bind, mc, 0, first, 256) == ""
    assert refused(bind, mc, STEP, second) == (1, "MC363")
    assert refused(bind, mc, 0, second) == (1, "MC313")
    assert accepted(bind, mc, 2 * STEP, second) == ""


@pytest.mark.usefixtures("rubin")
def test_headroom_does_not_reach_into_a_bind_that_was_there(bind: Bind) -> None:
    mc, first, second = team(size=4 * STEP), piece(), piece(size=4 * STEP)
    assert accepted(bind, mc, 2 * STEP, first) == ""
    assert refused(bind, mc, STEP, second, 256) == (1, "MC313")
    assert accepted(bind, mc, 0, second, 256) == ""


@pytest.mark.usefixtures("rubin")
def test_other_devices_have_their_own_headroom(bind: Bind) -> None:
    mc = team(size=2 * STEP)
    assert accepted(bind, mc, 0, piece(0, size=2 * STEP), 256) == ""
    assert accepted(bind, mc, STEP, piece(1)) == ""


@pytest.mark.usefixtures("rubin")
def test_an_unbind_gives_the_headroom_back() -> None:
    mc, mem = team(size=4 * STEP), memory(size=4 * STEP)
    bind_mem(mc, 0, mem, 256, STEP, 0)
    assert accepted(driver.multicast_unbind, mc, 0, 0, STEP) == ""
    assert accepted(bind_mem, mc, STEP, mem, 0, STEP, 0) == ""


def test_the_stock_of_a_device(start, bind: Bind) -> None:
    start("rubin-nvl72", faults=["unaligned=2"])
    mc, mem = team(size=16 * STEP), piece(size=16 * STEP)
    for k in (0, 1):
        assert accepted(bind, mc, 4 * k * STEP, mem, 2 * k * STEP + 256) == ""
    assert refused(bind, mc, 8 * STEP, mem, 4 * STEP + 256) == (47, "MC364")
    assert accepted(bind, mc, 8 * STEP, mem, 4 * STEP) == ""  # aligned binds need none
    assert accepted(bind, mc, 8 * STEP, piece(1, 4 * STEP), 256) == ""  # other devices have their own
    driver.multicast_unbind(mc, 0, 0, STEP)
    assert accepted(bind, mc, 0, mem, 8 * STEP + 256) == ""


def test_the_stock_comes_back_with_memory_that_goes(start) -> None:
    start("rubin-nvl72", faults=["unaligned=1"])
    mc, mem, other = team(size=8 * STEP), memory(size=2 * STEP), memory(size=2 * STEP)
    bind_mem(mc, 0, mem, 256, STEP, 0)
    assert refused(bind_mem, mc, 4 * STEP, other, 256, STEP, 0) == (47, "MC364")
    driver.mem_release(mem)
    assert accepted(bind_mem, mc, 4 * STEP, other, 256, STEP, 0) == ""


@pytest.mark.usefixtures("rubin")
def test_a_refused_bind_takes_nothing_of_the_stock(start) -> None:
    sim.faults.set("unaligned=1")
    mc, mem = team(size=4 * STEP), memory(size=4 * STEP)
    for _ in range(3):
        assert refused(bind_mem, mc, 3 * STEP, mem, 256, STEP, 0) == (1, "MC362")
    assert accepted(bind_mem, mc, 0, mem, 256, STEP, 0) == ""


# ---- data through skewed pieces

SKEWS = [(0, 256, 4096, STEP + 768), (256, 256, 256, 256), (STEP, 0, 512, 3 * 256)]


def skewed(skews: tuple[int, ...]) -> tuple[int, list[list[tuple[int, int]]]]:
    """Bind two pieces for each of four devices, each at its own skew; answer the address and where the pieces lie.

    The second pieces begin behind the first ones' headroom, and that granule is a hole.
    """
    mc, places = team(4, 8 * STEP), []
    for dev, skew in enumerate(skews):
        mem = piece(dev, 8 * STEP)
        bind_mem(mc, 0, mem.handle, skew, 2 * STEP, 0)
        bind_mem(mc, 3 * STEP, mem.handle, 4 * STEP + skew, 2 * STEP, 0)
        places.append([(mem.ptr + skew, 0), (mem.ptr + 4 * STEP + skew, 3 * STEP)])
    ptr = reserve(8 * STEP)
    driver.mem_map(ptr, 8 * STEP, 0, mc, 0)
    driver.mem_set_access(ptr, 8 * STEP, access(0, 1, 2, 3), 4)
    return ptr, places


@pytest.mark.usefixtures("rubin")
@pytest.mark.parametrize("skews", SKEWS)
@pytest.mark.parametrize("part", [0, 1])
def test_stores_reach_every_replica(skews: tuple[int, ...], part: int) -> None:
    ptr, places = skewed(skews)
    data = np.random.default_rng(1).integers(0, 256, 2 * STEP, np.uint8)
    multimem.store(ptr + 3 * STEP * part, data)
    for dev in range(4):
        use(dev)
        address, _ = places[dev][part]
        assert (read(address, 2 * STEP) == data).all()


@pytest.mark.usefixtures("rubin")
@pytest.mark.parametrize("skews", SKEWS)
def test_reductions_take_every_replica(skews: tuple[int, ...]) -> None:
    ptr, places = skewed(skews)
    count, random = STEP // 2, np.random.default_rng(2)  # from the middle of the piece, over its second half
    parts = [random.integers(-1000, 1000, count, np.int32) for _ in range(4)]
    for dev in range(4):
        use(dev)
        write(places[dev][1][0] + 1024, parts[dev][: count - 256])
    at = ptr + 3 * STEP + 1024
    total = multimem.load_reduce(at, count - 256, np.int32)
    assert (total == sum(part[: count - 256] for part in parts)).all()
    multimem.reduce(at, total)
    for dev in range(4):
        use(dev)
        found = read(places[dev][1][0] + 1024, count - 256, np.int32)
        assert (found == total + parts[dev][: count - 256]).all()


@pytest.mark.usefixtures("rubin")
def test_the_headroom_is_a_hole() -> None:
    ptr, _ = skewed((0, 256, 0, 0))
    with pytest.raises(ValueError, match=rf"MC532.*device 0 has nothing bound at bytes \[{2 * STEP}, {2 * STEP + 8}\)"):
        multimem.store(ptr + 2 * STEP, np.zeros(8, np.uint8))


@pytest.mark.usefixtures("rubin")
def test_pieces_that_meet_at_different_skews_are_one_range() -> None:
    """Device 0 has one aligned piece, device 1 a skewed one and its neighbour behind the headroom."""
    mc = team(2, 8 * STEP)
    whole, parts = piece(0, 8 * STEP), piece(1, 8 * STEP)
    bind_mem(mc, 0, whole.handle, 0, 8 * STEP, 0)
    bind_mem(mc, 0, parts.handle, 256, 2 * STEP, 0)
    bind_mem(mc, 3 * STEP, parts.handle, 4 * STEP, STEP, 0)
    bind_mem(mc, 4 * STEP, parts.handle, 6 * STEP + 512, STEP, 0)
    ptr = reserve(8 * STEP)
    driver.mem_map(ptr, 8 * STEP, 0, mc, 0)
    driver.mem_set_access(ptr, 8 * STEP, access(0, 1), 2)
    data = np.arange(2 * STEP // 4, dtype=np.uint32)
    multimem.store(ptr + 3 * STEP, data)  # across the border of the two pieces
    use(0)
    assert (read(whole.ptr + 3 * STEP, data.size, np.uint32) == data).all()
    use(1)
    half = data.size // 2
    assert (read(parts.ptr + 4 * STEP, half, np.uint32) == data[:half]).all()
    assert (read(parts.ptr + 6 * STEP + 512, half, np.uint32) == data[half:]).all()
    assert (multimem.load_reduce(ptr + 3 * STEP, data.size, np.uint32, "max") == data).all()
