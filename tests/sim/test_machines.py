"""The machine presets: recorded values are answered, each value has its evidence, errors name what helps."""

import json
import tomllib
from pathlib import Path

import pytest
from cuda.bindings import driver as cuda

from cumulticast.sim import presets
from cumulticast.sim.machine import load, names

TRANSCRIPT = Path(__file__).parents[1] / "data" / "transcripts" / "h200-580.159-vmm.json"
PREFIX = "CU_DEVICE_ATTRIBUTE_"
MIB = 1 << 20
ALL = (
    "gb200-nvl72",
    "h200-vm-1",
    "hgx-a100-8",
    "hgx-b200-8",
    "hgx-h100-8",
    "hgx-h200-8",
    "pcie-h100-2",
    "rubin-nvl72",
)


def number(attribute: str) -> int:
    return int(getattr(cuda.CUdevice_attribute, PREFIX + attribute))


def recorded() -> dict[str, list[object]]:
    steps = json.loads(TRANSCRIPT.read_text())["groups"]["attrs"]
    return {step: [status, *outputs] for step, status, outputs in steps}


def test_the_presets_are_those_that_users_rely_on():
    assert names() == ALL


def test_attribute_numbers_are_those_of_the_bindings():
    ours = presets.attribute_numbers()
    assert {name: number(name) for name in ours} == dict(ours)
    theirs = {int(member) for name, member in cuda.CUdevice_attribute.__members__.items() if not name.endswith("_MAX")}
    assert set(ours.values()) == theirs


def test_the_recorded_machine_answers_every_attribute_as_recorded():
    steps = {step: answer for step, answer in recorded().items() if step.startswith("attr.")}
    answers = load("h200-vm-1").device(0).attributes
    assert len(steps) > 140
    for step, (status, value) in steps.items():
        if status == 0:
            assert str(answers[number(step.removeprefix("attr."))]) == value, step
        else:  # unknown to that driver
            assert status == 1
            assert number(step.removeprefix("attr.")) not in answers, step


def test_the_recorded_machine_is_the_recorded_one():
    machine, steps = load("h200-vm-1"), recorded()
    assert str(machine.total_memory) == steps["total"][1]
    assert steps["name"][1].startswith(repr(machine.device_name.encode())[:-1])
    assert [str(machine.driver_version)] == steps["cuDriverGetVersion"][1:]
    assert str(machine.memory_granularity) == steps["memgran.ht0.f0"][1]


@pytest.mark.parametrize("name", ALL)
def test_every_value_has_its_evidence(name):
    machine = load(name)
    stated = {number(key.removeprefix("attributes.")) for key in machine.evidence if key.startswith("attributes.")}
    computed = {number("COMPUTE_CAPABILITY_MAJOR"), number("COMPUTE_CAPABILITY_MINOR")}
    assert set(machine.attributes) == stated | computed
    for key, fact in machine.evidence.items():
        assert fact.evidence in presets.KINDS, key
        assert len(fact.source) > 10, key
    made_here = {"name", "title", "attributes", "evidence", "cliques"}
    assert set(machine.__slots__) - made_here == {key for key in machine.evidence if "." not in key}


@pytest.mark.parametrize("name", [name for name in ALL if name != "h200-vm-1"])
def test_only_the_recorded_machine_claims_recordings(name):
    facts = load(name).evidence
    assert not [key for key, fact in facts.items() if fact.evidence == "recorded"]
    assert facts["attributes.WARP_SIZE"].source.startswith("as recorded for h200-vm-1: ")


def test_what_is_documented_of_one_machine_is_only_assumed_of_another():
    assert load("hgx-h100-8").evidence["attributes.L2_CACHE_SIZE"].evidence == "documented"
    inherited = load("gb200-nvl72").evidence["attributes.GLOBAL_MEMORY_BUS_WIDTH"]
    assert inherited.value == 7680
    assert inherited.evidence == "assumed"
    assert inherited.source.startswith("as documented for hgx-b200-8: ")


def test_a_fact_stands_once_and_is_not_repeated_by_heirs():
    for path in presets.MACHINES.glob("*.toml"):
        base = tomllib.loads(path.read_text()).get("base")
        if base is None or base.startswith("_"):
            continue
        own = dict(presets._own(path.stem, presets._read(path.stem)))
        again = {k for k, fact in presets._collect(base).items() if k in own and own[k].value == fact.value}
        # repeated on purpose: evidence of its own for a value that was only assumed otherwise
        assert all(own[key].evidence == "documented" for key in again), (path.stem, again)


@pytest.mark.parametrize(
    ("name", "supported", "slots"),
    [
        ("hgx-a100-8", 0, 0),
        ("pcie-h100-2", 0, 0),
        ("h200-vm-1", 0, 0),
        ("hgx-h100-8", 1, 128),
        ("hgx-h200-8", 1, 128),
        ("hgx-b200-8", 1, 128),
        ("gb200-nvl72", 1, 1024),
        ("rubin-nvl72", 1, 1024),
    ],
)
def test_multicast_support_and_slots(name, supported, slots):
    machine = load(name)
    assert machine.attributes[number("MULTICAST_SUPPORTED")] == supported
    assert machine.multicast_slots == slots
    assert machine.fabric == bool(supported) == bool(machine.clique_types)


@pytest.mark.parametrize(
    ("name", "capability", "mebibytes"),
    [
        ("hgx-a100-8", (8, 0), 81251),
        ("hgx-h100-8", (9, 0), 81089),
        ("pcie-h100-2", (9, 0), 81008),
        ("hgx-b200-8", (10, 0), 182642),
        ("gb200-nvl72", (10, 0), 184 * 1024),
        ("rubin-nvl72", (10, 7), 272 * 1024),
    ],
)
def test_capability_and_memory(name, capability, mebibytes):
    machine = load(name)
    assert machine.compute_capability == capability
    assert machine.total_memory == mebibytes * MIB
    attributes = machine.device(0).attributes
    major, minor = number("COMPUTE_CAPABILITY_MAJOR"), number("COMPUTE_CAPABILITY_MINOR")
    assert (attributes[major], attributes[minor]) == capability


def test_only_sm_107_binds_memory_at_256_bytes():
    finer = {name: load(name).unaligned_binds for name in ALL if load(name).bind_memory_granularity != 2 * MIB}
    assert finer == {"rubin-nvl72": 1024}
    assert load("rubin-nvl72").bind_memory_granularity == 256


def test_recommended_granularity_grows_with_the_object():
    machine = load("hgx-h100-8")
    answers = [machine.recommended_granularity(size) for size in (0, 6 * MIB, 512 * MIB - 1, 512 * MIB, 1 << 40)]
    assert answers == [2 * MIB, 2 * MIB, 2 * MIB, 512 * MIB, 512 * MIB]


def test_devices_are_told_apart_and_are_the_same_in_every_process():
    devices = load("gb200-nvl72").devices
    assert [(d.index, d.node, d.ordinal) for d in devices] == [(i, i // 4, i % 4) for i in range(72)]
    assert len({d.uuid for d in devices}) == 72
    assert len({d.cluster_uuid for d in devices}) == 1
    assert any(devices[0].cluster_uuid)
    assert devices[71] == load("gb200-nvl72").device(71)
    # pinned: a change here would give every simulated device another name
    assert load("hgx-h100-8").device(7).uuid == bytes.fromhex("1428af645d67ecc6865b11182824b419")


def test_attributes_that_differ_between_devices():
    tray = load("gb200-nvl72").devices[4:8]
    assert [d.attributes[number("NUMA_ID")] for d in tray] == [2, 10, 18, 26]
    assert [d.attributes[number("HOST_NUMA_ID")] for d in tray] == [0, 0, 1, 1]
    assert [d.attributes[number("PCI_DOMAIN_ID")] for d in tray] == [8, 9, 0x18, 0x19]
    assert load("hgx-h100-8").device(1).attributes[number("PCI_BUS_ID")] == 0x43
    assert load("gb200-nvl72").host_numa_nodes == (0, 1)


@pytest.mark.parametrize("name", ALL)
def test_every_ordinal_has_an_address_and_numa_ids(name):
    machine = load(name)
    per_node = machine.devices_per_node
    assert len(set(machine.pci_addresses)) == len(machine.host_numa_ids) == len(machine.numa_ids) == per_node


def test_a_part_of_a_machine_keeps_its_devices():
    part = load("gb200-nvl72", devices=2, nodes=3)
    assert (part.devices_per_node, part.nodes, part.device_count) == (2, 3, 6)
    assert part.cliques == (6,)
    whole = load("gb200-nvl72")
    assert [d.uuid for d in part.devices] == [whole.device(i).uuid for i in (0, 1, 4, 5, 8, 9)]
    with pytest.raises(IndexError, match="devices 0 to 5, not 6"):
        part.device(6)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("hgx-h100",), "machine 'hgx-h100' is unknown; nearest hgx-h100-8; all: gb200-nvl72"),
        (("_hgx",), "machine '_hgx' is unknown; nearest hgx-"),
        (("hgx-h100-8", 9), "has 8 devices per node: 9 is not between 1 and 8; nearest 8"),
        (("hgx-h100-8", 0), "has 8 devices per node: 0 is not between 1 and 8; nearest 1"),
        (("hgx-h100-8", 8, 2), "has 1 nodes: 2 is not between 1 and 1; nearest 1"),
        (("gb200-nvl72", 4, 0), "has 18 nodes: 0 is not between 1 and 18; nearest 1"),
    ],
)
def test_a_machine_that_does_not_exist_is_refused_with_the_nearest(arguments, text):
    with pytest.raises(ValueError) as refusal:
        load(*arguments)
    assert text in str(refusal.value)


def test_the_limits_themselves_are_accepted():
    assert load("hgx-h100-8", 8, 1) == load("hgx-h100-8")
    assert load("gb200-nvl72", 1, 18).device_count == 18


def test_cliques_split_the_devices_in_order():
    machine = load("hgx-h100-8")
    assert {d.clique for d in machine.devices} == {0}
    split = machine.with_cliques(4, 2)
    assert [d.clique for d in split.devices] == [0, 0, 0, 0, 1, 1, 2, 2]
    assert machine.with_cliques(4, 4).cliques == (4, 4)
    assert load("gb200-nvl72").device(0).clique == 1
    for sizes in ((), (0, 8), (5, 4)):
        with pytest.raises(ValueError, match="hgx-h100-8 has 8"):
            machine.with_cliques(*sizes)
    with pytest.raises(ValueError, match="no fabric"):
        load("hgx-a100-8").with_cliques(4, 4)
    assert load("hgx-a100-8").device(0).clique is None
