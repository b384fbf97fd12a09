"""Objects and memory of one process: how they are made, what is refused, and that a refusal leaves no trace."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from cuda.core import Device

from cumulticast import MulticastObject, PhysicalMemory, driver, sim
from cumulticast.testing import CudaMachine

STEP = 2 << 20  # the minimum granularity of all machines
PAGE = 512 << 20  # the recommended one of large objects

pytestmark = pytest.mark.usefixtures("cuda_machine")


def holds() -> tuple[int, int]:
    """Count what the machine holds: objects and allocations."""
    picture = sim.world()
    return len(picture.multicast), len(picture.allocations)


def test_an_object_of_a_list_of_devices_is_complete() -> None:
    with MulticastObject.create([3, Device(1)], STEP) as mc:
        assert (mc.size, mc.num_devices, mc.granularity, holds()) == (STEP, 2, STEP, (1, 0))
        assert (sim.world().multicast[0].devices, sim.world().multicast[0].missing) == ((1, 3), 0)
    assert holds() == (0, 0)


def test_an_object_of_a_number_of_devices_has_them_added_one_by_one() -> None:
    with MulticastObject.create(num_devices=2, size=STEP) as mc:
        mc.add_device(Device(5))
        assert sim.world().multicast[0].missing == 1
        mc.add_device(0)
        assert sim.world().multicast[0].devices == (0, 5)


@pytest.mark.parametrize(
    ("size", "policy", "rounded"),
    [
        (1, "minimum", STEP),
        (STEP, "minimum", STEP),
        (STEP + 1, "minimum", 2 * STEP),
        (PAGE + 1, "minimum", PAGE + STEP),
        (1, "recommended", STEP),
        (PAGE, "recommended", PAGE),
        (PAGE + 1, "recommended", 2 * PAGE),
    ],
)
def test_sizes_of_objects_are_rounded_up_to_the_granularity_of_the_policy(size: int, policy: Any, rounded: int) -> None:
    with MulticastObject.create(range(8), size, granularity=policy) as mc:
        assert (mc.size, mc.size % mc.granularity) == (rounded, 0)


@pytest.mark.parametrize("policy", ["minimum", "recommended"])
def test_sizes_of_memory_are_rounded_up(policy: Any) -> None:
    with PhysicalMemory.create(Device(2), STEP + 1, granularity=policy) as memory:
        assert (memory.size, memory.device, sim.world().allocations[0].device) == (2 * STEP, 2, 2)


@pytest.mark.parametrize(
    ("kinds", "mask"),
    [
        ((), 0),
        ("posix_fd", 1),
        ("fabric", 8),
        (["posix_fd", "fabric"], 9),
        (driver.MemAllocationHandleType.POSIX_FILE_DESCRIPTOR, 1),
    ],
)
def test_kinds_of_handles_are_asked_for_at_creation(kinds: Any, mask: int) -> None:
    with PhysicalMemory.create(0, 1, handle_types=kinds), MulticastObject.create([0], 1, handle_types=kinds):
        assert sim.world().allocations[0].handle_types == mask


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: MulticastObject.create([0, 1], 0), ValueError, "size 0: at least 1 byte"),
    (lambda: MulticastObject.create([0, 1], -5), ValueError, "size -5: at least 1 byte"),
    (lambda: MulticastObject.create(size=1), TypeError, "num_devices"),
    (lambda: MulticastObject.create([0], 1, num_devices=1), TypeError, "num_devices"),
    (lambda: MulticastObject.create([0, 1, 0], 1), ValueError, "device 0 stands twice"),
    (lambda: MulticastObject.create([], 1), ValueError, "the number of devices 0: at least 1"),
    (lambda: MulticastObject.create(num_devices=0, size=1), ValueError, "num_devices 0: at least 1"),
    (lambda: MulticastObject.create([0, 8], 1), ValueError, "device 8: this process sees 8 devices, 0 to 7"),
    (lambda: MulticastObject.create([-1], 1), ValueError, "device -1: this process sees 8 devices, 0 to 7"),
    (lambda: MulticastObject.create(["0"], 1), TypeError, "'0' is no device"),
    (lambda: MulticastObject.create([0.0], 1), TypeError, "0.0 is no device"),
    (lambda: MulticastObject.create([0], 1, granularity="most"), ValueError, "'minimum' or 'recommended'"),  # type: ignore[arg-type]
    (lambda: MulticastObject.create([0], 1, handle_types="fd"), ValueError, "'posix_fd' or 'fabric'"),
    (lambda: MulticastObject.create([0], 1, handle_types=2), ValueError, "'posix_fd' or 'fabric'"),
    (
        lambda: MulticastObject.create([0], 1 << 64),
        ValueError,
        "size 18446744073709551616: at most 9223372036854775807",
    ),
    (lambda: MulticastObject.create([0], 1.5), TypeError, "size 1.5: a whole number is needed"),  # type: ignore[arg-type]
    (lambda: MulticastObject.create(num_devices=1 << 32, size=1), ValueError, "num_devices 4294967296: at most"),
    (lambda: MulticastObject.import_(1 << 31, "posix_fd"), ValueError, "2147483648 is no file descriptor"),
    (lambda: MulticastObject.import_(-1, "posix_fd"), ValueError, "-1 is no file descriptor"),
    (lambda: MulticastObject.import_(5, float("inf")), TypeError, "inf: a whole number is needed"),  # type: ignore[arg-type]
    (lambda: MulticastObject.import_(5, "posix_fd", num_devices=-1), ValueError, "num_devices -1: at least 1 device"),
    (lambda: MulticastObject.import_(5, "posix_fd", granularity=0), ValueError, "granularity 0: at least 1 byte"),
    (lambda: PhysicalMemory.create(0, 1 << 63), ValueError, "size 9223372036854775808: at most 9223372036854775807"),
    (lambda: PhysicalMemory.create(8, 1), ValueError, "device 8: this process sees 8 devices, 0 to 7"),
    (lambda: PhysicalMemory.create(0, 0), ValueError, "size 0: at least 1 byte"),
    (lambda: PhysicalMemory.create(0, 1, handle_types=["posix_fd", "x"]), ValueError, "'x' is no kind"),
    (lambda: PhysicalMemory.import_(b"x" * 63, "fabric", STEP), ValueError, "63 bytes .* it has 64"),
    (lambda: PhysicalMemory.import_(5, "fabric", STEP), TypeError, "not an int"),
    (lambda: PhysicalMemory.import_(b"x" * 64, "posix_fd", STEP), TypeError, "not bytes"),
    (lambda: PhysicalMemory.import_(b"x" * 64, "fabric", 0), ValueError, "size 0: at least 1 byte"),
]


@pytest.mark.parametrize(("make", "kind", "text"), BAD, ids=[f"{row[2]}-{number}" for number, row in enumerate(BAD)])
def test_bad_arguments_are_named_with_what_would_do_and_leave_nothing(
    make: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        make()
    assert holds() == (0, 0)


@pytest.mark.parametrize("call", ["cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastGetGranularity"])
@pytest.mark.parametrize("nth", [1, 3])
def test_an_object_that_fails_half_way_leaves_no_trace(cuda_machine: CudaMachine, call: str, nth: int) -> None:
    fails = nth == 1 or call == "cuMulticastAddDevice"
    cuda_machine.faults.set(f"fail:{call}:nth={nth}:status=2")
    if fails:
        with pytest.raises(driver.OutOfMemoryError, match="OUT_OF_MEMORY"):
            MulticastObject.create(range(4), STEP)
        assert holds() == (0, 0)
    with MulticastObject.create(range(4), STEP):
        assert holds() == (1, 0)


@pytest.mark.cuda_machine(leaks="ignore")  # what is refused stays
def test_what_cannot_be_undone_is_a_note_of_what_went_wrong(cuda_machine: CudaMachine) -> None:
    cuda_machine.faults.set("fail:cuMulticastAddDevice:nth=2:status=2", "fail:cuMemRelease:status=999")
    with pytest.raises(driver.OutOfMemoryError) as caught:
        MulticastObject.create(range(4), STEP)
    assert any("could not be undone: ERROR_UNKNOWN" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("call", ["cuMemCreate", "cuMemGetAllocationGranularity"])
def test_memory_that_fails_leaves_no_trace(cuda_machine: CudaMachine, call: str) -> None:
    cuda_machine.faults.set(f"fail:{call}:status=2")
    with pytest.raises(driver.OutOfMemoryError):
        PhysicalMemory.create(0, STEP)
    assert holds() == (0, 0)
    PhysicalMemory.create(0, STEP).close()


@pytest.mark.parametrize("call", ["cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"])
@pytest.mark.parametrize("what", ["memory", "object"])
def test_a_map_that_fails_half_way_leaves_no_trace(cuda_machine: CudaMachine, call: str, what: str) -> None:
    with MulticastObject.create([0], STEP) as mc, PhysicalMemory.create(0, STEP) as memory:
        thing = memory if what == "memory" else mc
        cuda_machine.faults.set(f"fail:{call}:status=999")
        with pytest.raises(driver.DriverError, match="UNKNOWN"):
            thing.map(0)
        assert not [leak for leak in cuda_machine.leaks() if "mapping" in str(leak) or "reservation" in str(leak)]
        with thing.map(0) as mapping:
            assert mapping.size == STEP


def test_the_driver_says_why_it_refuses() -> None:
    sim.faults.set("imex=none")
    with pytest.raises(driver.NotPermittedError) as caught:
        MulticastObject.create([0], STEP, handle_types="fabric")
    assert (caught.value.status, caught.value.__notes__[0][:5]) == (800, "MC604")


@pytest.mark.cuda_machine(machine="hgx-a100-8")
def test_machines_without_multicast_have_memory_and_no_objects() -> None:
    with PhysicalMemory.create(0, 1) as memory, memory.map():
        with pytest.raises(driver.NotSupportedError) as caught:
            MulticastObject.create([0, 1], 1)
        assert "MULTICAST_SUPPORTED is 0" in caught.value.__notes__[0]


# ---- the end


def test_what_is_closed_refuses_to_go_on_and_close_is_done_once() -> None:
    memory, mc = PhysicalMemory.create(0, STEP), MulticastObject.create([0], STEP)
    for thing in (memory, mc):
        assert not thing.closed
        thing.close()
        thing.close()
        assert thing.closed
    refused: list[Callable[[], Any]] = [
        memory.map,
        mc.map,
        lambda: memory.export("posix_fd"),
        lambda: mc.export("posix_fd"),
        lambda: mc.add_device(0),
        lambda: mc.bind_memory(memory),
        lambda: mc.bind_address(0, STEP),
        lambda: MulticastObject.__enter__(mc).add_device(0),
    ]
    for call in refused:
        with pytest.raises(ValueError, match="is closed"):
            call()


def test_memory_that_is_closed_is_not_bound() -> None:
    memory = PhysicalMemory.create(0, STEP)
    memory.close()
    with MulticastObject.create([0], STEP) as mc, pytest.raises(ValueError, match=r"PhysicalMemory\(.* is closed"):
        mc.bind_memory(memory)


def forget(things: dict[str, Any]) -> None:
    things.clear()
    gc.collect()


@pytest.mark.cuda_machine(leaks="ignore")
@pytest.mark.parametrize("what", ["memory", "object", "mapping", "binding"])
def test_what_is_forgotten_warns_and_is_not_closed_by_the_garbage_collector(what: str) -> None:
    memory, mc = PhysicalMemory.create(0, STEP), MulticastObject.create([0], STEP)
    things: dict[str, Any] = {"memory": memory, "object": mc}
    if what == "mapping":
        things["mapping"] = memory.map()
    if what == "binding":
        things["binding"] = mc.bind_memory(memory.handle, size=STEP)
    before = sim.world()
    del memory, mc
    with pytest.warns(ResourceWarning, match="was never closed"):
        forget(things)
    after = sim.world()
    assert (after.multicast, after.allocations) == (before.multicast, before.allocations)
