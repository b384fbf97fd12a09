"""MC300 to MC319: which offsets and sizes a bind may have."""

from .book import rule
from .groups import BIND_ADDR, BIND_MEM, BINDS
from .source import Document, Note
from .status import Status
from .text import beyond, bytes_text, not_multiple, overlap

_MISALIGNED = Note("kernel driver", "attaching memory at a misaligned offset or length is refused")


@rule(
    "MC301",
    "the flags of a bind are 0",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_mem", "Flags for future use, must be zero for now"),
        Note("kernel driver", "attaching memory with flags other than 0 is an invalid argument"),
    ),
    spec=("B13",),
)
def bind_flags(flags: int) -> str | None:
    """Pass 0 as the flags of a bind.

    No flag is defined for any of the four bind calls. Access rights are not given here: they belong to the
    mapping of the multicast object (`mem_set_access`).

        multicast_bind_mem(mc, 0, mem, 0, size, 1)   # refused
        multicast_bind_mem(mc, 0, mem, 0, size, 0)   # good

    Fix: pass 0.
    """
    return None if flags == 0 else f"flags {flags:#x} must be 0"


@rule(
    "MC302",
    "the size of a bind is not 0",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=Note("kernel driver", "attaching memory of length 0 is an invalid argument"),
    spec=("B5",),
)
def size_positive(size: int) -> str | None:
    """Bind at least one granule.

    An empty bind would take no place and could never be unbound. A size of 0 is usually an arithmetic slip: a
    tensor with no elements, or a share of a buffer that was divided among more ranks than it has granules.

        multicast_bind_mem(mc, 0, mem, 0, 0, 0)         # refused
        multicast_bind_mem(mc, 0, mem, 0, 2 << 20, 0)   # good

    Fix: skip the bind when there is nothing to bind; otherwise round the size up to the granularity.
    """
    return None if size > 0 else "size is 0; the smallest bind is one granule"


@rule(
    "MC304",
    "the size of a bind is a multiple of the minimum granularity",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(Document("multicast_bind_mem", "must be a multiple of the value returned by"), _MISALIGNED),
    spec=("B2", "R2"),
)
def size_granularity(size: int, granularity: int) -> str | None:
    """Make the size of a bind a multiple of the minimum multicast granularity.

    A bind joins whole physical pages to the multicast object, and no page is smaller than the granularity
    that multicast_get_granularity answers for MINIMUM (2 MiB on every machine seen). The number of bytes in
    your tensor is rarely such a multiple. The relaxation of SM_107 does not touch the size.

        multicast_bind_mem(mc, 0, mem, 0, 3 << 20, 0)   # 3 MiB: refused
        multicast_bind_mem(mc, 0, mem, 0, 4 << 20, 0)   # good, if the memory has 4 MiB

    Fix: round the size up when the memory is created, and bind the rounded size:
    `size = -(-nbytes // granularity) * granularity`.
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC305",
    "the mc_offset of a bind is a multiple of the minimum granularity",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(Document("multicast_bind_mem", "the offset in the multicast range ``mc_offset``"), _MISALIGNED),
    spec=("B2", "R2"),
)
def mc_offset_granularity(mc_offset: int, granularity: int) -> str | None:
    """Make mc_offset a multiple of the minimum multicast granularity.

    mc_offset is a place inside the multicast object. All devices see one object, so buffers that are packed
    behind each other must each begin on a granule, on SM_107 machines too.

        multicast_bind_mem(mc, 5 << 20, mem, 0, 2 << 20, 0)   # 5 MiB: refused
        multicast_bind_mem(mc, 6 << 20, mem, 0, 2 << 20, 0)   # good

    Fix: advance the next free offset by the rounded size of each buffer, not by its number of bytes.
    """
    return not_multiple("mc_offset", mc_offset, granularity)


@rule(
    "MC306",
    "the mem_offset of a bind is a multiple of the minimum granularity",
    calls=BIND_MEM,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(Document("multicast_bind_mem", "as well as the offset in the memory"), _MISALIGNED),
    spec=("B2", "R8"),
)
def mem_offset_granularity(mem_offset: int, granularity: int) -> str | None:
    """Make mem_offset a multiple of the minimum multicast granularity.

    Replicas are joined page by page, so a bind cannot begin inside a physical page. Only on machines with
    SM_107 or newer GPUs may mem_offset be a multiple of 256 instead (MC360), for a price.

        multicast_bind_mem(mc, 0, mem, 256, 2 << 20, 0)       # refused before SM_107
        multicast_bind_mem(mc, 0, mem, 2 << 20, 2 << 20, 0)   # good

    Fix: place the buffer on a granule of its allocation, or bind the whole granule around it and remember
    where the buffer lies inside.
    """
    return not_multiple("mem_offset", mem_offset, granularity)


@rule(
    "MC307",
    "the memptr of a bind is a multiple of the minimum granularity",
    calls=BIND_ADDR,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_addr", "the offset in the multicast range ``mc_offset`` and ``memptr``"),
        _MISALIGNED,
    ),
    spec=("B2", "R8"),
)
def memptr_granularity(memptr: int, granularity: int) -> str | None:
    """Make memptr a multiple of the minimum multicast granularity.

    A bind by address finds the memory behind memptr and joins its pages, so memptr must be where a page
    begins. Pointers into a pool or a caching allocator usually are not. SM_107 machines accept multiples of
    256 (MC361).

        multicast_bind_addr(mc, 0, base + 4096, 2 << 20, 0)        # refused before SM_107
        multicast_bind_addr(mc, 0, base + (2 << 20), 2 << 20, 0)   # good

    Fix: bind from the granule below the pointer (mem_get_address_range_v2 gives the base) or allocate
    aligned.
    """
    return not_multiple("memptr", memptr, granularity, shown="#x")


@rule(
    "MC308",
    "mc_offset + size of a bind stays within the size of the multicast object",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    held="strict",
    source=(
        Document("multicast_bind_mem", "cannot be larger than the size of the multicast object"),
        Note("kernel driver", "attaching beyond the end of the object is an invalid argument"),
        Note("public report", "drivers of the r615 line accept binds up to the extent rounded to 512 MiB"),
    ),
    spec=("B3",),
)
def within_object(mc_offset: int, size: int, object_size: int) -> str | None:
    """Keep mc_offset + size within the size given to multicast_create; reaching its end exactly is allowed.

    The object's prop.size is the most that one device may bind. Real drivers round the object up to its
    fabric page, and some clients bind into that rest; the documents do not allow it. So this is refused in
    profile `strict` and a finding in profile `hardware`, where MC309 sets the bound.

        prop.size_ = 4 << 20
        multicast_bind_mem(mc, 2 << 20, mem, 0, 4 << 20, 0)   # ends at 6 MiB: refused
        multicast_bind_mem(mc, 2 << 20, mem, 0, 2 << 20, 0)   # good

    Fix: create the object for the sum of all buffers of one device, each rounded up to the granularity.
    """
    return beyond("mc_offset", mc_offset, size, object_size, "the multicast object")


@rule(
    "MC309",
    "mc_offset + size of a bind stays within the object's extent on hardware",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    held="hardware",
    source=(
        Note(
            "kernel driver",
            "a multicast object has 512 MiB pages; attaching beyond its end is an invalid argument",
        ),
        Note("settled here", "the extent is prop.size rounded up to 512 MiB"),
    ),
)
def within_extent(mc_offset: int, size: int, extent: int) -> str | None:
    """Keep mc_offset + size within prop.size rounded up to 512 MiB.

    On hardware an object consists of fabric pages of 512 MiB, so its extent is a multiple of that, whatever
    prop.size says. What lies beyond has no page and cannot be bound. Relying on the rest between prop.size
    and the extent is not documented (MC308).

        multicast_bind_mem(mc, 512 << 20, mem, 0, 2 << 20, 0)   # object of 4 MiB: refused everywhere
        multicast_bind_mem(mc, 0, mem, 0, 4 << 20, 0)           # good

    Fix: create a larger object.
    """
    return beyond("mc_offset", mc_offset, size, extent, "the extent of the multicast object")


@rule(
    "MC310",
    "mem_offset + size of a bind stays within the allocation",
    calls=BIND_MEM,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_mem", "cannot be larger than the size of the allocated memory"),
        Note("kernel driver", "attaching a length beyond the memory is an invalid argument"),
    ),
    spec=("B4", "R3"),
)
def within_memory(mem_offset: int, size: int, memory_size: int) -> str | None:
    """Keep mem_offset + size within the allocation; reaching its end exactly is allowed.

    The bind can only join memory that exists. A frequent cause: the multicast object was rounded up to the
    recommended granularity (512 MiB), the memory was not, and the object's size is passed as size.

        mem = mem_create(2 << 20, prop, 0)
        multicast_bind_mem(mc, 0, mem, 0, 4 << 20, 0)   # refused
        multicast_bind_mem(mc, 0, mem, 0, 2 << 20, 0)   # good

    Fix: bind the size of the memory; an object may be bound in part.
    """
    return beyond("mem_offset", mem_offset, size, memory_size, "the allocation")


@rule(
    "MC311",
    "memptr + size of a bind stays within the memory mapped at memptr",
    calls=BIND_ADDR,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_addr", "cannot be larger than the size of the allocated memory"),
        Note("kernel driver", "attaching a length beyond the memory is an invalid argument"),
    ),
    spec=("B4", "R3"),
)
def within_mapping(memptr: int, size: int, end: int) -> str | None:
    """Keep the range [memptr, memptr + size) within the one allocation that memptr points into.

    memptr may point into the middle of an allocation; what counts is what is left from there to its end,
    which is the argument `end` here (an address). Two allocations mapped side by side are two binds.

        multicast_bind_addr(mc, 0, base + (2 << 20), 4 << 20, 0)   # memory of 4 MiB: refused
        multicast_bind_addr(mc, 0, base + (2 << 20), 2 << 20, 0)   # good

    Fix: ask mem_get_address_range_v2 for base and size, and bind each allocation by itself.
    """
    if memptr + size <= end:
        return None
    left = bytes_text(max(end - memptr, 0))
    return f"size {size} from memptr {memptr:#x} passes the end of its memory at {end:#x}; at most {left}"


@rule(
    "MC312",
    "size and offsets of a bind are multiples of the recommended granularity",
    calls=BINDS,
    kind="advice",
    evidence="documented",
    source=Document("multicast_bind_mem", "For best performance however, ``size``"),
)
def bind_recommended(size: int, mc_offset: int, recommended: int) -> str | None:
    """Prefer sizes and offsets that are multiples of the recommended granularity.

    A bind on the minimum granularity is legal and complete; it may only be slower, because the fabric then
    translates addresses in smaller pages. Recommended is 512 MiB for large objects, so rounding up costs
    memory: for small buffers the minimum is the sensible choice.

        multicast_bind_mem(mc, 0, mem, 0, 514 << 20, 0)    # legal, with this advice
        multicast_bind_mem(mc, 0, mem, 0, 1024 << 20, 0)   # no advice

    Fix: round large buffers up, or accept the advice.
    """
    slow = not_multiple("size", size, recommended, least=1) or not_multiple("mc_offset", mc_offset, recommended)
    return slow and f"legal but may be slow: {slow}"


@rule(
    "MC313",
    "binds of one device do not overlap",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_mem", "The next available mc_offset for the next"),
        Note("kernel driver", "a second attachment at an occupied offset of the same GPU fails"),
    ),
    spec=("B17",),
)
def disjoint(dev: int, mc_offset: int, size: int, bound_offset: int, bound_size: int) -> str | None:
    """Bind each part of the multicast object at most once per device.

    At one place of the object each device has exactly one replica: an address cannot reach two memories of
    one device. Different devices do bind the same offsets; that is the point of multicast. To replace a
    bind, unbind the old one first.

        multicast_bind_mem(mc, 0, a, 0, 4 << 20, 0)
        multicast_bind_mem(mc, 2 << 20, b, 0, 2 << 20, 0)   # overlaps a: refused
        multicast_bind_mem(mc, 4 << 20, b, 0, 2 << 20, 0)   # good

    Fix: continue after the end of the earlier bind, or unbind it.
    """
    if not overlap(mc_offset, size, bound_offset, bound_size):
        return None
    occupied = f"[{bound_offset}, {bound_offset + bound_size})"
    return (
        f"[{mc_offset}, {mc_offset + size}) overlaps {occupied}, which device {dev} has already bound; "
        f"next free mc_offset {bound_offset + bound_size}"
    )
