"""A refused call leaves what it was given, and the world, as they were."""

import ctypes
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builders import (
    FABRIC,
    FD,
    STEP,
    access,
    allocation_prop,
    ask,
    bare_object,
    mapped,
    memory,
    object_prop,
    raw,
    reserve,
    team,
    unmapped,
)
from cuda.bindings._v2 import driver

from cumulticast import multimem, sim

pytestmark = pytest.mark.usefixtures("strict")
CANARY = 0x5A5A_5A5A_5A5A_5A5A


def books() -> list[Any]:
    """Answer every row of every table of the world."""
    connection = sqlite3.connect(f"file:{sim.world().path / 'world.db'}?mode=ro", uri=True)
    try:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        return [(table, connection.execute(f"select * from {table}").fetchall()) for table in sorted(tables)]
    finally:
        connection.close()


def c_refuses(name: str, *args: Any) -> int:
    """Call a C function with the address of a canary as its first argument; answer the status."""
    canary = (ctypes.c_uint64 * 16)(*[CANARY] * 16)
    before = books()
    status = raw(name)(ctypes.byref(canary), *args)
    assert list(canary) == [CANARY] * 16, f"{name} wrote to its output"
    assert books() == before
    return status


def word(value: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(value)


def address(struct: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(struct.ptr)


def test_outputs_of_refused_calls() -> None:
    mc, mem = team(), memory()
    bad, good = allocation_prop(0), allocation_prop()
    assert c_refuses("cuMulticastCreate", address(object_prop(size=STEP + 1))) == 1
    assert c_refuses("cuMulticastCreate", None) == 1
    assert c_refuses("cuMemCreate", word(STEP), address(bad), word(0)) == 1
    assert c_refuses("cuMemCreate", word(STEP + 1), address(good), word(0)) == 1
    assert c_refuses("cuMulticastGetGranularity", address(object_prop()), 7) == 1
    assert c_refuses("cuMemGetAllocationGranularity", address(good), 7) == 1
    assert c_refuses("cuMemAddressReserve", word(1), word(0), word(0), word(0)) == 1
    assert c_refuses("cuMemExportToShareableHandle", word(mem), FD, word(0)) == 1
    assert c_refuses("cuMemExportToShareableHandle", word(mc), FABRIC, word(0)) == 1
    assert c_refuses("cuMemImportFromShareableHandle", word(10_000), FD) == 999
    assert c_refuses("cuMemRetainAllocationHandle", word(reserve())) == 1
    assert c_refuses("cuMemGetAllocationPropertiesFromHandle", word(mc)) == 1
    assert c_refuses("cuMemGetAccess", None, word(0)) == 1


REFUSED: dict[str, Callable[[int, int, int], Any]] = {
    "bind size": lambda mc, mem, ptr: ask(driver.multicast_bind_mem, mc, 0, mem, 0, 3 * STEP, 0),
    "bind overlap": lambda mc, mem, ptr: ask(driver.multicast_bind_mem, mc, 0, mem, STEP, STEP, 0),
    "bind other device": lambda mc, mem, ptr: ask(driver.multicast_bind_mem_v2, mc, 1, STEP, mem, STEP, STEP, 0),
    "bind object": lambda mc, mem, ptr: ask(driver.multicast_bind_mem, mc, STEP, mc, 0, STEP, 0),
    "bind address": lambda mc, mem, ptr: ask(driver.multicast_bind_addr, mc, STEP, ptr + 1, STEP, 0),
    "unbind size": lambda mc, mem, ptr: ask(driver.multicast_unbind, mc, 0, 0, 2 * STEP),
    "unbind place": lambda mc, mem, ptr: ask(driver.multicast_unbind, mc, 0, STEP, STEP),
    "add twice": lambda mc, mem, ptr: ask(driver.multicast_add_device, mc, 0),
    "add unknown": lambda mc, mem, ptr: ask(driver.multicast_add_device, mc, 77),
    "map": lambda mc, mem, ptr: ask(driver.mem_map, ptr, STEP, 0, mc, 0),
    "unmap": lambda mc, mem, ptr: ask(driver.mem_unmap, ptr, STEP),
    "free": lambda mc, mem, ptr: ask(driver.mem_address_free, ptr, 2 * STEP),
    "access": lambda mc, mem, ptr: ask(driver.mem_set_access, ptr, 2 * STEP, access(0, 77), 2),
    "release": lambda mc, mem, ptr: ask(driver.mem_release, mem + 1),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_the_world_after_a_refused_call(call: Callable[[int, int, int], Any]) -> None:
    mc, mem = team(size=2 * STEP), memory(0, 2 * STEP)
    ptr = mapped(mem, 2 * STEP, [0])
    driver.multicast_bind_mem(mc, 0, mem, 0, STEP, 0)
    before, picture = books(), sim.world()
    answer = call(mc, mem, ptr)
    assert answer.status, "it was accepted"
    assert len(answer.refused) == 1
    assert books() == before
    assert sim.world() == picture
    assert ask(driver.multicast_bind_mem, mc, STEP, mem, STEP, STEP, 0).status == 0  # and everything still works
    unmapped(ptr, 2 * STEP)


@pytest.mark.timeout(20)
def test_the_world_after_a_wait_that_was_given_up() -> None:
    mc, mem = bare_object(), memory()
    before = books()
    assert ask(driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0).status == 909
    assert books() == before


@pytest.mark.parametrize("fault", ["fm=stopped", "state=illegal", "slots=128"])
def test_the_world_after_a_bind_that_a_fault_refused(fault: str) -> None:
    mc, mem = team(), memory()
    sim.faults.set(fault)
    before = books()
    assert ask(driver.multicast_bind_mem, mc, 0, mem, 0, STEP, 0).status in (2, 401, 802)
    assert books() == before


def test_the_contents_after_a_refused_bind() -> None:
    mc, first, second = team(1), memory(), memory()
    driver.multicast_bind_mem(mc, 0, first, 0, STEP, 0)
    ptr = mapped(mc)
    multimem.store(ptr, np.arange(16, dtype=np.uint32))
    assert ask(driver.multicast_bind_mem, mc, 0, second, 0, STEP, 0).refused == ("MC313",)
    assert (multimem.load_reduce(ptr, 16, np.uint32) == np.arange(16)).all()
