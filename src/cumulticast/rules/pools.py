"""MC980 to MC999: mem_alloc, and the stream-ordered memory pools."""

from .book import rule
from .source import Document, Transcript
from .status import Status
from .text import listed

_ALLOC = ("cuMemAlloc_v2",)


@rule(
    "MC981",
    "mem_alloc allocates at least one byte",
    calls=_ALLOC,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("mem_alloc_v2", "is 0, ``cuMemAlloc()`` returns ``CUDA_ERROR_INVALID_VALUE``"),
        Transcript("alloc", "alloc.0", recording="driver"),
    ),
)
def alloc_size(bytesize: int) -> str | None:
    """Allocate at least one byte with mem_alloc_v2.

        mem_alloc_v2(0)   # refused
        mem_alloc_v2(1)   # good

    Any size goes; the driver rounds up. Such memory cannot be bound to a multicast object (MC321).

    Fix: skip empty buffers.
    """
    return None if bytesize > 0 else "bytesize is 0"


@rule(
    "MC982",
    "freed device memory was allocated",
    calls=("cuMemFree_v2", "cuMemFreeAsync"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_free_v2", "which must have been returned by a previous call to one of the following"),
        Transcript("alloc", "free.interior", recording="driver"),
        Transcript("pools", "free.wild", recording="driver"),
    ),
)
def free_allocated(dptr: int, known: bool) -> str | None:
    """Free what mem_alloc_v2 or mem_alloc_async returned, at its beginning, once.

    Both frees take memory of both kinds. Virtual memory is unmapped and released instead. 0 does nothing.

        mem_free_v2(p + 256)   # refused
        mem_free_v2(p)         # good

    Fix: keep the pointer that the allocation returned.
    """
    return None if known or dptr == 0 else f"dptr {dptr:#x} is not the beginning of an allocation"


# MC983 (asynchronous frees are for pool memory) is retired: a real driver accepts them for any allocation.


@rule(
    "MC984",
    "a pool handle is valid",
    calls=(
        "cuMemAllocFromPoolAsync", "cuMemPoolDestroy", "cuMemPoolGetAttribute", "cuMemPoolSetAttribute",
        "cuMemPoolTrimTo", "cuMemPoolSetAccess", "cuMemPoolGetAccess", "cuDeviceSetMemPool",
        "cuMemPoolExportToShareableHandle",
    ),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_alloc_from_pool_async", "The allocation comes from the specified memory pool"),
        Transcript("pools_made", "destroy.null", recording="driver"),
        Transcript("pools_made", "alloc.null_pool", recording="driver"),
    ),
)  # fmt: skip
def pool_valid(pool: int, known: bool) -> str | None:
    """Use a pool until it is destroyed.

        mem_alloc_from_pool_async(n, 0, s)                             # refused
        mem_alloc_from_pool_async(n, device_get_default_mem_pool(0), s)   # good

    A destroyed pool goes when its last allocation is freed, but its handle is dead at once.

    Fix: take the device's default pool, or create one.
    """
    return None if known else f"pool {pool:#x} is not a memory pool of this process"


@rule(
    "MC985",
    "the default pool is not destroyed",
    calls=("cuMemPoolDestroy",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_pool_destroy", "default memory pool cannot be destroyed"),
        Transcript("pools", "destroy.default", recording="driver"),
    ),
)
def pool_not_default(pool: int, is_default: bool) -> str | None:
    """Destroy only pools that mem_pool_create made.

        mem_pool_destroy(device_get_default_mem_pool(0))   # refused
        mem_pool_destroy(mem_pool_create(props))           # good

    The default pool belongs to the device and is shared by everything in the process.

    Fix: trim it instead (mem_pool_trim_to).
    """
    return f"pool {pool:#x} is the default pool of its device" if is_default else None


@rule(
    "MC986",
    "a pool of location HOST is not shareable",
    calls=("cuMemPoolCreate",),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("mem_pool_create", "are not IPC capable and ``CUmemPoolProps.handleTypes`` must be 0"),
)
def host_pool_not_shareable(location: str, handle_types: int) -> str | None:
    """Leave handle_types at 0 for a pool of location HOST.

        props.location.type = MemLocationType.HOST; props.handle_types = 1     # refused
        props.location.type = MemLocationType.DEVICE; props.handle_types = 1   # good

    For binds by address to a shareable multicast object the pool must have handle types (MC328).

    Fix: use a pool of a device or of a NUMA node.
    """
    if location != "HOST" or handle_types == 0:
        return None
    return f"handle_types {handle_types:#x} must be 0 for location HOST"


@rule(
    "MC987",
    "a pool attribute is one that the driver knows",
    calls=("cuMemPoolGetAttribute", "cuMemPoolSetAttribute"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values"),
        Transcript("pools", "default.CU_MEMPOOL_ATTR_LOCATION_ID", recording="driver"),
    ),
)
def pool_attribute_known(attribute: int, known: bool) -> str | None:
    """Use a member of MemPoolAttribute.

        mem_pool_get_attribute(pool, 99, …)                                   # refused
        mem_pool_get_attribute(pool, MemPoolAttribute.RELEASE_THRESHOLD, …)   # good

    Only some of them can be set; the counters RESERVED_MEM_HIGH and USED_MEM_HIGH can be set to 0 only.

    Fix: use a member of the enumeration.
    """
    return None if known else f"attribute {attribute} is not a pool attribute"


@rule(
    "MC988",
    "the properties of a pool are legal",
    calls=("cuMemPoolCreate",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("pools_made", "create.win32", recording="driver"),
        Transcript("pools_made", "create.device9", recording="driver"),
        Transcript("pools_made", "create.location0", recording="driver"),
        Transcript("pools_made", "create.type0", recording="driver"),
    ),
)
def pool_properties(field: str, value: int, legal: tuple[int, ...]) -> str | None:
    """Fill in allocation type, location and handle types of a pool with supported values.

    A pool with handle type 8 can be made even where fabric memory cannot.

        props.alloc_type = 0                          # refused
        props.alloc_type = MemAllocationType.PINNED   # good

    Fix: start from an empty structure and set all three.
    """
    return None if value in legal else f"{field} {value} is not legal; {listed(legal)} would be"


@rule(
    "MC989",
    "a pool is not opened for reading only",
    calls=("cuMemPoolSetAccess",),
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=Transcript("pools", "access.1", recording="driver"),
)
def pool_access_flags(flags: int) -> str | None:
    """Give access to a pool with READWRITE (3), or take it away with NONE (0).

        desc.flags_ = MemAccessFlags.READ        # refused
        desc.flags_ = MemAccessFlags.READWRITE   # good

    The access holds for memory that is already allocated, too.

    Fix: use READWRITE.
    """
    return f"flags {flags} (READ) are not supported for pools; use 3 (READWRITE) or 0 (NONE)" if flags == 1 else None


@rule(
    "MC990",
    "a pool's own device keeps its access",
    calls=("cuMemPoolSetAccess",),
    status=Status.INVALID_DEVICE,
    evidence="recorded",
    source=(
        Transcript("pools", "access.0", recording="driver"),
        Transcript("peer_pools", "set.none1", recording="peer"),
    ),
)
def pool_owner_access(dev: int, owner: int, flags: int) -> str | None:
    """Leave the access of the device that owns a pool as it is.

        desc.location.id = owner; desc.flags_ = MemAccessFlags.NONE   # refused
        desc.location.id = other; desc.flags_ = MemAccessFlags.NONE   # good

    Granting the owner READWRITE again is accepted and changes nothing.

    Fix: change the access of other devices only.
    """
    return f"device {dev} owns the pool and keeps its access" if dev == owner and flags != 3 else None
