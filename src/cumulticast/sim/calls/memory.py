"""cuMemCreate, cuMemRelease and what can be asked of physical memory."""

from __future__ import annotations

from dataclasses import replace

from cumulticast.rules import Refused, general, granularity, lifetime, memory, multicast_mapping
from cumulticast.sim.adversary import Adversary
from cumulticast.sim.entry import entry
from cumulticast.sim.handles import Handle
from cumulticast.sim.lookup import any_handle, memory_behind
from cumulticast.sim.physical import allocate
from cumulticast.sim.process import Process
from cumulticast.sim.structs import DEVICE, HOST, HOST_NUMA, LOCALITY_DOMAIN, SHAREABLE, AllocationProp

MINIMUM, RECOMMENDED = 0, 1


@entry("cuMemCreate")
def mem_create(process: Process, size: int, prop: bytes, flags: int) -> int:
    """Make ``size`` bytes of physical memory where ``prop`` says; it is mapped nowhere yet."""
    judge = process.driver.judge
    judge(general.flags_zero, flags)
    wanted = process.flawless.get(prop) or checked(process, prop)
    judge(memory.memory_size_positive, size)
    judge(memory.memory_size_granularity, size, process.machine.memory_granularity)
    process.require_fabric(wanted.requested_handle_types)
    handle = allocate(process, size, wanted)
    if process.adversary is not None:
        fill(process, process.adversary, handle)
    return handle.value


def fill(process: Process, adversary: Adversary, handle: Handle) -> None:
    """Fill fresh memory with what is nobody's; without room for that there is none for the memory."""
    try:
        adversary.fill(handle, 0, handle.size)
    except Refused:
        handle.references = 0
        process.let_go(handle)
        raise


def checked(process: Process, prop: bytes) -> AllocationProp:
    """Answer properties that were found legal; those that left no finding either need not be looked at again."""
    wanted, found = AllocationProp.read(prop), len(process.driver.findings)
    check_prop(process, wanted)
    if len(process.driver.findings) == found:
        process.flawless[prop] = wanted
    return wanted


def check_prop(process: Process, prop: AllocationProp) -> None:
    """Hold an allocation's properties to the rules, in the order in which a real driver looks."""
    judge = process.driver.judge
    judge(memory.allocation_type, prop.type)
    judge(memory.location_type, prop.location_type)
    judge(memory.not_current_node, prop.location_type)
    if prop.location_type == DEVICE:
        judge(general.device_exists, prop.location_id, len(process.devices))
    if prop.location_type == HOST:
        judge(memory.host_not_shareable, "HOST", prop.requested_handle_types)
    if prop.location_type == HOST_NUMA:
        judge(memory.node_exists, prop.location_id, process.machine.host_numa_nodes)
    if prop.location_type == LOCALITY_DOMAIN:
        judge(memory.locality_domain, prop.location_id >> 8 & 0xFF, 1, prop.location_id & 0xFF)
    judge(memory.memory_handle_types, prop.requested_handle_types, SHAREABLE)
    judge(memory.no_win32_data, prop.requested_handle_types, prop.win32_handle_meta_data)
    judge(memory.rdma_over_pcie, prop.usage, bool(prop.gpu_direct_rdma_capable))
    judge(memory.reserved_zero, int.from_bytes(prop.reserved, "little"))


@entry("cuMemRelease")
def mem_release(process: Process, handle: int) -> None:
    """Take one reference away; the object goes with its last reference and mapping, anywhere."""
    found = process.handles.find(handle)
    process.driver.judge(lifetime.release_valid, handle, found is not None)
    assert found is not None
    found.references -= 1
    process.let_go(found)


@entry("cuMemRetainAllocationHandle")
def mem_retain_allocation_handle(process: Process, address: int) -> int:
    """Answer the handle that is mapped at an address, with one more reference to it."""
    mapping = process.space.mappings.at(address)
    if mapping is None:
        origin = memory_behind(process, address).origin
        if origin != "nothing":
            process.driver.judge(lifetime.retain_reserved, address, origin)
        process.driver.judge(lifetime.retain_mapped, address, False)
    assert mapping is not None
    mapping.handle.references += 1
    return mapping.handle.value


@entry("cuMemGetAllocationGranularity")
def mem_get_allocation_granularity(process: Process, prop: bytes, option: int) -> int:
    """Answer what sizes and addresses of such memory must be multiples of."""
    process.driver.judge(granularity.granularity_option, option)
    return process.machine.memory_granularity


@entry("cuMemGetAllocationPropertiesFromHandle")
def mem_get_allocation_properties_from_handle(process: Process, handle: int) -> bytes:
    """Answer the properties memory was created with; an imported handle says no handle types, as recorded."""
    found = any_handle(process, handle)
    process.driver.judge(multicast_mapping.properties_of_memory, handle, found.kind == "multicast")
    prop = AllocationProp.read(found.properties)
    return (replace(prop, requested_handle_types=0) if found.imported else prop).write()
