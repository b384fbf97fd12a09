"""MC840 to MC859: access rights of mapped ranges."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import no_device, not_multiple, splits

_SET = ("cuMemSetAccess",)
_MAPPED = Document("mem_set_access", "The range must be a fully mapped address range containing all")


@rule(
    "MC841",
    "access is set on mapped addresses",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_MAPPED, Transcript("access", "access.unmapped"), Transcript("access", "access.pastmap")),
    spec=("SA1", "IM6"),
)
def access_mapped(ptr: int, size: int, gap: int | None) -> str | None:
    """Map the whole range before setting its access.

    The range may span several mappings side by side, but no hole. `gap` is the first address of it that is
    not mapped; None when there is none. Imported memory, too, is mapped first.

        mem_set_access(va, 8 << 20, desc, 1)   # 4 MiB mapped: refused
        mem_set_access(va, 4 << 20, desc, 1)   # good

    Fix: pass address and size of the mapping.
    """
    return None if gap is None else f"[{ptr:#x}, {ptr + size:#x}) is not fully mapped; nothing is mapped at {gap:#x}"


@rule(
    "MC842",
    "access is set on whole mappings",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_MAPPED, Transcript("access", "access.partial")),
    spec=("SA1",),
)
def access_whole(ptr: int, size: int, mapped_ptr: int, mapped_size: int) -> str | None:
    """Set access for whole mappings; a mapping cannot be split.

    The range must begin where a mapping begins and end where one ends.

        mem_set_access(va, 2 << 20, desc, 1)   # mapping of 4 MiB: refused
        mem_set_access(va, 4 << 20, desc, 1)   # good

    Fix: create and map parts that need different rights separately.
    """
    return splits(ptr, size, mapped_ptr, mapped_size)


@rule(
    "MC843",
    "the size of an access change is a multiple of the allocation granularity",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("access", "access.unaligned"),
)
def access_size_aligned(size: int, granularity: int) -> str | None:
    """Set access for a multiple of the allocation granularity.

    Rights are per device page. A real driver checks this before it looks at the mappings.

        mem_set_access(va, 4096, desc, 1)      # refused
        mem_set_access(va, 4 << 20, desc, 1)   # good

    Fix: pass the size of the mapping, not of the data.
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC844",
    "an access change has at least one descriptor",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_set_access", "Number of ``CUmemAccessDesc`` in ``desc``"),
        Transcript("access", "access.count0"),
    ),
    spec=("SA2",),
)
def access_count(count: int) -> str | None:
    """Pass the number of descriptors in desc, 1 or more.

    `_v2` does not compare count with the length of desc: too large a count makes the driver read behind it.

        mem_set_access(va, size, desc, 0)           # refused
        mem_set_access(va, size, desc, len(desc))   # good

    Fix: pass len(desc).
    """
    return None if count > 0 else "count is 0; desc needs at least one entry"


@rule(
    "MC845",
    "access flags are NONE, READ or READWRITE",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("CUmemAccess_flags", "Specifies the memory protection flags for mapping"),
    spec=("SA2",),
)
def access_flags(flags: int) -> str | None:
    """Use 0 (none), 1 (read) or 3 (read and write) as access flags.

    2, write only, does not exist. 0 takes access away.

        desc.flags_ = 2                          # refused
        desc.flags_ = MemAccessFlags.READWRITE   # good

    Fix: use a member of MemAccessFlags.
    """
    return None if flags in (0, 1, 3) else f"flags {flags} are not 0 (NONE), 1 (READ) or 3 (READWRITE)"


@rule(
    "MC846",
    "access is given to an existing device",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(Transcript("access", "access.dev3"), Transcript("grants", "set.1.99", recording="driver")),
    spec=("SA4",),
)
def access_device(dev: int, count: int) -> str | None:
    """Give access to devices between 0 and cuDeviceGetCount - 1.

    A real driver answers 1 here, not 101 as most calls do for a wrong ordinal.

        desc.location.id = 3   # machine of one device: refused
        desc.location.id = 0   # good

    Fix: use ordinals of this process.
    """
    return no_device(dev, count)


@rule(
    "MC847",
    "host access is for host memory",
    calls=_SET,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=(
        Document("mem_set_access", "``CU_MEM_LOCATION_TYPE_HOST_NUMA`` accessibility for allocations created on"),
        Transcript("access", "access.host"),
        Transcript("grants", "set.3.0", recording="driver"),
    ),
    spec=("SA3",),
)
def access_host(location: str, memory_location: str) -> str | None:
    """Give the CPU access only to memory that was created on the host.

    Device memory is not mapped for the CPU. On HOST_NUMA descriptors the id is ignored.

        desc.location.type = MemLocationType.HOST     # device memory: refused
        desc.location.type = MemLocationType.DEVICE   # good

    Fix: copy with memcpy_dtoh_v2, or create the memory with location HOST or HOST_NUMA.
    """
    host = ("HOST", "HOST_NUMA", "HOST_NUMA_CURRENT")
    if location not in host or memory_location in host:
        return None
    return f"location {location} cannot access memory of location {memory_location}"


@rule(
    "MC848",
    "access is asked for at a mapped address",
    calls=("cuMemGetAccess",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_get_access", "Get the access ``flags`` set for the given ``location`` and ``ptr``"),
        Transcript("access", "getaccess.unmapped"),
        Transcript("spans", "get.unmapped", recording="driver"),
    ),
    spec=("GA1",),
)
def get_access_mapped(ptr: int, mapped: bool) -> str | None:
    """Ask for the access flags of a mapped address.

    A mapping without any access answers 0; an address without a mapping is refused.

        mem_get_access(location, va + size)   # behind the mapping: refused
        mem_get_access(location, va)          # good

    Fix: map first.
    """
    return None if mapped else f"ptr {ptr:#x} is not mapped"


@rule(
    "MC849",
    "a device touches only what it has access to",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    status=Status.ILLEGAL_ADDRESS,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_ILLEGAL_ADDRESS", "load or store instruction on an invalid memory address"),
        Note("programming guide", "a device that was not given access faults"),
    ),
    spec=("SA5",),
)
def device_access(ptr: int, dev: int, granted: int, wanted: int) -> str | None:
    """Give each device that touches a mapping access to it, the owner too.

    mem_map alone opens nothing. 700 sticks to the context: every later call in it fails, so the cause is the
    first one.

        mem_map(va, size, 0, mem, 0); launch …                                      # 700
        mem_map(va, size, 0, mem, 0); mem_set_access(va, size, desc, 1); launch …   # good

    Fix: mem_set_access for all devices that use the range, after every new mapping.
    """
    if granted & wanted == wanted:
        return None
    return f"device {dev} has access {granted} to {ptr:#x}, needs {wanted} (0 none, 1 read, 3 read and write)"


@rule(
    "MC850",
    "access is given to a device, a NUMA node or the host",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("grants", "set.0.0", recording="driver"),
        Transcript("grants", "set.4.0", recording="driver"),
    ),
)
def access_location_type(kind: int) -> str | None:
    """Set the location type of each access descriptor: DEVICE (1), HOST (2) or HOST_NUMA (3).

    A fresh MemAccessDesc_v1 has type 0. One wrong entry refuses the whole call, and nothing is changed.

        desc.location.type = 0                        # refused
        desc.location.type = MemLocationType.DEVICE   # good

    Fix: set type, id and flags of every entry.
    """
    return None if kind in (1, 2, 3) else f"location type {kind} is not DEVICE (1), HOST (2) or HOST_NUMA (3)"


@rule(
    "MC851",
    "access is asked for of a location that exists",
    calls=("cuMemGetAccess",),
    status=Status.INVALID_DEVICE,
    evidence="recorded",
    source=(
        Transcript("grants", "get.0.0", recording="driver"),
        Transcript("grants", "get.4.0", recording="driver"),
        Transcript("grants", "get.1.99", recording="driver"),
    ),
)
def get_access_location(kind: int, dev: int, count: int) -> str | None:
    """Ask for the access of an existing device, of a NUMA node, or of the host.

    Here a wrong ordinal is 101, while mem_set_access answers it with 1 (MC846).

        location.type = MemLocationType.DEVICE; location.id = 99   # refused
        location.type = MemLocationType.DEVICE; location.id = 0    # good

    Fix: set type and id.
    """
    if kind == 1:
        return no_device(dev, count)
    return None if kind in (2, 3) else f"location type {kind} is not DEVICE (1), HOST (2) or HOST_NUMA (3)"


@rule(
    "MC852",
    "the size of an access change is not 0",
    calls=_SET,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("grants", "size0", recording="driver"),
)
def access_size_positive(size: int) -> str | None:
    """Set access for at least one mapping.

        mem_set_access(va, 0, desc, 1)         # refused
        mem_set_access(va, 4 << 20, desc, 1)   # good

    0 does not mean "the mapping at this address".

    Fix: pass the size of the mapping.
    """
    return None if size > 0 else "size is 0; it must be the size of the mapping"
