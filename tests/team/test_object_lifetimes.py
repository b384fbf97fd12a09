"""Every order of closing is legal and leaves nothing; a refused step keeps none of the others from being done."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest
from driver_calls import noted

from cumulticast import Binding, Mapping, MulticastObject, PhysicalMemory, driver, sim
from cumulticast.team.resource import Resource
from cumulticast.testing import CudaMachine

STEP = 2 << 20
KINDS = ("object", "memory", "binding", "mapping of the object", "mapping of the memory")

pytestmark = pytest.mark.usefixtures("cuda_machine")


def built() -> dict[str, Resource]:
    """Make an object with memory bound twice and everything mapped."""
    mc, memory = MulticastObject.create([0], 2 * STEP), PhysicalMemory.create(0, 2 * STEP)
    binding = mc.bind_memory(memory, size=STEP)
    mc.bind_memory(memory, mem_offset=STEP, size=STEP)
    made = (mc, memory, binding, mc.map(0), memory.map())
    return dict(zip(KINDS, made, strict=True))


def empty() -> bool:
    picture = sim.world()
    return not picture.multicast and not picture.allocations


@pytest.mark.parametrize("machine", [pytest.param(m, marks=pytest.mark.cuda_machine(machine=m)) for m in
                                     ("hgx-h100-8", "hgx-b200-8")])  # fmt: skip
def test_every_order_of_closing_is_legal_and_leaves_nothing(machine: str, cuda_machine: CudaMachine) -> None:
    """B200 refuses to unbind memory that is gone, so memory unbinds itself first."""
    assert cuda_machine.machine == machine
    for order in permutations(KINDS):
        things = built()
        for kind in order:
            things[kind].close()
            things[kind].close()
        assert empty() and not cuda_machine.leaks(), order
        assert all(thing.closed for thing in things.values())
    assert not cuda_machine.findings


def test_an_open_mapping_keeps_memory_readable_after_its_memory_is_closed() -> None:
    with PhysicalMemory.create(0, STEP) as memory:
        mapping = memory.map()
    assert len(sim.world().allocations) == 1
    mapping.close()
    assert empty()


def test_an_object_closes_its_own_mappings_and_bindings() -> None:
    with MulticastObject.create([0], STEP) as mc, PhysicalMemory.create(0, STEP) as memory:
        mapping, binding = mc.map(0), mc.bind_memory(memory)
        mc.close()
        assert mapping.closed and binding.closed and memory.bindings == [] and not memory.closed


def test_memory_closes_its_bindings_in_all_objects() -> None:
    with MulticastObject.create([0], STEP) as one, MulticastObject.create([0], STEP) as two:
        with PhysicalMemory.create(0, STEP) as memory:
            bindings = [mc.bind_memory(memory) for mc in (one, two)]
        assert all(binding.closed for binding in bindings) and one.bindings == two.bindings == []


REFUSALS: list[tuple[str, int, Callable[[dict[str, Resource]], None]]] = [
    ("cuMulticastUnbind", 1, lambda things: things["object"].close()),
    ("cuMulticastUnbind", 2, lambda things: things["object"].close()),
    ("cuMemUnmap", 1, lambda things: things["object"].close()),
    ("cuMemRelease", 1, lambda things: things["object"].close()),
    ("cuMulticastUnbind", 1, lambda things: things["memory"].close()),
    ("cuMemUnmap", 1, lambda things: things["mapping of the memory"].close()),
]


@pytest.mark.cuda_machine(leaks="ignore")  # what is refused stays
@pytest.mark.parametrize(("call", "nth", "close"), REFUSALS)
def test_a_refused_step_keeps_none_of_the_others_from_being_done(
    cuda_machine: CudaMachine, call: str, nth: int, close: Callable[[dict[str, Resource]], None]
) -> None:
    things, others = built(), built()
    with noted() as good:
        close(others)
    cuda_machine.faults.set(f"fail:{call}:nth={nth}:status=999")
    with noted() as refused, pytest.raises(driver.DriverError) as caught:
        close(things)
    assert caught.value.status == 999
    follows = [note for note in caught.value.__notes__ if note.startswith("another step:")]
    assert len(follows) == (call == "cuMemUnmap")  # what is still mapped cannot be freed
    del good[[place for place, name in enumerate(good) if name == call][nth - 1]]  # a fault strikes before it is noted
    assert refused == good
    for thing in (*things.values(), *others.values()):
        thing.close()


def test_the_words_for_each_kind() -> None:
    things = built()
    shown = [repr(things[kind]) for kind in KINDS[:3]]
    assert shown == [
        f"MulticastObject(size={2 * STEP}, num_devices=1)",
        f"PhysicalMemory(size={2 * STEP}, device=0)",
        f"Binding(device=0, mc_offset=0, size={STEP})",
    ]
    assert isinstance(things["binding"], Binding) and isinstance(things[KINDS[3]], Mapping)
    assert repr(things[KINDS[3]]).endswith(f"size={2 * STEP})")
    for thing in things.values():
        thing.close()
