"""MC700 to MC719: mem_create."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import bytes_text, listed, not_multiple

_CREATE = ("cuMemCreate",)


@rule(
    "MC701",
    "the size of an allocation is not 0",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("create", "create.size0"),
    spec=("CR1",),
)
def memory_size_positive(size: int) -> str | None:
    """Create at least one granule of memory.

    0 is a multiple of every granularity, but no allocation.

        mem_create(0, prop, 0)         # refused
        mem_create(2 << 20, prop, 0)   # good

    Fix: skip empty buffers, or round them up to one granule.
    """
    return None if size > 0 else "size is 0; the smallest allocation is one granule"


@rule(
    "MC702",
    "the size of an allocation is a multiple of the minimum granularity",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_create", "The ``size`` of this allocation must be a multiple of the the value given via"),
        Transcript("create", "create.size1"),
        Transcript("create", "create.size64k"),
    ),
    spec=("CR1",),
)
def memory_size_granularity(size: int, granularity: int) -> str | None:
    """Make the size of an allocation a multiple of mem_get_allocation_granularity(prop, MINIMUM).

    Physical memory comes in pages (2 MiB here). If it is to be bound to a multicast object, round up to the
    multicast granularity as well; take the larger of the two.

        mem_create(65536, prop, 0)     # refused
        mem_create(2 << 20, prop, 0)   # good

    Fix: `size = -(-nbytes // granularity) * granularity`.
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC703",
    "the type of an allocation is PINNED",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("create", "create.type0"),
    spec=("CR8",),
)
def allocation_type(kind: int) -> str | None:
    """Set prop.type to MemAllocationType.PINNED (1).

    A fresh MemAllocationProp_v1 has type INVALID (0). MANAGED (2) belongs to memory pools.

        prop = MemAllocationProp_v1(); mem_create(2 << 20, prop, 0)   # type 0: refused
        prop.type = MemAllocationType.PINNED                          # good

    Fix: set the type.
    """
    return None if kind == 1 else f"type {kind} must be 1 (PINNED)"


@rule(
    "MC704",
    "the location of an allocation is a device, a NUMA node, or the host",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("create", "create.loc0"),
)
def location_type(kind: int) -> str | None:
    """Set prop.location.type to DEVICE (1), HOST (2), HOST_NUMA (3) or DEVICE_LOCALITY_DOMAIN (6).

    A fresh MemAllocationProp_v1 has location type INVALID (0). HOST_NUMA_CURRENT (4) has a rule of its own
    (MC705).

        prop.location.type = 0                        # refused
        prop.location.type = MemLocationType.DEVICE   # good

    Fix: set type and id of the location.
    """
    return None if kind in (1, 2, 3, 4, 6) else f"location type {kind} is not DEVICE (1), HOST (2) or HOST_NUMA (3)"


@rule(
    "MC705",
    "HOST_NUMA_CURRENT is not a location for mem_create",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document(
            "mem_create",
            "``CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT`` as the ``CUmemLocation.type`` will result in",
        ),
        Transcript("create", "create.loc4"),
    ),
    spec=("CR4",),
)
def not_current_node(kind: int) -> str | None:
    """Name the NUMA node; "the node of the calling thread" is not accepted.

    Threads move between nodes, memory does not.

        prop.location.type = MemLocationType.HOST_NUMA_CURRENT                       # refused
        prop.location.type = MemLocationType.HOST_NUMA; prop.location.id = node      # good

    Fix: take HOST_NUMA_ID of the device that will use the memory.
    """
    return "location type 4 (HOST_NUMA_CURRENT) is not accepted; use HOST_NUMA (3) and a node" if kind == 4 else None


@rule(
    "MC706",
    "memory of location HOST is not shareable",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("mem_create", "HOST allocations are not IPC capable"),
        Transcript("create", "create.loc2"),
    ),
    spec=("CR2",),
)
def host_not_shareable(location: str, handle_types: int) -> str | None:
    """Leave requested_handle_types at 0 for memory of location HOST.

    Only memory of a device or of a named NUMA node can be exported.

        prop.location.type = MemLocationType.HOST; prop.requested_handle_types = 1        # refused
        prop.location.type = MemLocationType.HOST_NUMA; prop.requested_handle_types = 1   # good

    Fix: choose HOST_NUMA for host memory that is to be shared.
    """
    if location != "HOST" or handle_types == 0:
        return None
    return f"requested_handle_types {handle_types:#x} must be 0 for location HOST"


@rule(
    "MC707",
    "a NUMA node exists",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_create", "must specify the NUMA ID of the CPU"),
        Transcript("host_numa", "create.3.9.0", recording="driver"),
    ),
    spec=("CR3",),
)
def node_exists(node: int, nodes: tuple[int, ...]) -> str | None:
    """Give the number of an existing CPU NUMA node as id of a HOST_NUMA location.

    Where the system has no NUMA the id must be 0.

        prop.location.id = 7        # machine of two nodes: refused
        prop.location.id = device_get_attribute(DeviceAttribute.HOST_NUMA_ID, dev)   # good

    Fix: query HOST_NUMA_ID (-1 means no NUMA: use 0).
    """
    return None if node in nodes else f"NUMA node {node} does not exist; nodes: {listed(nodes)}"


@rule(
    "MC708",
    "the handle types of an allocation are supported",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document(
            "CUdevice_attribute.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED",
            "Device supports exporting memory to a posix file descriptor",
        ),
        Transcript("create", "create.ht2"),
        Transcript("create", "create.ht4"),
    ),
    spec=("AT2", "AT11"),
)
def memory_handle_types(handle_types: int, supported: int) -> str | None:
    """Request only handle types that the device supports.

    Query the attributes HANDLE_TYPE_…_SUPPORTED first. On Linux 1 (descriptor) and, with an IMEX channel
    (MC604), 8 (fabric).

        prop.requested_handle_types = MemAllocationHandleType.WIN32                   # refused
        prop.requested_handle_types = MemAllocationHandleType.POSIX_FILE_DESCRIPTOR   # good

    Fix: drop the unsupported bits.
    """
    extra = handle_types & ~supported
    if not extra:
        return None
    return f"requested_handle_types {handle_types:#x} has {extra:#x}, which is not supported; {supported:#x} is"


@rule(
    "MC709",
    "win32HandleMetaData is 0 unless the WIN32 type is requested",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=Document("CUmemAllocationProp", "In all other cases, this field is required to be zero"),
    spec=("CR7",),
)
def no_win32_data(handle_types: int, pointer: int) -> str | None:
    """Leave win32handle_meta_data at 0 on Linux.

    The field carries Windows security attributes. A value there usually means that the structure was not
    cleared.

        prop.win32handle_meta_data = 1   # refused in strict, a finding in hardware
        prop = MemAllocationProp_v1()    # good: all zero

    Fix: start from an empty structure.
    """
    if handle_types & 2 or not pointer:
        return None
    return f"win32HandleMetaData is {pointer:#x}; it must be 0 without the WIN32 handle type"


@rule(
    "MC710",
    "the device has enough free memory",
    calls=("cuMemCreate", "cuMemAlloc_v2", "cuMemAllocAsync", "cuMemAllocFromPoolAsync"),
    kind="limit",
    status=Status.OUT_OF_MEMORY,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_OUT_OF_MEMORY", "was unable to allocate enough memory"),
        Transcript("create", "create.huge"),
    ),
    spec=("CR16",),
)
def memory_left(size: int, free: int, where: str) -> str | None:
    """Allocate no more than the device (or node) has left.

    Memory is free again when the last handle, mapping and exported descriptor are gone; a handle retained
    once too often keeps it (MC864). mem_get_info shows what is left.

        mem_create(1 << 45, prop, 0)   # 32 TiB: refused
        mem_create(1 << 30, prop, 0)   # good

    Fix: look for leaked references, or allocate less.
    """
    return None if size <= free else f"size {bytes_text(size)} exceeds the {bytes_text(free)} left on {where}"


@rule(
    "MC711",
    "a locality domain exists on its device",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("mem_create", "The locality domain ID must be a valid"),
    spec=("CR6",),
)
def locality_domain(domain: int, count: int, dev: int) -> str | None:
    """Use a locality domain below the device's attribute LOCALITY_DOMAIN_COUNT.

    Devices with one domain accept domain 0, and the memory becomes ordinary device memory (location DEVICE).

        prop.location.localized.locality_domain_id = 1   # device with one domain: refused
        prop.location.localized.locality_domain_id = 0   # good

    Fix: query LOCALITY_DOMAIN_COUNT.
    """
    if domain < count:
        return None
    return f"locality domain {domain} does not exist on device {dev}; it has {count}"


@rule(
    "MC713",
    "RDMA over PCIe is asked for only together with GPUDirect RDMA",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document(
        "MemCreateUsage.GPU_DIRECT_RDMA_OVER_PCIE", "This flag is only valid if gpuDirectRDMACapable is set"
    ),
    spec=("CR12",),
)
def rdma_over_pcie(usage: int, rdma_capable: bool) -> str | None:
    """Set gpuDirectRDMACapable together with the usage flag GPU_DIRECT_RDMA_OVER_PCIE (4).

    The flag chooses a path for RDMA; without RDMA there is nothing to choose.

        alloc_flags.usage = 4; alloc_flags.gpu_direct_rdma_capable = 0   # refused
        alloc_flags.usage = 4; alloc_flags.gpu_direct_rdma_capable = 1   # good

    Fix: set both or neither.
    """
    return f"usage {usage:#x} needs gpuDirectRDMACapable" if usage & 4 and not rdma_capable else None


@rule(
    "MC714",
    "reserved bytes of the allocation flags are 0",
    calls=_CREATE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=Note("cuda.h", "the reserved bytes of allocFlags must be zero"),
    spec=("CR14",),
)
def reserved_zero(reserved: int) -> str | None:
    """Leave the reserved bytes of allocFlags at 0.

    `_v2` offers no way to set them; C programs that fill a structure on the stack without clearing it do.

        CUmemAllocationProp prop; prop.type = …        // reserved bytes are garbage: refused in strict
        CUmemAllocationProp prop = {0}; prop.type = …  // good

    Fix: clear the structure.
    """
    return None if reserved == 0 else f"reserved bytes of allocFlags are {reserved:#x}; they must be 0"
