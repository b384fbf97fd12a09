"""The NVLinks of a device: as many as its board has, all up, to the switches or to the other board."""

from __future__ import annotations

from cumulticast.libnvml.calls.identity import packed_pci
from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status, not_supported

P2P, SYSTEM_MEMORY, P2P_ATOMICS, SYSTEM_ATOMICS, SLI_BRIDGE, VALID = range(6)  # nvmlNvLinkCapability_t
GPU, SWITCH = 0, 2  # nvmlIntNvLinkDeviceType_t
MOST_LINKS, ERROR_COUNTERS = 36, 5
CHIP_LINKS = 18  # links of a chip whose links lead nowhere: beyond them a capability is an invalid question (recorded)


def check_link(service: Service, link: int) -> None:
    """Refuse a link that the device does not have: 3, or 2 for one that no device has."""
    if not service.facts.links:
        raise not_supported("NVLink")
    if link >= service.facts.links:
        status = Status.INVALID_ARGUMENT if link >= MOST_LINKS else Status.NOT_SUPPORTED
        raise Refused(status, f"the device has links 0 to {service.facts.links - 1}, not {link}")


@answers("nvmlDeviceGetNvLinkState")
def state(service: Service, gpu: Gpu, link: int) -> int:
    """Answer 1: up. A Fabric Manager that is down does not take links down."""
    del gpu
    check_link(service, link)
    return 1


@answers("nvmlDeviceGetNvLinkVersion")
def link_version(service: Service, gpu: Gpu, link: int) -> int:
    """Answer the generation."""
    del gpu
    check_link(service, link)
    return service.facts.link_version


@answers("nvmlDeviceGetNvLinkCapability")
def capability(service: Service, gpu: Gpu, link: int, wanted: int) -> int:
    """Answer whether the link can do something: everything but system memory, and no SLI."""
    del gpu
    if not service.facts.links and link >= CHIP_LINKS:
        raise Refused(Status.INVALID_ARGUMENT, f"link {link} of a chip with {CHIP_LINKS} links")
    check_link(service, link)
    if wanted > VALID:
        raise Refused(Status.INVALID_ARGUMENT, f"{wanted} is no NVLink capability")
    return int(wanted in (P2P, P2P_ATOMICS, VALID))


@answers("nvmlDeviceGetNvLinkRemoteDeviceType")
def remote_type(service: Service, gpu: Gpu, link: int) -> int:
    """Answer switch or GPU."""
    del gpu
    check_link(service, link)
    return SWITCH if service.facts.link_to == "switch" else GPU


@answers("nvmlDeviceGetNvLinkRemotePciInfo", "nvmlDeviceGetNvLinkRemotePciInfo_v2")
def remote_pci(service: Service, gpu: Gpu, link: int) -> bytes:
    """Answer where the other end is on the PCI bus; switches elsewhere in the rack are not on it."""
    check_link(service, link)
    switches = service.facts.switches
    if service.facts.link_to == "gpu":
        others = [other.pci for other in service.gpus if other is not gpu]
        ends = others[:1]
    else:
        ends = [_numbers(address) for address in switches]
    if not ends:
        raise Refused(Status.NOT_SUPPORTED, f"the other end of link {link} is not on this node's PCI bus")
    return packed_pci(*ends[link % len(ends)])


def _numbers(address: str) -> tuple[int, int, int]:
    domain, bus, slot = address.partition(".")[0].split(":")
    return int(domain, 16), int(bus, 16), int(slot, 16)


@answers("nvmlDeviceGetNvLinkErrorCounter")
def errors(service: Service, gpu: Gpu, link: int, counter: int) -> int:
    """Answer 0 errors."""
    del gpu
    check_link(service, link)
    if counter >= ERROR_COUNTERS:
        raise Refused(Status.INVALID_ARGUMENT, f"{counter} is no error counter")
    return 0
