"""MC100 to MC199: device queries, links between devices, fabric cliques."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import no_device

_P2P = ("cuDeviceGetP2PAttribute",)


@rule(
    "MC101",
    "a device attribute is one that the driver knows",
    calls=("cuDeviceGetAttribute",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("device_get_attribute", "Returns in ``*pi`` the integer value of the attribute"),
        Transcript("attrs", "attr.ATOMIC_REDUCTION_SUPPORTED"),
        Transcript("devices", "attribute.1000", recording="driver"),
    ),
    spec=("AT10",),
)
def attribute_known(attribute: int, known: bool) -> str | None:
    """Query only attributes that this driver version has.

    The bindings know the attributes of CUDA 13.5; an older driver answers the newer ones with 1, which is not
    the same as the value 0.

        device_get_attribute(9999, dev)                                  # refused
        device_get_attribute(DeviceAttribute.MULTICAST_SUPPORTED, dev)   # good from CUDA 12.1 on

    Fix: treat the refusal as "not supported".
    """
    return None if known else f"attribute {attribute} is not known to this driver"


@rule(
    "MC110",
    "a link query names two different devices",
    calls=_P2P,
    status=Status.INVALID_DEVICE,
    evidence="documented",
    source=(
        Document("device_get_p2p_attribute", "are not valid or if they represent the same device"),
        Transcript("devices", "p2p.itself.CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED", recording="driver"),
    ),
    spec=("PC7",),
)
def link_between_two(src_device: int, dst_device: int, count: int) -> str | None:
    """Ask about the link between two different, existing devices.

    A device has no link to itself, so a loop over all pairs must leave the diagonal out.

        device_get_p2p_attribute(attribute, 0, 0)   # refused
        device_get_p2p_attribute(attribute, 0, 1)   # good

    Fix: skip src == dst.
    """
    missing = no_device(src_device, count) or no_device(dst_device, count)
    if missing or src_device != dst_device:
        return missing
    return f"device {src_device} has no link to itself"


@rule(
    "MC111",
    "a link attribute is one that the driver knows",
    calls=_P2P,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("device_get_p2p_attribute", "Returns ``CUDA_ERROR_INVALID_VALUE`` if ``attrib`` is not valid"),
    spec=("PC7",),
)
def link_attribute_known(attrib: int, known: bool) -> str | None:
    """Query one of the members of DeviceP2PAttribute.

    Rank, access, native atomics, array access and partial atomics: 1 to 5.

        device_get_p2p_attribute(0, 0, 1)                                      # refused
        device_get_p2p_attribute(DeviceP2PAttribute.ACCESS_SUPPORTED, 0, 1)    # good

    Fix: pass a member of the enumeration.
    """
    return None if known else f"attrib {attrib} is not a P2P attribute; 1 to 5 are"


@rule(
    "MC120",
    "fabric queries need a fabric",
    calls=("cuDeviceGetCliqueCount", "cuDeviceGetCliqueInfo", "cuDeviceGetFabricClusterUuid"),
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=(
        Document("device_get_clique_count", "Retrieves the number of fabric cliques"),
        Document("CUresult.CUDA_ERROR_NOT_SUPPORTED", "not supported on the current system or device"),
    ),
    spec=("CL1", "CL4"),
)
def has_fabric(dev: int, fabric: bool) -> str | None:
    """Ask for cliques and the cluster UUID only on machines whose GPUs are joined by NVSwitches.

    Cards in PCIe slots, with or without an NVLink bridge, belong to no fabric; NVML says "not supported"
    there, too. On HGX machines a clique exists although the cluster UUID may be all zero.

        device_get_clique_count(0)   # on pcie-h100-2: refused
        device_get_clique_count(0)   # on hgx-h100-8: good

    Fix: treat the refusal as "no multicast", and check the attribute MULTICAST_SUPPORTED.
    """
    return None if fabric else f"device {dev} is not part of a fabric"


@rule(
    "MC121",
    "the array for clique entries holds them all",
    calls=("cuDeviceGetCliqueInfo",),
    kind="advice",
    evidence="documented",
    source=Document("device_get_clique_info", "User must specify the size of the ``clique_info`` array in ``count``"),
    spec=("CL2",),
)
def clique_capacity(capacity: int, cliques: int) -> str | None:
    """Give cuDeviceGetCliqueInfo an array as large as cuDeviceGetCliqueCount says.

    count goes in as the capacity and comes out as the entries written; never more than the capacity. The call
    does not say what it left out, and the entry you need (MULTICAST_POINTER) may be among that.

        cuDeviceGetCliqueInfo(1, dev)                             # two cliques: one is missing
        cuDeviceGetCliqueInfo(cuDeviceGetCliqueCount(dev), dev)   # good

    Fix: ask for the count first. `_v2` always passes 64.
    """
    if capacity >= cliques:
        return None
    return f"the array holds {capacity} entries, the device is in {cliques} cliques; the rest is left out"


@rule(
    "MC122",
    "devices of one team are in one multicast clique",
    calls=("cuMulticastAddDevice",),
    status=Status.INVALID_DEVICE,
    evidence="documented",
    source=(
        Document("multicast_add_device", "does not belong to the same clique as the other devices previously"),
        Note("kernel driver", "clique, bandwidth mode and its epoch are compared with the first device's"),
    ),
    spec=("MA3", "CL6"),
)
def same_clique(dev: int, clique: int, team_clique: int) -> str | None:
    """Build a team only from devices of one MULTICAST_POINTER clique (and one cluster).

    A clique is a set of GPUs that the switches connect completely. The first device added decides; each later
    one is compared. Partitions, and links that were taken out of service, split a machine into cliques.

        multicast_add_device(mc, 0)   # clique 1
        multicast_add_device(mc, 4)   # clique 2: refused
        multicast_add_device(mc, 1)   # clique 1: good

    Fix: query device_get_clique_info of every rank's device, and form teams by the id of type 1.
    """
    if clique == team_clique:
        return None
    return f"device {dev} is in multicast clique {clique}; the devices added before are in clique {team_clique}"


@rule(
    "MC102",
    "the buffer for a PCI bus id is long enough",
    calls=("cuDeviceGetPCIBusId",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("devices", "bus.12", recording="driver"),
)
def bus_id_room(length: int, needed: int) -> str | None:
    """Give cuDeviceGetPCIBusId room for the text and its final zero: 13 bytes.

    Unlike cuDeviceGetName it does not cut.

        device_get_pci_bus_id(12, dev)   # refused
        device_get_pci_bus_id(13, dev)   # good

    Fix: pass 13 or more.
    """
    return None if length >= needed else f"len {length} is too short; {needed} bytes are needed"


@rule(
    "MC103",
    "a PCI bus id is well formed",
    calls=("cuDeviceGetByPCIBusId",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("devices", "by_bus.garbage", recording="driver"),
        Transcript("devices", "by_bus.", recording="driver"),
    ),
)
def bus_id_text(text: str, readable: bool) -> str | None:
    """Write a PCI bus id as domain:bus:device.function, in hexadecimal; domain and function may be left out.

        device_get_by_pci_bus_id(b"gpu0")           # refused
        device_get_by_pci_bus_id(b"0000:00:06.0")   # good

    The text of cuDeviceGetPCIBusId fits.

    Fix: use the form of nvidia-smi.
    """
    return None if readable else f"{text!r} is not a PCI bus id such as '0000:00:06.0'"


@rule(
    "MC104",
    "a device sits at a PCI bus id",
    calls=("cuDeviceGetByPCIBusId",),
    status=Status.INVALID_DEVICE,
    evidence="recorded",
    source=Transcript("devices", "by_bus.ffff:ff:1f.0", recording="driver"),
)
def bus_id_known(text: str, known: bool) -> str | None:
    """Ask for the place of a device that this process sees.

        device_get_by_pci_bus_id(b"ffff:ff:1f.0")   # refused
        device_get_by_pci_bus_id(b"0000:00:06.0")   # good, if a device is there

    Devices that are hidden by CUDA_VISIBLE_DEVICES count as absent.

    Fix: list the devices and compare their bus ids.
    """
    return None if known else f"no device of this process sits at {text}"
