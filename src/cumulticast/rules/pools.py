"""MC980 to MC999: mem_alloc, and the stream-ordered memory pools."""

from .book import rule
from .source import Document, Note
from .status import Status

_ALLOC = ("cuMemAlloc_v2",)


@rule(
    "MC981",
    "mem_alloc allocates at least one byte",
    calls=_ALLOC,
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=Document("mem_alloc_v2", "is 0, ``cuMemAlloc()`` returns ``CUDA_ERROR_INVALID_VALUE``"),
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
    evidence="assumed",
    source=Document(
        "mem_free_v2", "which must have been returned by a previous call to one of the following"
    ),
)
def free_allocated(dptr: int, known: bool) -> str | None:
    """Free what mem_alloc_v2 or mem_alloc_async returned, at its beginning, once.

    Virtual memory is unmapped and released instead. 0 is accepted and does nothing.

        mem_free_v2(p + 256)   # refused
        mem_free_v2(p)         # good

    Fix: keep the pointer that the allocation returned.
    """
    return None if known or dptr == 0 else f"dptr {dptr:#x} is not the beginning of an allocation"


@rule(
    "MC983",
    "asynchronous frees are for pool memory",
    calls=("cuMemFreeAsync",),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=(
        Document("mem_free_async", "Inserts a free operation into ``h_stream``"),
        Note("settled here", "memory from mem_alloc_v2 is freed with mem_free_v2"),
    ),
)
def free_async_of_pool(dptr: int, origin: str) -> str | None:
    """Use mem_free_async for memory from mem_alloc_async and mem_alloc_from_pool_async.

        mem_free_async(mem_alloc_v2(n), s)        # refused
        mem_free_async(mem_alloc_async(n, s), s)  # good

    The other way round is allowed: mem_free_v2 takes memory of both kinds.

    Fix: free as you allocated.
    """
    return None if origin == "cuMemAllocAsync" else f"dptr {dptr:#x} is {origin}, not memory of a pool"


@rule(
    "MC984",
    "a pool handle is valid",
    calls=(
        "cuMemAllocFromPoolAsync", "cuMemPoolDestroy", "cuMemPoolGetAttribute", "cuMemPoolSetAttribute",
        "cuMemPoolTrimTo", "cuMemPoolSetAccess", "cuMemPoolGetAccess", "cuDeviceSetMemPool",
        "cuMemPoolExportToShareableHandle",
    ),
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("mem_alloc_from_pool_async", "The allocation comes from the specified memory pool"),
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
    evidence="assumed",
    source=Document("mem_pool_destroy", "default memory pool cannot be destroyed"),
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
    evidence="assumed",
    source=Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values"),
)
def pool_attribute_known(attribute: int, known: bool) -> str | None:
    """Use a member of MemPoolAttribute.

        mem_pool_get_attribute(pool, 99, …)                                   # refused
        mem_pool_get_attribute(pool, MemPoolAttribute.RELEASE_THRESHOLD, …)   # good

    Only some of them can be set; the counters RESERVED_MEM_HIGH and USED_MEM_HIGH can be set to 0 only.

    Fix: use a member of the enumeration.
    """
    return None if known else f"attribute {attribute} is not a pool attribute"
