"""Machines as values: what a simulated machine is made of, loaded from the presets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from cumulticast.sim.presets import Fact, attribute_numbers, facts, names, title

__all__ = ["Device", "Machine", "load", "names"]

PeerAccess = Literal["none", "pcie", "nvlink"]


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU of a machine.

    Attributes
    ----------
    index : int
        Its number in the whole machine, node by node.
    node, ordinal : int
        The node it is in and its CUDA ordinal there.
    uuid, cluster_uuid : bytes
        16 bytes each; a cluster UUID of zeros: no fabric beyond this node.
    pci_address : str
        ``domain:bus:device.function`` in hexadecimal, as cuDeviceGetPCIBusId writes it.
    clique : int or None
        The fabric clique; None without a fabric.
    attributes : mapping of int to int
        CUdevice_attribute number → value; a number that is missing is unknown to this driver (error 1).
    """

    index: int
    node: int
    ordinal: int
    uuid: bytes
    cluster_uuid: bytes
    pci_address: str
    clique: int | None
    attributes: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: nodes of equal devices, and what their driver and fabric can do. Sizes are in bytes.

    Attributes
    ----------
    name, title : str
        The preset and its one-line description.
    nodes, devices_per_node : int
        How many there are; possibly fewer than the preset has.
    driver_version : int
        1000 × major + 10 × minor.
    device_name : str
        As cuDeviceGetName answers.
    total_memory : int
        Of each device, as cuDeviceTotalMem answers.
    compute_capability : tuple of int
        Major and minor.
    attributes : mapping of int to int
        What all devices answer; `Device.attributes` adds what differs between them.
    memory_granularity : int
        Minimum and recommended granularity of cuMemCreate.
    multicast_granularity, multicast_recommended_granularity, multicast_recommended_from : int
        MINIMUM; RECOMMENDED for objects of at least `multicast_recommended_from`, below that MINIMUM.
    multicast_extent : int
        An object's extent on hardware is its size rounded up to this.
    multicast_slots : int
        Multicast groups that the switches of one clique can hold.
    bind_memory_granularity : int
        What mem_offset and memptr must be multiples of: 256 on SM_107.
    unaligned_binds : int
        Stock of binds, per device, that use the finer one.
    imex_channels : int
        0: fabric handles are refused (800).
    fabric : bool
        The devices answer clique queries.
    clique_types : tuple of int
        The CUcliqueType values reported.
    first_clique_id : int
        The id of the first clique; later ones count up.
    cliques : tuple of int
        How many devices each clique has, in order of index; empty without a fabric.
    cluster : bool
        The cluster UUID is not all zeros.
    peer_access : {"none", "pcie", "nvlink"}
        How devices of one node reach each other's memory; nvlink has native atomics.
    pci_addresses, host_numa_ids, numa_ids : tuple
        Of each ordinal.
    evidence : mapping of str to Fact
        Every fact of the preset with its evidence; attributes as ``attributes.NAME``.
    """

    name: str
    title: str
    nodes: int
    devices_per_node: int
    driver_version: int
    device_name: str
    total_memory: int
    compute_capability: tuple[int, int]
    attributes: Mapping[int, int]
    memory_granularity: int
    multicast_granularity: int
    multicast_recommended_granularity: int
    multicast_recommended_from: int
    multicast_extent: int
    multicast_slots: int
    bind_memory_granularity: int
    unaligned_binds: int
    imex_channels: int
    fabric: bool
    clique_types: tuple[int, ...]
    first_clique_id: int
    cliques: tuple[int, ...]
    cluster: bool
    peer_access: PeerAccess
    pci_addresses: tuple[str, ...]
    host_numa_ids: tuple[int, ...]
    numa_ids: tuple[int, ...]
    evidence: Mapping[str, Fact]

    @property
    def device_count(self) -> int:
        """Count the devices of all nodes."""
        return self.nodes * self.devices_per_node

    @property
    def devices(self) -> tuple[Device, ...]:
        """Return all devices, node by node."""
        return tuple(map(self.device, range(self.device_count)))

    @property
    def multicast_supported(self) -> bool:
        """Whether the devices have CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED."""
        return self.attributes.get(attribute_numbers()["MULTICAST_SUPPORTED"]) == 1

    @property
    def host_numa_nodes(self) -> tuple[int, ...]:
        """Return the NUMA ids of one node's host memory; empty without NUMA (HOST_NUMA_ID -1)."""
        return tuple(sorted(set(self.host_numa_ids) - {-1}))

    def device(self, index: int) -> Device:
        """Return the device numbered `index` in the whole machine; IndexError where there is none."""
        if not 0 <= index < self.device_count:
            raise IndexError(f"{self.name} has devices 0 to {self.device_count - 1}, not {index}")
        node, ordinal = divmod(index, self.devices_per_node)
        return Device(
            index=index,
            node=node,
            ordinal=ordinal,
            uuid=_identity(self.name, "device", node, ordinal),
            cluster_uuid=_identity(self.name, "cluster") if self.cluster else bytes(16),
            pci_address=self.pci_addresses[ordinal],
            clique=self._clique_of(index),
            attributes=MappingProxyType({**self.attributes, **self._own_attributes(ordinal)}),
        )

    def recommended_granularity(self, size: int) -> int:
        """Answer cuMulticastGetGranularity(RECOMMENDED) for an object of `size` bytes."""
        if size < self.multicast_recommended_from:
            return self.multicast_granularity
        return self.multicast_recommended_granularity

    def with_cliques(self, *sizes: int) -> Machine:
        """Return this machine with its devices split into cliques of these sizes; the rest forms one more.

        Raises
        ------
        ValueError
            There is no fabric, a size is not positive, or the sizes exceed the devices.
        """
        if not self.fabric:
            raise ValueError(f"machine {self.name} has no fabric and so no cliques to split")
        if min(sizes, default=0) < 1 or sum(sizes) > self.device_count:
            raise ValueError(f"cliques {sizes}: each needs a device and {self.name} has {self.device_count}")
        rest = self.device_count - sum(sizes)
        return replace(self, cliques=(*sizes, rest) if rest else sizes)

    def _clique_of(self, index: int) -> int | None:
        end = 0
        for number, size in enumerate(self.cliques):
            end += size
            if index < end:
                return self.first_clique_id + number
        return None

    def _own_attributes(self, ordinal: int) -> dict[int, int]:
        domain, bus, slot = self.pci_addresses[ordinal].partition(".")[0].split(":")
        numbers = attribute_numbers()
        return {
            numbers["PCI_DOMAIN_ID"]: int(domain, 16),
            numbers["PCI_BUS_ID"]: int(bus, 16),
            numbers["PCI_DEVICE_ID"]: int(slot, 16),
            numbers["HOST_NUMA_ID"]: self.host_numa_ids[ordinal],
            numbers["NUMA_ID"]: self.numa_ids[ordinal],
        }


def load(name: str, devices: int | None = None, nodes: int | None = None) -> Machine:
    """Load a preset, or a part of it.

    Parameters
    ----------
    name : str
        One of `names()`.
    devices, nodes : int, optional
        Devices per node and nodes, if fewer than the preset has.

    Raises
    ------
    ValueError
        Unknown name, or a number that is 0 or more than the preset has; the text names the nearest legal one.
    """
    evidence = facts(name)
    values = {key: fact.value for key, fact in evidence.items() if not key.startswith("attributes.")}
    values["devices_per_node"] = _part(name, "devices per node", devices, values["devices_per_node"])
    values["nodes"] = _part(name, "nodes", nodes, values["nodes"])
    count = values["devices_per_node"] * values["nodes"]
    return Machine(
        name=name,
        title=title(name),
        attributes=MappingProxyType(_attributes(evidence)),
        cliques=(count,) if values["fabric"] else (),
        evidence=MappingProxyType(dict(evidence)),
        **values,
    )


def _part(name: str, what: str, wanted: int | None, most: int) -> int:
    if wanted is None or 1 <= wanted <= most:
        return most if wanted is None else wanted
    nearest = 1 if wanted < 1 else most
    raise ValueError(f"machine {name} has {most} {what}: {wanted} is not between 1 and {most}; nearest {nearest}")


def _attributes(evidence: Mapping[str, Fact]) -> dict[int, int]:
    numbers = attribute_numbers()
    found = {numbers[key.removeprefix("attributes.")]: fact.value for key, fact in evidence.items() if "." in key}
    major, minor = evidence["compute_capability"].value
    return {**found, numbers["COMPUTE_CAPABILITY_MAJOR"]: major, numbers["COMPUTE_CAPABILITY_MINOR"]: minor}


def _identity(*parts: Any) -> bytes:
    """Make 16 bytes that are the same in every process and for every run."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:16]
