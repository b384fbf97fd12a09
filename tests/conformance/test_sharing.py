"""Export and import of objects and memory, inside one process."""

import os

import numpy as np
import pytest
from builders import (
    FABRIC,
    FD,
    STEP,
    accepted,
    ask,
    bare_object,
    mapped,
    memory,
    read,
    refused,
    team,
    unmapped,
    use,
    write,
)
from cuda.bindings import driver as v1
from cuda.bindings._v2 import driver

from cumulticast import sim

export, import_ = driver.mem_export_to_shareable_handle, driver.mem_import_from_shareable_handle
MAKERS = pytest.mark.parametrize("make", [memory, bare_object], ids=["memory", "object"])


@MAKERS
@pytest.mark.usefixtures("either")
def test_only_what_was_asked_for_can_be_exported(make) -> None:
    handle = make(handle_types=FD)
    assert refused(export, handle, FABRIC, 0) == (1, "MC601")
    assert refused(export, make(), FD, 0) == (1, "MC601")
    fd = export(handle, FD, 0)
    os.close(fd)


@MAKERS
@pytest.mark.usefixtures("either")
def test_one_type_at_a_time(make) -> None:
    handle = make(handle_types=FD | FABRIC)
    assert refused(export, handle, 0, 0) == (1, "MC602")
    assert refused(import_, 0, 0) == (1, "MC607")
    assert refused(import_, 0, 2) == (801, "MC608")


@MAKERS
@pytest.mark.usefixtures("either")
def test_flags_are_zero(make) -> None:
    assert refused(export, make(handle_types=FD), FD, 1) == (1, "MC005")


@MAKERS
@pytest.mark.usefixtures("either")
def test_two_imports_are_two_handles(make) -> None:
    handle = make(handle_types=FD)
    fd = export(handle, FD, 0)
    first, second = import_(fd, FD), import_(fd, FD)
    os.close(fd)
    assert len({handle, first, second}) == 3
    driver.mem_release(first)
    assert accepted(driver.mem_release, second) == accepted(driver.mem_release, handle) == ""
    assert refused(driver.mem_release, first)[0] == 1


@MAKERS
@pytest.mark.usefixtures("either")
def test_an_import_is_not_exported_again(make) -> None:
    fd = export(make(handle_types=FD), FD, 0)
    assert refused(export, import_(fd, FD), FD, 0) == (1, "MC603")
    os.close(fd)


@MAKERS
@pytest.mark.usefixtures("either")
def test_a_descriptor_keeps_its_object_alive(make) -> None:
    handle = make(handle_types=FD)
    fd = export(handle, FD, 0)
    driver.mem_release(handle)
    again = import_(fd, FD)
    os.close(fd)
    assert accepted(driver.mem_release, again) == ""
    world = sim.world()
    assert world.allocations == world.multicast == ()


@pytest.mark.usefixtures("either")
def test_a_descriptor_keeps_the_contents() -> None:
    use(0)
    handle = memory(handle_types=FD)
    ptr = mapped(handle)
    write(ptr, _pattern())
    fd = export(handle, FD, 0)
    unmapped(ptr)
    driver.mem_release(handle)
    ptr = mapped(import_(os.dup(fd), FD))
    assert (read(ptr, STEP) == _pattern()).all()


def _pattern():
    return np.arange(STEP, dtype=np.uint64).astype(np.uint8)


@pytest.mark.usefixtures("either")
def test_every_export_is_a_descriptor_of_its_own() -> None:
    handle = memory(handle_types=FD)
    first, second = export(handle, FD, 0), export(handle, FD, 0)
    os.close(first)
    assert import_(second, FD)
    assert not os.get_inheritable(second)
    os.close(second)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("make", [lambda: -1, lambda: 10_000, lambda: os.open("/dev/null", os.O_RDWR)])
def test_descriptors_of_something_else(make) -> None:
    fd = make()
    assert refused(import_, fd, FD) == (999, "MC606")
    if 0 <= fd < 10_000:
        os.close(fd)


@pytest.mark.usefixtures("either")
def test_a_closed_descriptor() -> None:
    fd = export(memory(handle_types=FD), FD, 0)
    os.close(fd)
    assert refused(import_, fd, FD) == (999, "MC606")


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("descriptors", [False, True])
def test_a_team_over_two_handles_of_one_object(descriptors: bool) -> None:
    mc = team(handle_types=FD | FABRIC)
    if descriptors:
        fd = export(mc, FD, 0)
        other = import_(fd, FD)
        os.close(fd)
    else:
        shared = export(mc, FABRIC, 0)
        other = import_(shared.ptr, FABRIC)
    for dev, handle in enumerate((mc, other)):
        mem = memory(dev, handle_types=FD)
        assert accepted(driver.multicast_bind_mem, handle, 0, mem, 0, STEP, 0) == ""
    (obj,) = sim.world().multicast
    assert [bound.device for bound in obj.bindings] == [0, 1]


@MAKERS
def test_fabric_handles_need_an_imex_channel(start, make) -> None:
    start(devices=2)
    handle = make(handle_types=FABRIC)
    shared = export(handle, FABRIC, 0)
    sim.faults.set("imex=none")
    assert refused(make, 0, STEP, FABRIC)[0] in (1, 800)
    assert refused(export, handle, FABRIC, 0) == (800, "MC604")
    assert refused(import_, shared.ptr, FABRIC) == (800, "MC604")
    sim.faults.clear()
    assert ask(import_, shared.ptr, FABRIC).status == 0


@pytest.mark.usefixtures("either")
def test_fabric_handles_of_nothing() -> None:
    assert refused(import_, driver.MemFabricHandle_v1().ptr, FABRIC) == (999, "MC606")
    assert refused(import_, 0, FABRIC) == (1, "MC003")
    handle = memory(handle_types=FABRIC)
    shared = export(handle, FABRIC, 0)
    driver.mem_release(handle)
    assert refused(import_, shared.ptr, FABRIC) == (999, "MC606")  # 64 bytes keep nothing alive


@pytest.mark.usefixtures("either")
def test_the_first_bindings_share_too() -> None:
    fd_type = v1.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    fd = ask(v1.cuMemExportToShareableHandle, memory(handle_types=FD), fd_type, 0).value
    again = ask(v1.cuMemImportFromShareableHandle, fd, fd_type).value
    os.close(fd)
    assert mapped(int(again))
