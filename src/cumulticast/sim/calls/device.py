"""Devices: how many, what they are, what they can do, how they reach each other."""

from __future__ import annotations

import re
import struct

from cumulticast.rules import devices
from cumulticast.sim.entry import entry
from cumulticast.sim.lookup import device_of
from cumulticast.sim.process import Process

PERFORMANCE_RANK, ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED, ARRAY_ACCESS_SUPPORTED = 1, 2, 3, 4


@entry("cuDeviceGetCount", locked=False)
def device_get_count(process: Process) -> int:
    """Count the devices of this node."""
    return len(process.devices)


@entry("cuDeviceGet", locked=False)
def device_get(process: Process, ordinal: int) -> int:
    """Answer the device with this ordinal."""
    return device_of(process, ordinal).ordinal


@entry("cuDeviceGetName")
def device_get_name(process: Process, length: int, dev: int) -> bytes:
    """Answer the device's name, cut to ``length`` bytes with its NUL."""
    device_of(process, dev)
    return _c_string(process.machine.device_name, length)


@entry("cuDeviceGetPCIBusId")
def device_get_pci_bus_id(process: Process, length: int, dev: int) -> bytes:
    """Answer ``domain:bus:device.function``."""
    address = device_of(process, dev).pci_address
    process.driver.judge(devices.bus_id_room, length, len(address) + 1)
    return _c_string(address, length)


@entry("cuDeviceGetByPCIBusId")
def device_get_by_pci_bus_id(process: Process, bus_id: bytes) -> int:
    """Answer the device at ``domain:bus:device.function``; domain and function may be left out."""
    text, judge = bus_id.decode(errors="replace"), process.driver.judge
    parts = re.fullmatch(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-9a-fA-F]))?", text)
    judge(devices.bus_id_text, text, parts is not None)
    assert parts is not None
    wanted = tuple(int(part or "0", 16) for part in parts.groups())
    found = [d.ordinal for d in process.devices if _place(d.pci_address) == wanted]
    judge(devices.bus_id_known, text, bool(found))
    return found[0]


def _place(address: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in re.split("[:.]", address))


def _c_string(text: str, length: int) -> bytes:
    return text.encode()[: max(length - 1, 0)].ljust(length, b"\0")  # recorded: filled with NULs to the end


@entry("cuDeviceGetUuid", "cuDeviceGetUuid_v2")
def device_get_uuid(process: Process, dev: int) -> bytes:
    """Answer the device's 16 bytes."""
    return device_of(process, dev).uuid


@entry("cuDeviceTotalMem_v2")
def device_total_mem(process: Process, dev: int) -> int:
    """Answer the device's memory in bytes."""
    device_of(process, dev)
    return process.machine.total_memory


@entry("cuDeviceGetAttribute")
def device_get_attribute(process: Process, attribute: int, dev: int) -> int:
    """Answer one attribute of a device."""
    attributes = device_of(process, dev).attributes
    process.driver.judge(devices.attribute_known, attribute, attribute in attributes)
    return attributes[attribute]


@entry("cuDeviceComputeCapability")
def device_compute_capability(process: Process, dev: int) -> tuple[int, int]:
    """Answer major and minor."""
    device_of(process, dev)
    return process.machine.compute_capability


@entry("cuDeviceCanAccessPeer")
def device_can_access_peer(process: Process, dev: int, peer: int) -> int:
    """Tell whether a device reaches another one's memory; never its own."""
    for ordinal in (dev, peer):
        device_of(process, ordinal)
    return int(dev != peer and process.machine.peer_access != "none")


@entry("cuDeviceGetP2PAttribute")
def device_get_p2p_attribute(process: Process, attribute: int, src: int, dst: int) -> int:
    """Answer one attribute of the link between two devices."""
    judge = process.driver.judge
    judge(devices.link_between_two, src, dst, len(process.devices))
    reach, nvlink = process.machine.peer_access != "none", process.machine.peer_access == "nvlink"
    values = {
        PERFORMANCE_RANK: 0,
        ACCESS_SUPPORTED: int(reach),
        NATIVE_ATOMIC_SUPPORTED: int(nvlink),
        ARRAY_ACCESS_SUPPORTED: int(reach),
    }
    judge(devices.link_attribute_known, attribute, attribute in values)
    return values[attribute]


# ---- fabric


@entry("cuDeviceGetCliqueCount")
def device_get_clique_count(process: Process, dev: int) -> int:
    """Count the cliques a device is in."""
    return len(_cliques(process, dev))


@entry("cuDeviceGetCliqueInfo")
def device_get_clique_info(process: Process, capacity: int, dev: int) -> tuple[bytes, int]:
    """Answer (type, id) of as many cliques as there is room for, and how many that were."""
    cliques = _cliques(process, dev)
    process.driver.judge(devices.clique_capacity, capacity, len(cliques))
    shown = cliques[:capacity]
    return b"".join(struct.pack("<iI", kind, number) for kind, number in shown), len(shown)


def _cliques(process: Process, dev: int) -> list[tuple[int, int]]:
    device = device_of(process, dev)
    process.driver.judge(devices.has_fabric, dev, process.machine.fabric)
    return [(kind, process.clique(device.index)) for kind in sorted(process.machine.clique_types)]


@entry("cuDeviceGetFabricClusterUuid")
def device_get_fabric_cluster_uuid(process: Process, dev: int) -> bytes:
    """Answer the 16 bytes that all nodes of one NVLink domain share."""
    device = device_of(process, dev)
    process.driver.judge(devices.has_fabric, dev, process.machine.fabric)
    return device.cluster_uuid
