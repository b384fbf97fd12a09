"""Memory is memory: aliases see each other's writes, and what is not used takes nothing."""

import os
from pathlib import Path

import numpy as np
import pytest
from builders import GIB, STEP, accepted, mapped, memory, read, reserve, team, unmapped, use, write
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim


def resident() -> int:
    """Answer this process's resident bytes, shared pages included."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmRSS"].split()[0]) << 10


def world_bytes() -> int:
    """Answer the bytes that the files of the world's memory take."""
    return sum(file.stat().st_blocks * 512 for file in (sim.world().path / "memory").iterdir())


@pytest.mark.usefixtures("either")
def test_two_mappings_of_one_handle_are_aliases() -> None:
    use(0)
    mem = memory()
    first, second = mapped(mem), mapped(mem)
    write(first + 100, np.arange(50, dtype=np.uint8))
    assert (read(second + 100, 50) == np.arange(50)).all()
    driver.memset_d8_v2(second, 7, STEP)
    assert (read(first, STEP) == 7).all()
    unmapped(first)
    assert (read(second, STEP) == 7).all()


@pytest.mark.usefixtures("either")
def test_a_new_mapping_starts_without_access() -> None:
    use(0)
    mem = memory()
    ptr = mapped(mem)
    driver.mem_unmap(ptr, STEP)
    driver.mem_map(ptr, STEP, 0, mem, 0)
    with pytest.raises(driver.InvalidValueError):
        read(ptr, 8)


@pytest.mark.usefixtures("either")
def test_multicast_and_unicast_are_one_memory() -> None:
    mc, mems = team(2), [memory(dev) for dev in (0, 1)]
    unicast = [mapped(mem, STEP, [dev]) for dev, mem in enumerate(mems)]
    for mem in mems:
        driver.multicast_bind_mem(mc, 0, mem, 0, STEP, 0)
    ptr = mapped(mc, STEP, [0, 1])
    use(1)
    write(unicast[1], np.full(16, 41, np.uint32))
    multimem.reduce(ptr, np.ones(16, np.uint32))
    assert (read(unicast[1], 16, np.uint32) == 42).all()
    use(0)
    assert (read(unicast[0], 16, np.uint32) == 1).all()


@pytest.mark.usefixtures("either")
def test_several_objects_over_one_memory() -> None:
    first, second, mem = team(1), team(1), memory()
    for mc in (first, second):
        driver.multicast_bind_mem(mc, 0, mem, 0, STEP, 0)
    multimem.store(mapped(first), np.arange(32, dtype=np.int64))
    assert (multimem.load_reduce(mapped(second), 32, np.int64, "max") == np.arange(32)).all()


@pytest.mark.usefixtures("either")
def test_a_bind_shows_the_part_that_was_named() -> None:
    use(0)
    mc, mem = team(1, 2 * STEP), memory(0, 4 * STEP)
    unicast = mapped(mem, 4 * STEP)
    driver.multicast_bind_mem(mc, 0, mem, 3 * STEP, STEP, 0)
    driver.multicast_bind_mem(mc, STEP, mem, 0, STEP, 0)
    multimem.store(mapped(mc, 2 * STEP), np.repeat(np.array([1, 2], np.uint8), STEP))
    found = read(unicast, 4 * STEP)
    assert (found[::STEP] == [2, 0, 0, 1]).all()
    assert (found[STEP - 1 :: STEP] == [2, 0, 0, 1]).all()


def test_half_a_tebibyte_costs_nothing_until_it_is_bound(start) -> None:
    start(devices=8)
    size = 512 * GIB
    mc, before = team(8, size), resident()
    ptr = mapped(mc, size, range(8))
    assert resident() - before < 1 << 20
    assert world_bytes() == 0
    place = 300 * GIB
    for dev in range(8):
        driver.multicast_bind_mem(mc, place, memory(dev, 16 * STEP), 0, 16 * STEP, 0)
    assert world_bytes() == 0  # bound, but nothing was written
    multimem.store(ptr + place, np.ones(STEP, np.uint8))
    assert world_bytes() == 8 * STEP
    assert (multimem.load_reduce(ptr + place, 1024, np.uint32, "add") == 8 * 0x01010101).all()
    assert resident() - before < 8 * STEP + (4 << 20)
    unmapped(ptr, size)


def test_a_large_allocation_takes_what_was_written(start) -> None:
    start(devices=1)
    use(0)
    ptr = mapped(memory(0, 16 * GIB), 16 * GIB)
    write(ptr + 9 * GIB, np.ones(100, np.uint8))
    assert 0 < world_bytes() <= STEP
    assert not read(ptr + 10 * GIB, 1 << 20).any()


@pytest.mark.usefixtures("either")
def test_a_machine_that_stops_leaves_no_files_and_no_mappings() -> None:
    use(0)
    mc, mem = team(1), memory()
    driver.multicast_bind_mem(mc, 0, mem, 0, STEP, 0)
    multimem.store(mapped(mc), np.ones(8))
    write(mapped(mem), np.ones(8))
    reserve()
    path = sim.world().path
    assert f"{path}/memory/" in Path("/proc/self/maps").read_text()
    sim.stop()
    assert not path.exists()
    assert f"{path}/memory/" not in Path("/proc/self/maps").read_text()
    open_files = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd)]
    assert not [name for name in open_files if f"{path}/memory/" in name]


def _is_open(fd: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{fd}")


@pytest.mark.usefixtures("either")
def test_the_limit_of_device_memory() -> None:
    sim.faults.set(f"memory={4 * STEP}")
    with pytest.raises(driver.OutOfMemoryError):
        memory(0, 5 * STEP)
    assert accepted(memory, 0, 4 * STEP) == ""
