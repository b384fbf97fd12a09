"""MC500 to MC529: mapping a multicast object, and giving access to the mapping."""

from .book import rule
from .source import Document, Note
from .status import Status
from .text import beyond, listed, not_multiple

_MAP = ("cuMemMap",)
_ACCESS = ("cuMemSetAccess",)
_ALIGNED = Document("mem_map", "``offset`` must be aligned to the value returned by ``cuMulticastGetGranularity``")


@rule(
    "MC501",
    "the address of a multicast mapping is a multiple of the minimum granularity",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=_ALIGNED,
    spec=("MP1",),
)
def map_ptr_granularity(ptr: int, granularity: int) -> str | None:
    """Map a multicast object at an address that is a multiple of the multicast granularity.

    (The documents call the flag CU_MULTICAST_MINIMUM_GRANULARITY; CU_MULTICAST_GRANULARITY_MINIMUM is meant.)
    A reservation made with alignment 0 begins on 2 MiB; the trouble comes from adding an offset to it.

        mem_map(va + 4096, size, 0, mc, 0)   # refused
        mem_map(va, size, 0, mc, 0)          # good

    Fix: reserve with alignment = granularity and add only multiples of it.
    """
    return not_multiple("ptr", ptr, granularity, shown="#x")


@rule(
    "MC502",
    "the size of a multicast mapping is a multiple of the minimum granularity",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=_ALIGNED,
    spec=("MP1",),
)
def map_size_granularity(size: int, granularity: int) -> str | None:
    """Map a multiple of the multicast granularity.

    A multicast object may be mapped in part, unlike memory (MC828), but in whole granules.

        mem_map(va, 3 << 20, 0, mc, 0)   # refused
        mem_map(va, 4 << 20, 0, mc, 0)   # good

    Fix: map the rounded size.
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC503",
    "the offset of a multicast mapping is a multiple of the minimum granularity",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=_ALIGNED,
    spec=("MP1",),
)
def map_offset_granularity(offset: int, granularity: int) -> str | None:
    """Use a multiple of the multicast granularity as offset into the object (today that means 0: MC507).

    The documents give the offset an alignment, and the header says that it "currently must be zero".

        mem_map(va, size, 256, mc, 0)   # refused
        mem_map(va, size, 0, mc, 0)     # good

    Fix: map from 0 and add the mc_offset to the address.
    """
    return not_multiple("offset", offset, granularity)


@rule(
    "MC504",
    "mapping a multicast object waits until all devices have been added",
    calls=_MAP,
    kind="blocks",
    evidence="documented",
    source=Document("multicast_add_device", "A call to ``cuMemMap`` will block until all devices have been added"),
    spec=("MP2",),
)
def map_waits(num_devices: int, team: tuple[int, ...]) -> str | None:
    """Add all devices before, or while, anybody maps the object.

    Mapping needs the object's fabric address, which exists only for a complete team. No memory needs to be
    bound for it: some clients map first and bind later, others the other way round.

        multicast_add_device(mc, 0); mem_map(va, size, 0, mc, 0)   # 1 of 2 devices: waits
        … all ranks have added their device, then mem_map: good

    Fix: agree among all ranks after multicast_add_device.
    """
    missing = num_devices - len(team)
    if missing <= 0:
        return None
    return f"waits for {missing} of {num_devices} devices; added so far: {listed(team)}"


@rule(
    "MC505",
    "offset + size of a multicast mapping stays within the object",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=Document("mem_map", "``offset`` + ``size`` must be less than the size of the memory allocation"),
)
def map_within_object(offset: int, size: int, object_size: int) -> str | None:
    """Map no more than the size given to multicast_create; exactly that much is fine.

    ("Less than" in the documents cannot be meant: every example maps the whole.) The rounded extent that real
    drivers accept is a finding in profile `hardware`, bounded by MC506.

        mem_map(va, 6 << 20, 0, mc, 0)   # object of 4 MiB: refused
        mem_map(va, 4 << 20, 0, mc, 0)   # good

    Fix: map prop.size.
    """
    return beyond("offset", offset, size, object_size, "the multicast object")


@rule(
    "MC506",
    "offset + size of a multicast mapping stays within the object's extent on hardware",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="hardware",
    source=(
        Note("settled here", "bind, map and unbind accept prop.size rounded up to 512 MiB"),
        Note("public report", "clients map a size that was rounded up more than the object's"),
    ),
)
def map_within_extent(offset: int, size: int, extent: int) -> str | None:
    """Map no more than prop.size rounded up to 512 MiB.

    The counterpart of MC309 for mappings: beyond the object's fabric pages there is no address to map.

        mem_map(va, 514 << 20, 0, mc, 0)   # object of 4 MiB: refused
        mem_map(va, 4 << 20, 0, mc, 0)     # good

    Fix: map prop.size.
    """
    return beyond("offset", offset, size, extent, "the extent of the multicast object")


@rule(
    "MC507",
    "the offset of a multicast mapping is 0",
    calls=_MAP,
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=(
        Note("cuda.h", "the offset of cuMemMap currently must be zero"),
        Note("public report", "mapping a multicast object from an offset fails; clients map from 0 and add"),
        Note("settled here", "801, as a real driver answered for memory"),
    ),
)
def map_offset_zero(offset: int) -> str | None:
    """Map a multicast object from its beginning.

    Only the C header says so, and a real driver answered 801 for memory. To reach the second buffer of an
    object, map up to its end and add its mc_offset to the address.

        mem_map(va, 2 << 20, 2 << 20, mc, 0)              # refused
        mem_map(va, 4 << 20, 0, mc, 0); va + (2 << 20)    # good

    Fix: map [0, mc_offset + size) and use va + mc_offset.
    """
    return None if offset == 0 else f"offset {offset} is not supported; map from 0 and add {offset} to the address"


@rule(
    "MC508",
    "the system configuration is in a legal state for mapping a multicast object",
    calls=_MAP,
    kind="limit",
    status=Status.ILLEGAL_STATE,
    evidence="documented",
    source=Document("mem_map", "CUDA_ERROR_ILLEGAL_STATE if the system configuration is in an illegal state"),
    spec=("MP5",),
)
def map_state_legal(problem: str) -> str | None:
    """Map a multicast object only while the fabric software works.

    mem_map's documented list has no 802: what a bind reports as "system not ready" is 401 here. Clients that
    map before they bind see a broken fabric at this call.

        fm stopped: mem_map(va, size, 0, mc, 0) answers 401
        fm running, GPUs registered with it: good

    Fix: as for MC343 and MC344.
    """
    return f"illegal system state: {problem}" if problem else None


@rule(
    "MC509",
    "the address of an access change on a multicast range is a multiple of the minimum granularity",
    calls=_ACCESS,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document(
        "mem_set_access", "multicast object, ``ptr`` and ``size`` must be aligned to the value returned by"
    ),
    spec=("MP6",),
)
def access_ptr_granularity(ptr: int, granularity: int) -> str | None:
    """Set access of a multicast range from an address that is a multiple of the multicast granularity.

    Access belongs to whole mappings, and those begin on a granule.

        mem_set_access(mc_va + 4096, size, desc, 1)   # refused
        mem_set_access(mc_va, size, desc, 1)          # good

    Fix: use the address and size of the mapping.
    """
    return not_multiple("ptr", ptr, granularity, shown="#x")


@rule(
    "MC510",
    "the size of an access change on a multicast range is a multiple of the minimum granularity",
    calls=_ACCESS,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document(
        "mem_set_access", "multicast object, ``ptr`` and ``size`` must be aligned to the value returned by"
    ),
    spec=("MP6",),
)
def access_size_granularity(size: int, granularity: int) -> str | None:
    """Set access of a multicast range for a multiple of the multicast granularity.

    Access belongs to whole mappings, and those consist of granules.

        mem_set_access(mc_va, 4096, desc, 1)      # refused
        mem_set_access(mc_va, 4 << 20, desc, 1)   # good

    Fix: use the address and size of the mapping.
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC511",
    "access to a multicast range is given to devices",
    calls=_ACCESS,
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=(
        Document(
            "multicast_create",
            "mapped to a device's virtual address space using the virtual memory management",
        ),
        Note("settled here", "801, as a real driver answered for HOST access to device memory"),
    ),
    spec=("MP8",),
)
def access_by_device(location: str) -> str | None:
    """Give access to a multicast range to locations of type DEVICE only.

    The switch serves GPUs. A CPU has no instruction that stores to all replicas or reduces over them; it
    reaches each replica by its own address.

        desc.location.type = MemLocationType.HOST     # refused
        desc.location.type = MemLocationType.DEVICE   # good

    Fix: one descriptor per device of the team that this process drives.
    """
    return None if location == "DEVICE" else f"location {location} cannot access a multicast range; devices can"


@rule(
    "MC512",
    "access to a multicast range is given to devices of the team",
    calls=_ACCESS,
    status=Status.INVALID_DEVICE,
    evidence="kernel-module",
    held="strict",
    source=Note("kernel driver", "mapping the object on a GPU outside the team is not allowed"),
    spec=("MP9",),
)
def access_in_team(dev: int, team: tuple[int, ...]) -> str | None:
    """Give access to a multicast range to devices that were added to the object.

    The documents do not mention others; the kernel driver refuses to map the object for them. In profile
    `strict` the answer is 101, which mem_set_access lists; hardware was seen to answer 401 (MC513).

        multicast_add_device(mc, 0); multicast_add_device(mc, 1)
        desc.location.id = 2   # refused
        desc.location.id = 1   # good

    Fix: let a device outside the team work on a replica through its peer address.
    """
    return None if dev in team else f"device {dev} is not in the team; the team is {listed(team)}"


@rule(
    "MC513",
    "on hardware a device outside the team gets no access to a multicast range",
    calls=_ACCESS,
    status=Status.ILLEGAL_STATE,
    evidence="assumed",
    held="hardware",
    source=(
        Note("kernel driver", "mapping the object on a GPU outside the team is not allowed"),
        Note("public report", "cuMemSetAccess answers 401 for a device that was not added"),
    ),
)
def access_outside_team(dev: int, team: tuple[int, ...]) -> str | None:
    """Expect 401 where a device outside the team is given access on real hardware.

    The same demand as MC512, with the status that was reported from a machine, although mem_set_access does
    not list it.

        desc.location.id = 2, team 0 and 1   # refused
        desc.location.id = 1                 # good

    Fix: grant access to members of the team only.
    """
    return None if dev in team else f"device {dev} is not in the team; the team is {listed(team)}"


@rule(
    "MC514",
    "address and size of a multicast mapping are multiples of the recommended granularity",
    calls=("cuMemMap", "cuMemSetAccess"),
    kind="advice",
    evidence="documented",
    source=Document("mem_map", "recommended that ``ptr``, ``size`` and ``offset`` be aligned to the value"),
)
def map_recommended(ptr: int, size: int, recommended: int) -> str | None:
    """Prefer addresses and sizes that are multiples of the recommended granularity.

    A mapping of a large object that begins on 512 MiB can use the largest pages; one that does not works too,
    with more translations.

        va = mem_address_reserve(size, 0, 0, 0)              # 2 MiB alignment: legal, with this advice
        va = mem_address_reserve(size, recommended, 0, 0)    # no advice

    Fix: pass the recommended granularity as alignment to mem_address_reserve.
    """
    slow = not_multiple("ptr", ptr, recommended, shown="#x") or not_multiple("size", size, recommended, least=1)
    return slow and f"legal but may be slow: {slow}"


@rule(
    "MC515",
    "the properties query is asked about memory",
    calls=("cuMemGetAllocationPropertiesFromHandle",),
    kind="undefined",
    status=Status.INVALID_VALUE,
    held="strict",
    evidence="assumed",
    source=Note("settled here", "nothing says what the properties of a multicast object are; strict refuses"),
    spec=("MP15",),
)
def properties_of_memory(handle: int, is_multicast: bool) -> str | None:
    """Ask for the allocation properties of memory, not of a multicast object.

    The structure has fields for a location and a memory type, which a multicast object does not have.
    Profile `hardware` answers the handle types and zeros, with a finding. (Retaining a handle from a
    multicast address does work: clients rely on it.)

        mem_get_allocation_properties_from_handle(mc)    # undescribed
        mem_get_allocation_properties_from_handle(mem)   # good

    Fix: keep the MulticastObjectProp that the object was created with.
    """
    return f"handle {handle:#x} is a multicast object, which has no allocation properties" if is_multicast else None
